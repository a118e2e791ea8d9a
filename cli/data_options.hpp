// The options that every command reading data shares, as the library wants them, and the rules for files to be written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "topwolf/prepare.hpp"

namespace topwolf::cli {

int threads_of(const Arguments& arguments);

// --index-base; none where it is auto.
std::optional<int> index_base_of(const Arguments& arguments);

LoadOptions load_options(const Arguments& arguments, const std::string& path);

// Error{data} where DATA is a model, or DATA and MODEL are swapped: said before anything reads them as what they are
// not.
void check_places(const Arguments& arguments);

// What else belongs to the rows: --weights, --class-weight, --margins.
RowOptions row_options(const Arguments& arguments, const std::string& path);

// With --class-features the model's weights for the classes of that file, of which no loss and no certificate is known.
Model with_asked_classes(const Arguments& arguments, Model model);

// What the header of a file says that it is.
inline constexpr std::string_view model_format = "topwolf-model", dual_format = "topwolf-dual",
                                  checkpoint_format = "topwolf-checkpoint";

// Error{io} unless a file can be written there, which takes --force for one that is read-only or, with a format
// ("topwolf-model"), holds something else; Error{option} if it is one of the files being read.
void check_output(const Arguments& arguments, const std::string& path, const std::vector<std::string>& inputs,
                  std::string_view format = "");

// Error{option} where two of the files to be written are one, also through links.
void check_different(const std::vector<std::string>& outputs);

// Error{io} unless the disk has room for a file of so many bytes there. What is no regular file has no disk.
void check_disk(const std::string& path, std::int64_t bytes);

}  // namespace topwolf::cli
