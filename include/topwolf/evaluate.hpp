// How good a classifier is: errors at k.
#pragma once

#include <cstdint>
#include <vector>

#include "topwolf/model.hpp"

namespace topwolf {

// The share of rows whose true class (y, -1 = not a class of the predictor) is not among the k best, for each k in ks.
// With example weights, the share of their weight.
std::vector<double> top_k_errors(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y,
                                 const std::vector<std::int64_t>& ks, int threads = 0,
                                 const std::vector<double>& weights = {});

// The same from ranks: how many classes come before each row's own.
std::vector<double> errors_of_ranks(const std::vector<std::int32_t>& ranks, const std::vector<std::int64_t>& ks,
                                    const std::vector<double>& weights = {});

// What it costs to take a row for another class than its own: by the margins of the rows where they are given, else by
// the cost matrix (m x m), else 1 for every error.
struct Costs {
  const std::vector<double>& cost_matrix;  // (m x m), row = true class; empty: none
  const Margins& margins;                  // of the rows that are evaluated
};

// The mean of cost(y, best class). A row whose class is none of the predictor's costs 1 (or what the margins say).
double mean_cost(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y, const Costs& costs,
                 int threads = 0, const std::vector<double>& weights = {});

}  // namespace topwolf
