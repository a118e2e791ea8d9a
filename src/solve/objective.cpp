#include "solve/objective.hpp"

#include <algorithm>
#include <numeric>

namespace topwolf {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double few = 16.0 * unit_roundoff;  // the rounding of a handful of operations, and of length()

// Numbers near the smallest that there are, 5e-324, have no precision left. Beside any others this is nothing.
constexpr double vanishing = 1e-316;

// lambda/2 length^2, where neither square need be a number.
double regulariser(const Problem& problem, double length) {
  const double scaled = std::sqrt(problem.lambda) * length;
  return 0.5 * scaled * scaled;
}

double largest_margin(const Problem& problem, std::int64_t i) {
  const RowMargins delta = problem.margins(i);
  if (delta.values) return *std::max_element(delta.values, delta.values + problem.m);
  double largest = 0.0;
  std::int64_t others = problem.m - 1;  // that have no margin of their own
  for (std::int64_t e = 0; e < delta.exceptions; ++e) {
    largest = std::max(largest, delta.exception[e]);
    others -= delta.column[e] != problem.label(i) ? 1 : 0;
  }
  return others > 0 ? std::max(largest, delta.other) : largest;
}

double absolute_sum(const SparseRow& alpha) {
  return std::accumulate(alpha.begin(), alpha.end(), 0.0,
                         [](double sum, const Entry& entry) { return sum + std::abs(entry.value); });
}

}  // namespace

double squared_norm(const std::vector<double>& W) {
  return std::inner_product(W.begin(), W.end(), W.begin(), 0.0);
}

DualSums dual_sums(const Problem& problem, const DualRows& A) {
  DualSums sums;
  for (std::int64_t i = 0; i < problem.n; ++i) {
    const SparseRow& alpha = A[static_cast<std::size_t>(i)];
    sums.c_alpha += problem.weight(i) * dot_c(problem.margins(i), problem.label(i), alpha);
    sums.alpha_norm2 += problem.weight(i) * squared_norm(alpha);
  }
  return sums;
}

double primal_bound(const Problem& problem, double W_length, const LossSum& loss) {
  constexpr double up = 1.0 + 5.0 * few;
  const double bound = up * (regulariser(problem, W_length) + (loss.sum + loss.rounding) / problem.N);
  if (std::isnan(bound)) return infinity;
  return bound > 0.0 ? bound + vanishing : bound;
}

double dual_bound(const Problem& problem, const DualSketch& sketch) {
  const double smoothing = problem.loss.smoothing;
  const double up = 1.0 + 5.0 * few + sketch.rounding, down = 1.0 - 5.0 * few - sketch.rounding;
  const double loss =
      up * (regulariser(problem, sketch.W_length + sketch.drift) + 0.5 * smoothing * sketch.alpha_norm2 / problem.N);
  const double bound = down * (sketch.c_alpha / problem.N) - loss - vanishing;
  return std::isnan(bound) ? -infinity : bound;
}

double dual_bound(const Problem& problem, const Geometry& geometry, const DualRows& A, double W_length) {
  RowScratch scratch;
  long double c_alpha = 0.0L, alpha_norm2 = 0.0L, terms = 0.0L, moved = 0.0L;
  double over = 0.0;
  for (std::int64_t i = 0; i < problem.n; ++i) {
    const SparseRow& alpha = A[static_cast<std::size_t>(i)];
    const double omega = problem.weight(i);
    if (alpha.empty() || !(omega > 0.0)) continue;
    const auto [ratio, distance] = membership(problem.loss, problem.label(i), alpha, scratch);
    over = std::max(over, ratio - 1.0);
    // A point of Q lies within `distance`: it is its dual that is bounded.
    const double reach = std::sqrt(squared_norm(alpha)) + 2.0 * distance;
    const long double x = omega * std::sqrt(geometry.lengths2[static_cast<std::size_t>(i)]);
    c_alpha += omega * dot_c(problem.margins(i), problem.label(i), alpha);
    if (distance > 0.0) c_alpha -= omega * largest_margin(problem, i) * distance;
    alpha_norm2 += omega * reach * reach;
    terms += x * absolute_sum(alpha);
    moved += x * 2.0 * distance;
  }
  const long double scale = 1.0L / (static_cast<long double>(problem.lambda) * problem.N);
  DualSketch sketch;
  sketch.W_length = W_length;
  sketch.drift = static_cast<double>(scale * (sum_rounding(geometry) * terms + moved));
  sketch.c_alpha = static_cast<double>(c_alpha);
  sketch.alpha_norm2 = static_cast<double>(alpha_norm2);
  const double bound = dual_bound(problem, sketch);
  // D(t A) >= t D(A) for 0 <= t <= 1, because D is concave and D(0) = 0.
  return bound > 0.0 ? bound / (1.0 + over) : bound;
}

double length_bound(const Problem& problem, const Geometry& geometry) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < problem.n; ++i) {
    sum += problem.weight(i) * std::sqrt(geometry.lengths2[static_cast<std::size_t>(i)]);
  }
  return 2.0 * problem.loss.rho_sum() * sum / (problem.lambda * problem.N);
}

double sum_rounding(const Geometry& geometry) {
  return static_cast<double>(geometry.terms + 8) * unit_roundoff;
}

}  // namespace topwolf
