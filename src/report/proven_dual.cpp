// The dual of a point of the dual set near A, proven.
#include <algorithm>
#include <cmath>
#include <utility>

#include "report/proof.hpp"

namespace topwolf::proof {

namespace {

// L10. T H(beta) of the beta above 0, and of what they leave for y. Divided by a ratio above 1, as a row outside of its
// set will be, they are worth at least as much over that ratio. `size`: what its roundings are to be measured by.
Real entropy(const DualRow& alpha, std::int64_t y, Real temperature, Real& size) {
  constexpr Real steepest = 50.0L;  // -log of what is left for y, where that is anything beside its rounding
  Real sum = 0.0L, total = 0.0L;
  for (std::size_t e = 0; e < alpha.column.size(); ++e) {
    const Real beta = -static_cast<Real>(alpha.value[e]);
    if (alpha.column[e] == y || !(beta > 0.0L)) continue;
    sum += beta;
    total -= beta * std::log(beta);
  }
  if (sum < 1.0L) total -= (1.0L - sum) * std::log1p(-sum);
  size = temperature * (std::abs(total) + steepest * sum);
  return temperature * std::max(total, 0.0L);
}

}  // namespace

void add_row(const DualRow& alpha, const RowMiss& miss, std::int64_t y, const Example& example, const Vector& delta,
             Real share, const Model& model, const ClassRows& phi, const Mean& mean, DualSums& sums) {
  if (alpha.column.empty()) return;
  const std::int64_t D = model.D();
  const Real length = example.length() + mean.length, smoothing = model.provenance.loss.smoothing,
             factor = share / model.provenance.lambda;
  Real size = 0.0L, largest_margin = 0.0L;
  for (const double x : delta) largest_margin = std::max(largest_margin, static_cast<Real>(std::abs(x)));
  for (std::size_t e = 0; e < alpha.column.size(); ++e) {
    const std::int64_t j = alpha.column[e];
    const Real a = alpha.value[e], linear = share * delta[j] * a, squares = 0.5L * share * smoothing * a * a;
    sums.terms -= linear + squares;
    sums.size += std::abs(linear) + squares;
    sums.lengths[j] += factor * std::abs(a) * length;
    ++sums.entries[j];
    size += std::abs(a);
    const Real scaled = factor * a;
    sums.coefficients[j] += scaled;
    double* const w = sums.W.data() + j * D;
    for (std::size_t q = 0; q < example.column.size(); ++q) {
      double& cell = w[example.column[q]];
      cell = static_cast<double>(cell + scaled * example.value[q]);
    }
  }
  if (const Real temperature = temperature_of(model); temperature > 0.0L) {
    Real rounded = 0.0L;
    sums.terms += share * entropy(alpha, y, temperature, rounded);
    sums.size += share * rounded;
  }
  sums.moved += share * miss.distance * (largest_margin + smoothing * (size + miss.distance));
  sums.drift += factor * 2.0L * miss.distance * length * phi.longest;
}

// ||W(A)||, not rounded down. A number of W sums as many terms as its class has entries, each time rounded to double;
// the mean is taken off, and phi takes it to V, in long double.
Real longest_weights(const DualSums& sums, const ClassRows& phi, const Mean& mean, std::int64_t D) {
  constexpr Real least = std::numeric_limits<double>::denorm_min();
  const std::size_t m = phi.row.size();
  std::vector<std::vector<std::pair<std::size_t, double>>> of(static_cast<std::size_t>(phi.p));
  Real drift = sums.drift, total = 0.0L;
  for (std::size_t j = 0; j < m; ++j) {
    const auto entries = static_cast<Real>(sums.entries[j]);
    for (std::size_t e = 0; e < phi.row[j].column.size(); ++e)
      of[phi.row[j].column[e]].push_back({j, phi.row[j].value[e]});
    drift += phi.length[j] * sums.lengths[j] * ((entries + 2.0L) * unit_roundoff<double> + roundings(m));
    drift += phi.length[j] * entries * least * std::sqrt(static_cast<Real>(D));
  }
  for (const auto& classes : of) {
    Real of_row = 0.0L;
    for (std::int64_t c = 0; c < D; ++c) {
      Real v = 0.0L;
      const bool less = static_cast<std::size_t>(c) < mean.values.size();
      for (const auto& [j, x] : classes) {
        const Real w = sums.W[j * static_cast<std::size_t>(D) + c];
        v += static_cast<Real>(x) * (less ? w - sums.coefficients[j] * mean.values[c] : w);
      }
      of_row += v * v;
    }
    total += of_row;
  }
  return (std::sqrt(total) + drift) * (1.0L + roundings(static_cast<std::size_t>(D) + m + of.size()));
}

}  // namespace topwolf::proof
