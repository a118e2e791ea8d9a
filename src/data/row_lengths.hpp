// The squared Euclidean lengths of the rows.
#pragma once

#include <vector>

#include "topwolf/matrix.hpp"

namespace topwolf {

// ||x_i||^2 in double, with the constant feature.
std::vector<double> squared_lengths(const FeatureView& X, double bias, int threads);

}  // namespace topwolf
