// How good a classifier is: errors at k.
#pragma once

#include <cstdint>
#include <vector>

#include "topwolf/model.hpp"

namespace topwolf {

// The share of rows whose true class (y, -1 = not a class of the model) is not among the k best, for each k in ks.
std::vector<double> top_k_errors(const Model& model, const Features& X, const std::vector<std::int32_t>& y,
                                 const std::vector<std::int64_t>& ks, int threads = 0);

}  // namespace topwolf
