// What a user who typed something unknown probably meant. Nothing is corrected silently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "option_table.hpp"

namespace topwolf::cli {

// Throws the sentence for an option that the command does not have: another program's, another command's, or the
// nearest there is.
[[noreturn]] void refuse_unknown(const std::string& word, Command command);

// The nearest of the candidates by edit distance, or "" if more than half of the word would change.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "a, b or c".
std::string join_choices(const std::vector<std::string_view>& choices);

}  // namespace topwolf::cli
