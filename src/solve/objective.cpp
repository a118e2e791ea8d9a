// P, D and the gap, each once, and the bounds that hold whatever rounding did to them.
#include "solve/objective.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "core/length.hpp"

namespace topwolf {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double few = 16.0 * unit_roundoff;  // the rounding of a handful of operations, and of length()

// Numbers near the smallest that there are, 5e-324, have no precision left. Beside any others this is nothing.
constexpr double least = std::numeric_limits<double>::denorm_min(), vanishing = 1e-316;

// What underflow takes from the sums over the entries of a dual's rows.
double flushed_dual(const Problem& problem) {
  return least * static_cast<double>(problem.m) * (1.0 + problem.loss.smoothing);
}

// lambda/2 length^2, where neither square need be a number.
double regulariser(const Problem& problem, double length) {
  const double scaled = std::sqrt(problem.lambda) * length;
  return 0.5 * scaled * scaled;
}

}  // namespace

double squared_norm(const std::vector<double>& W) {
  return std::inner_product(W.begin(), W.end(), W.begin(), 0.0);
}

// C1: the weight of the constant feature is that of the model and <w, mean> / B. Its sum is in long double.
WeightLength weight_length(const Problem& problem, const std::vector<double>& W, double doubt) {
  if (!problem.mean) return {length(W), length(W)};
  const std::vector<double>& mean = *problem.mean;
  const std::size_t d = mean.size();
  const long double B = std::abs(problem.bias.value());
  const long double roundings = static_cast<long double>(d + 8) * std::numeric_limits<long double>::epsilon();
  std::vector<double> shortest, longest;
  for (std::size_t from = 0; from < W.size(); from += d + 1) {
    const auto w = std::span(W).subspan(from, d);
    long double sum = 0.0L, size = 0.0L;
    for (std::size_t c = 0; c < d; ++c) {
      const long double term = static_cast<long double>(w[c]) * mean[c];
      sum += term;
      size += std::abs(term);
    }
    const long double constant = W[from + d], value = std::abs(constant + sum / problem.bias.value());
    const long double off = (roundings + doubt) * (std::abs(constant) + size / B);
    shortest.push_back(length(w));
    longest.push_back(shortest.back());
    shortest.push_back(static_cast<double>(std::max(0.0L, value - off)));
    longest.push_back(static_cast<double>(value + off));
  }
  // A length of lengths is rounded twice.
  constexpr double twice = 80.0 * unit_roundoff;
  return {(1.0 - twice) * length(shortest), (1.0 + twice) * length(longest)};
}

double primal_bound(const Problem& problem, double W_length, const LossSum& loss) {
  // Upwards: no rounding may make the primal of a certificate too small, nor, below, its dual too large.
  constexpr double up = 1.0 + 5.0 * few;
  const auto mean = static_cast<double>((loss.sum + loss.rounding) / problem.N);
  const double bound = up * (regulariser(problem, W_length) + mean);
  if (std::isnan(bound)) return infinity;
  return bound > 0.0 || loss.sum > 0.0L ? bound + vanishing : bound;
}

double primal_floor(const Problem& problem, double W_length, const LossSum& loss) {
  constexpr double down = 1.0 - 6.0 * few;
  const double bound = down * (regulariser(problem, W_length) + static_cast<double>(loss.least / problem.N));
  return bound > vanishing && std::isfinite(bound) ? bound - vanishing : 0.0;
}

double dual_bound(const Problem& problem, const DualSketch& sketch) {
  const double up = 1.0 + 5.0 * few + sketch.rounding, down = 1.0 - 5.0 * few - sketch.rounding;
  const auto mean = static_cast<double>(sketch.c_alpha / problem.N),
             norm2 = static_cast<double>(problem.loss.smoothing * sketch.alpha_norm2 / problem.N);
  const double loss = up * (regulariser(problem, sketch.W_length + sketch.drift) + 0.5 * norm2);
  const double bound = down * mean - loss - vanishing - flushed_dual(problem);
  return std::isfinite(bound) ? bound : -infinity;
}

double dual_bound(const Problem& problem, const Geometry& geometry, const InsideSums& sums, double W_length) {
  const long double scale = 1.0L / (static_cast<long double>(problem.lambda) * problem.N);
  DualSketch sketch;
  sketch.W_length = W_length;
  sketch.drift = static_cast<double>(scale * (sum_rounding(geometry) * sums.terms + sums.moved)) +
                 flushed_weights(problem, geometry, static_cast<double>(sums.flushed));
  sketch.c_alpha = sums.c_alpha;
  sketch.alpha_norm2 = sums.alpha_norm2;
  const double bound = dual_bound(problem, sketch);
  // D(t A) >= t D(A) for 0 <= t <= 1, because D is concave and D(0) = 0.
  return bound > 0.0 ? bound / (1.0 + sums.over) : bound;
}

double flushed_weights(const Problem& problem, const Geometry& geometry, double entries) {
  const double numbers = std::sqrt(static_cast<double>(geometry.dimension));
  return least * numbers * geometry.growth * (1.0 + entries / (problem.lambda * problem.N));
}

double length_bound(const Problem& problem, const Curvature& curvature) {
  return 2.0 * problem.loss.rho_sum() * curvature.lengths / (problem.lambda * problem.N);
}

double sum_rounding(const Geometry& geometry) {
  return static_cast<double>(geometry.terms + 8) * unit_roundoff;
}

}  // namespace topwolf
