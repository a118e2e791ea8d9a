// Margins between classes from a file. What the numbers mean is the loss's business.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"

namespace topwolf {

// (m x m), row-major, row = true class: finite, at least 0, zero on the diagonal. Text separated by blanks or commas,
// one row a line, lines that are blank or start with # left out; or .npy. Error{data} names the file and the place.
std::vector<double> load_cost_matrix(const std::string& path, std::int64_t m, UnpackLimit max_unpacked = {});

}  // namespace topwolf
