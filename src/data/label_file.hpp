// Labels in a file of their own: a .npy array, or text with one label a line.
#pragma once

#include <string>
#include <string_view>

#include "data/label_table.hpp"

namespace topwolf {

Labels read_label_file(const std::string& path, UnpackLimit max_unpacked = {});

// Blanks around a label do not count, nor do empty lines at the end; an empty line before is a row without a label.
Labels parse_label_lines(std::string_view text, const std::string& name);

}  // namespace topwolf
