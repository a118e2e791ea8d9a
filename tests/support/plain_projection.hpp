// The projection onto the dual set (L5) in its plainest form: everything is sorted, and roots are bisected.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/plain.hpp"

namespace topwolf::plain {

// Non-increasing regression of v by pooling adjacent violators.
inline Vector regress(const Vector& v) {
  std::vector<std::pair<double, std::size_t>> pools;  // sum and size
  for (double x : v) {
    std::pair<double, std::size_t> last{x, 1};
    const auto mean = [](const auto& pool) { return pool.first / static_cast<double>(pool.second); };
    while (!pools.empty() && mean(pools.back()) < mean(last)) {
      last = {last.first + pools.back().first, last.second + pools.back().second};
      pools.pop_back();
    }
    pools.push_back(last);
  }
  Vector out;
  for (const auto& [sum, size] : pools) out.insert(out.end(), size, sum / static_cast<double>(size));
  return out;
}

// The root of a function that falls from positive to negative in [low, high].
template <class Function>
double falling_root(double low, double high, const Function& f) {
  for (int t = 0; t < 200; ++t) {
    const double middle = 0.5 * (low + high);
    (f(middle) > 0.0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// Places 0 .. m-1, largest v first.
inline std::vector<std::size_t> descending(const Vector& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] > v[b]; });
  return order;
}

inline Vector padded_rho(const Loss& loss, std::size_t m) {
  Vector rho = loss.rho;
  rho.resize(m, 0.0);
  return rho;
}

inline Vector project_usunier(const Loss& loss, const Vector& a, std::size_t y) {
  Vector b;
  std::vector<std::size_t> classes;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (j != y) b.push_back(a[y] - a[j]), classes.push_back(j);
  }
  const auto order = descending(b);
  const Vector rho = padded_rho(loss, a.size());
  Vector shifted;
  for (std::size_t r = 0; r < b.size(); ++r) shifted.push_back(b[order[r]] - rho[r]);
  const Vector g = regress(shifted);
  const auto beta = [&](std::size_t r, double theta) {
    return std::max(b[order[r]] - theta, 0.0) - std::max(g[r] - theta, 0.0);
  };
  const auto excess = [&](double theta) {
    double sum = -theta;
    for (std::size_t r = 0; r < b.size(); ++r) sum += beta(r, theta);
    return sum;
  };
  const double theta = falling_root(0.0, std::accumulate(rho.begin(), rho.end(), 0.0) + 1.0, excess);
  Vector alpha(a.size(), 0.0);
  for (std::size_t r = 0; r < b.size(); ++r) {
    alpha[classes[order[r]]] = -beta(r, theta);
    alpha[y] += beta(r, theta);
  }
  return alpha;
}

inline Vector project_top_k(const Loss& loss, const Vector& a, std::size_t y) {
  const Vector rho = padded_rho(loss, a.size());
  const double whole = std::accumulate(rho.begin(), rho.end(), 0.0);
  // beta = v - x at zeta, and phi'(zeta).
  const auto at = [&](double zeta, Vector& beta) {
    Vector v(a.size());
    for (std::size_t j = 0; j < a.size(); ++j) v[j] = a[y] - a[j];
    v[y] = zeta * whole;
    const auto order = descending(v);
    Vector shifted;
    for (std::size_t r = 0; r < v.size(); ++r) shifted.push_back(v[order[r]] - zeta * rho[r]);
    const Vector x = regress(shifted);
    beta.assign(v.size(), 0.0);
    double slope = 0.0;
    for (std::size_t r = 0; r < v.size(); ++r) {
      beta[order[r]] = v[order[r]] - x[r];
      slope += (order[r] == y ? whole * x[r] : 0.0) - rho[r] * x[r];
    }
    return slope;
  };
  Vector beta;
  double zeta = 0.0;
  if (at(0.0, beta) < 0.0) {
    zeta = at(1.0, beta) <= 0.0 ? 1.0 : falling_root(0.0, 1.0, [&](double t) { return -at(t, beta); });
  }
  at(zeta, beta);
  Vector alpha(a.size(), 0.0);
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (j == y) continue;
    alpha[j] = -beta[j];
    alpha[y] += beta[j];
  }
  return alpha;
}

inline Vector project_groups(const testing::GroupHinge& groups, const Vector& a, std::size_t y) {
  std::vector<long double> z(a.size());
  for (std::size_t j = 0; j < a.size(); ++j) z[j] = static_cast<long double>(a[y]) - a[j];
  const std::vector<long double> beta = testing::group_maximiser(groups, z, y, 1.0L);
  Vector alpha(a.size());
  for (std::size_t j = 0; j < a.size(); ++j) alpha[j] = static_cast<double>(-beta[j]);
  alpha[y] = static_cast<double>(std::accumulate(beta.begin(), beta.end(), 0.0L));
  return alpha;
}

inline Vector project(const Loss& loss, const Vector& a, std::size_t y) {
  if (const auto* groups = testing::groups_of(loss)) return project_groups(*groups, a, y);
  return loss.family == Family::usunier ? project_usunier(loss, a, y) : project_top_k(loss, a, y);
}

// L4: the largest <c - s, alpha> - smoothing/2 ||alpha||^2 over Q, which the projection of (c - s) / smoothing has.
inline double envelope(const Loss& loss, const Vector& delta, const Vector& s, std::size_t y) {
  if (const auto* groups = testing::groups_of(loss)) {
    std::vector<long double> z(s.size());
    for (std::size_t j = 0; j < s.size(); ++j) z[j] = static_cast<long double>(delta[j]) + s[j] - s[y];
    return static_cast<double>(testing::group_envelope(*groups, z, y, loss.smoothing));
  }
  Vector a(s.size());
  for (std::size_t j = 0; j < s.size(); ++j) a[j] = (-delta[j] - s[j]) / loss.smoothing;
  const Vector alpha = project(loss, a, y);
  return loss.smoothing * (dot(a, alpha) - 0.5 * dot(alpha, alpha));
}

}  // namespace topwolf::plain
