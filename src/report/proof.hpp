// What verify proves, in two halves: an upper bound on the loss of one example (proven_primal.cpp), and a lower bound
// on the dual of a point near A (proven_dual.cpp). Sums are in long double, and rounding is counted (ledger,
// G4). Shares no code with src/loss, src/engine or src/solve.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "report/row_check.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/model.hpp"

namespace topwolf::proof {

using Vector = std::vector<double>;
using Real = long double;

template <class T>
constexpr T unit_roundoff = std::numeric_limits<T>::epsilon() / 2;

// So many roundings in long double, and some more for what is done with the sum.
inline Real roundings(std::size_t count) {
  return static_cast<Real>(count + 16) * unit_roundoff<Real>;
}

inline Real norm2(std::span<const double> values) {
  Real total = 0.0L;
  for (const double x : values) total += static_cast<Real>(x) * x;
  return total;
}

// The non-zeros of one example, the constant feature included; or of one row of phi.
struct Example {
  std::vector<std::int64_t> column;
  Vector value;
  void add(std::int64_t c, double x) {
    if (x == 0.0) return;
    column.push_back(c);
    value.push_back(x);
  }
  Real length() const { return std::sqrt(norm2(value)) * (1.0L + roundings(value.size())); }
};

Example example_of(const FeatureView& X, double bias, std::int64_t i);

// phi row by row; the identity where there are no class features.
struct ClassRows {
  std::int64_t p = 0;
  std::vector<Example> row;    // m
  std::vector<Real> length{};  // m
  Real longest = 0.0L;         // of the rows
  std::int64_t most = 0;       // non-zeros of a row
};

ClassRows class_rows(const Classifier& model);

// The weights that are trained: W, or V with class features.
const Vector& trained(const Classifier& model);

// Of softmax; 0: another loss.
Real temperature_of(const Model& model);

// delta: the row's own margins, or row y of the cost matrix, or 1 for every other class, or 0 with softmax.
Vector margins_of(const Dataset& data, const Model& model, std::int64_t i);

// ---- The primal

// The mean that was taken off the rows, a number for each feature, and nothing for the constant one; without it nothing
// is taken off. With it, W(A) is the sum over x less the mean times the sum of the coefficients, and what the
// regulariser squares is the weights' length with w_B + <w, mean> / B in the place of w_B.
struct Mean {
  std::span<const double> values;
  Real length = 0.0L;  // not rounded down
  Real bias = 0.0L;
};

Mean mean_of(const Model& model);

// The trained weights V (p x D; W where there is no phi), the other way round: the features of one example then meet
// all rows of V in one plain loop.
struct Weights {
  Vector transposed;    // (D x p)
  Real longest = 0.0L;  // no w_j = phi_j V is longer, nor the sum of |phi_jr| ||v_r||
  Real norm2 = 0.0L;    // what the regulariser squares of V, not rounded down
};

Weights weights_of(const Model& model, const ClassRows& phi, const Mean& mean);

// The loss is not above this. Where double may lose more than `allowed`, the scores that decide are computed in long
// double.
Real loss_of_example(const Example& example, const Weights& weights, const ClassRows& phi, const Loss& loss,
                     const Vector& delta, std::int64_t y, Real allowed);

// ---- The dual

// D of a point of the dual set near A, bit by bit. A row within `distance` of the set (row_miss) counts with the least
// that the point there can be worth, and with the furthest that it can take W(A).
struct DualSums {
  Real terms = 0.0L;                  // sum of omega_i/N (<c_i, alpha_i> - smoothing/2 |alpha_i|^2 + T H), ...
  Real size = 0.0L;                   // ... its terms without their signs, ...
  Real moved = 0.0L;                  // ... and what moving the rows takes off at most
  Vector W;                           // (m x D): the sum of omega_i/(lambda N) alpha_i x_i^T; W(A), but for phi, ...
  std::vector<Real> coefficients;     // ... and, m, the same without x_i^T
  std::vector<Real> lengths;          // m: the sum of the lengths of what was added for a class, ...
  std::vector<std::int64_t> entries;  // ... and of how many
  Real drift = 0.0L;                  // how far the rows move W(A)
};

struct DualRow {
  std::span<const std::int32_t> column;
  std::span<const double> value;
};

// Row i of A, with the share omega_i / N of the example.
void add_row(const DualRow& alpha, const RowMiss& miss, std::int64_t y, const Example& example, const Vector& delta,
             Real share, const Model& model, const ClassRows& phi, const Mean& mean, DualSums& sums);

// ||W(A)||, not rounded down.
Real longest_weights(const DualSums& sums, const ClassRows& phi, const Mean& mean, std::int64_t D);

}  // namespace topwolf::proof
