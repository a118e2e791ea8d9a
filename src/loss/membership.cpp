// By how much a row misses the dual set (L9): the measurement that a certificate rests on. Sums are in long double, so
// that what is measured is the row and not the measuring.

#include <algorithm>
#include <cmath>
#include <limits>

#include "loss/oracle.hpp"
#include "loss/row.hpp"

namespace topwolf {
namespace {

using Real = long double;

// beta of the entries other than y, largest first; what the row must lose before that makes sense (beta below 0, a sum
// other than 0) is returned.
Real ranked_beta(std::int64_t y, RowView alpha, std::vector<double>& beta) {
  Real sum = 0.0L, negative = 0.0L;
  beta.clear();
  for (const auto& [j, value] : alpha) {
    sum += value;
    if (j == y) continue;
    if (value > 0.0) {
      negative += value;
    } else {
      beta.push_back(-value);
    }
  }
  std::sort(beta.begin(), beta.end(), std::greater<>());
  return std::abs(sum) + 2.0L * negative;
}

// The smallest zeta with B_k <= zeta r_k for all k: B_k and r_k are the sums of the k largest beta and rho.
Real largest_ratio(const Loss& loss, const std::vector<double>& beta) {
  Real ratio = 0.0L, B = 0.0L, r = 0.0L;
  for (std::size_t k = 0; k < beta.size(); ++k) {
    B += beta[k];
    if (k < loss.rho.size()) r += loss.rho[k];
    ratio = std::max(ratio, B / r);
  }
  return ratio;
}

// Top-k family: beta_y = zeta R - S must not be too large for its place either, zeta (R - r_k) <= S - B_(k-1) for k <
// K. Where that fails by e_k, a part e_k / (zeta rho_k) of the vertex without y mends it, which moves the row by at
// most 2 zeta R times that part.
Real distance_for_label(const Loss& loss, const std::vector<double>& beta, Real zeta) {
  Real R = 0.0L, S = 0.0L;
  for (const double weight : loss.rho) R += weight;
  for (const double value : beta) S += value;
  Real worst = 0.0L, r = 0.0L, B = 0.0L;  // B: the k - 1 largest
  for (std::size_t k = 0; k + 1 < loss.rho.size(); ++k) {
    r += loss.rho[k];
    worst = std::max(worst, (zeta * (R - r) - (S - B)) / loss.rho[k]);
    if (k < beta.size()) B += beta[k];
  }
  return 2.0L * R * worst;
}

}  // namespace

Membership membership(const Loss& loss, std::int64_t y, RowView alpha, RowScratch& scratch) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const Entry& entry : alpha) {
    if (!std::isfinite(entry.value)) return {infinity, infinity};
  }
  if (loss.oracle) return {1.0, oracle_distance(loss, y, alpha, scratch)};
  auto& beta = scratch.copy;
  Real distance = ranked_beta(y, alpha, beta);
  const Real ratio = largest_ratio(loss, beta);
  if (loss.family == Family::top_k) distance += distance_for_label(loss, beta, ratio);
  return {static_cast<double>(ratio), static_cast<double>(distance)};
}

double put_inside(const Loss& loss, std::int64_t y, SparseRow& alpha, RowScratch& scratch) {
  constexpr double rounding = 1e-9;  // of the row: what any honest arithmetic stays far below
  const double allowed = rounding * loss.rho_sum();
  Membership found = membership(loss, y, alpha, scratch);
  const double missed = std::max(found.ratio - 1.0, found.distance / loss.rho_sum());
  if (found.ratio > 1.0 + rounding && std::isfinite(found.ratio)) {
    for (Entry& entry : alpha) entry.value /= found.ratio;
    found = membership(loss, y, alpha, scratch);
  }
  // The vertices that measured it make a point of Q: the nearest.
  if (loss.oracle && found.distance > allowed && std::isfinite(found.distance)) {
    nearest_point(scratch.oracle, y, alpha);
    return missed;
  }
  if (!(found.ratio <= 1.0 + rounding && found.distance <= allowed)) alpha.clear();
  return missed;
}

}  // namespace topwolf
