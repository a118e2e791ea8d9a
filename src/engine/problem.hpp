// The optimisation problem as solvers and engines see it (ledger, P1): data, labels, weights, loss and lambda.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "data/mean.hpp"
#include "data/rows.hpp"
#include "loss/row.hpp"
#include "topwolf/matrix.hpp"

namespace topwolf {

// Squared lengths of the examples, which depend on the rows alone: one scan of the features serves all engines.
using SharedLengths = std::shared_ptr<const std::vector<double>>;
inline SharedLengths share(std::vector<double> lengths2) {
  return std::make_shared<const std::vector<double>>(std::move(lengths2));
}

struct Problem {
  FeatureView X;                    // (n x d); with another psi than the Kronecker map there may be none
  std::span<const std::int32_t> y;  // n
  std::span<const double> omega;    // n example weights; empty: all 1
  std::int64_t n = 0, d = 0, m = 0;
  double N = 0.0;   // sum of omega
  Bias bias;        // the constant feature, column d
  SharedMean mean;  // C1: rows are x_i - mean and the constant feature; null: x_i
  double lambda = 0.0;
  Loss loss;
  std::shared_ptr<const std::vector<double>> cost;  // (m x m) margins by true class; null: the usual ones
  const Margins* per_example = nullptr;             // margins row by row, instead

  std::int64_t D() const { return d + bias.columns(); }
  double weight(std::int64_t i) const { return omega.empty() ? 1.0 : omega[static_cast<std::size_t>(i)]; }
  // D2: what alpha_i x_i^T is multiplied with in W(A). Times ||x_i||^2 it is the q of L6.
  double factor(std::int64_t i) const { return weight(i) / (lambda * N); }
  std::int64_t label(std::int64_t i) const { return y[static_cast<std::size_t>(i)]; }
  RowMargins margins(std::int64_t i) const {
    if (per_example) return row_margins(*per_example, i);
    if (cost) return RowMargins(cost->data() + label(i) * m);
    RowMargins usual;
    usual.other = loss.usual_margin();
    return usual;
  }
};

}  // namespace topwolf
