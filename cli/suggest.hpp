// What a user who typed something unknown probably meant. Nothing is corrected silently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "option_table.hpp"

namespace topwolf::cli {

// The option that a long name of other programs stands for, where both mean the same; "" for others.
std::string_view known_elsewhere(std::string_view name);

// Throws the sentence for an option that the command does not have: another program's, another command's, or the
// nearest there is.
[[noreturn]] void refuse_unknown(const std::string& word, Command command);

// Throws the sentence for a command that there is not.
[[noreturn]] void refuse_command(const std::string& name);

// The nearest of the candidates by edit distance, or "" if more than half of the word would change.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "a, b or c".
std::string join_choices(const std::vector<std::string_view>& choices);

}  // namespace topwolf::cli
