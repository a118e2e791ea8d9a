// How good a classifier is: errors at k.
#pragma once

#include <cstdint>
#include <vector>

#include "topwolf/model.hpp"

namespace topwolf {

// The share of rows whose true class (y, -1 = not a class of the model) is not among the k best, for each k in ks.
// With example weights, the share of their weight.
std::vector<double> top_k_errors(const Model& model, const Features& X, const std::vector<std::int32_t>& y,
                                 const std::vector<std::int64_t>& ks, int threads = 0,
                                 const std::vector<double>& weights = {});

// The same from ranks: how many classes come before each row's own.
std::vector<double> errors_of_ranks(const std::vector<std::int32_t>& ranks, const std::vector<std::int64_t>& ks,
                                    const std::vector<double>& weights = {});

// The mean of cost(y, best class): by the margins of the rows where they are given, else by the model's cost matrix,
// else 1 for every error. A row whose class is none of the model's costs 1 (or what the margins say).
double mean_cost(const Model& model, const Features& X, const std::vector<std::int32_t>& y, int threads = 0,
                 const std::vector<double>& weights = {}, const Margins& margins = {});

}  // namespace topwolf
