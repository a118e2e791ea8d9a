// The values of C that a sweep or a cross-validation tries.
#pragma once

#include <string>
#include <vector>

namespace topwolf {

// Ascending, each once. Error{option} where there is none, or one that is not above 0.
std::vector<double> sorted_grid(std::vector<double> grid);

std::string describe_grid(const std::vector<double>& grid);

}  // namespace topwolf
