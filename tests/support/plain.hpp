// The losses and their dual sets in the plainest possible words, in double: what the fast versions are checked against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "loss/row.hpp"
#include "support/oracles.hpp"

namespace topwolf::plain {

using Vector = std::vector<double>;

inline Vector dense(const SparseRow& row, std::int64_t m) {
  Vector out(static_cast<std::size_t>(m), 0.0);
  for (const auto& [j, value] : row) out[static_cast<std::size_t>(j)] += value;
  return out;
}

inline double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

inline Vector unit_margins(std::size_t m, std::size_t y) {
  Vector delta(m, 1.0);
  delta[y] = 0.0;
  return delta;
}

inline double rho_at(const Loss& loss, std::size_t r) {
  return r < loss.rho.size() ? loss.rho[r] : 0.0;
}

// L1, L2 as a function of z: the support function of B.
inline double phi_of_z(const Loss& loss, Vector z) {
  if (const auto* groups = testing::groups_of(loss)) return groups->value(z, 0);
  std::sort(z.begin(), z.end(), std::greater<>());
  double sum = 0.0;
  for (std::size_t r = 0; r < z.size(); ++r) {
    sum += rho_at(loss, r) * (loss.family == Family::usunier ? std::max(0.0, z[r]) : z[r]);
  }
  return std::max(0.0, sum);
}

// max over alpha in Q of <g, alpha>.
inline double support(const Loss& loss, const Vector& g, std::size_t y) {
  Vector z(g.size());
  for (std::size_t j = 0; j < g.size(); ++j) z[j] = g[y] - g[j];
  return phi_of_z(loss, z);
}

inline double value(const Loss& loss, const Vector& delta, const Vector& s, std::size_t y) {
  Vector z(s.size());
  for (std::size_t j = 0; j < s.size(); ++j) z[j] = delta[j] + s[j] - s[y];
  if (!loss.entropic()) return phi_of_z(loss, z);
  const double top = *std::max_element(z.begin(), z.end());
  double sum = 0.0;
  for (const double x : z) sum += std::exp((x - top) / loss.temperature);
  return top + loss.temperature * std::log(sum);
}

// D1. What alpha is worth besides W(A) and the smoothing: <c, alpha>, and T H(beta) with softmax (L10).
inline double worth(const Loss& loss, const Vector& delta, const Vector& alpha, std::size_t y) {
  double sum = -dot(delta, alpha);
  for (std::size_t j = 0; loss.entropic() && j < alpha.size(); ++j) {
    const double beta = j == y ? 1.0 - alpha[j] : -alpha[j];
    if (beta > 0.0) sum -= loss.temperature * beta * std::log(beta);
  }
  return sum;
}

// By how much alpha misses Q. For the top-k family beta_y is free: some zeta in [0, 1] must give a beta_y = zeta R - B
// with which every sum of the k largest stays below zeta (rho_1 + .. + rho_k).
inline double infeasibility(const Loss& loss, const Vector& alpha, std::size_t y) {
  const double sum = std::accumulate(alpha.begin(), alpha.end(), 0.0);
  double worst = std::abs(sum);
  Vector beta;
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    if (j != y) beta.push_back(-alpha[j]);
  }
  if (const auto* groups = testing::groups_of(loss)) {
    Vector left = groups->weight();
    for (std::size_t j = 0; j < alpha.size(); ++j) {
      if (j != y) left[groups->group()[j]] += alpha[j];
    }
    for (const double room : left) worst = std::max(worst, -room);
  }
  for (double b : beta) worst = std::max(worst, -b);
  if (testing::groups_of(loss)) return worst;
  std::sort(beta.begin(), beta.end(), std::greater<>());
  const double R = std::accumulate(loss.rho.begin(), loss.rho.end(), 0.0);
  const double B = std::accumulate(beta.begin(), beta.end(), 0.0);
  double low = B / R, high = 1.0, prefix = 0.0, rho_prefix = 0.0;
  for (std::size_t r = 0; r < beta.size(); ++r) {
    const double before = prefix;
    prefix += beta[r];
    rho_prefix += rho_at(loss, r);
    if (loss.family == Family::usunier) {
      worst = std::max(worst, prefix - rho_prefix);
    } else {
      low = std::max(low, prefix / rho_prefix);
      if (R - rho_prefix > 1e-12 * R) high = std::min(high, (B - before) / (R - rho_prefix));
    }
  }
  return loss.family == Family::usunier ? worst : std::max(worst, (low - high) * R);
}

}  // namespace topwolf::plain
