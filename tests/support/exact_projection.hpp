// The projection onto the dual set (L5) in rational arithmetic: no rounding anywhere, whatever the scale. From keys
// b_j = a_y - a_j to beta; nothing of src/ is used but the loss as a value.
#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "topwolf/loss.hpp"

namespace topwolf::exact {

using Rational = mpq_class;
using Vector = std::vector<Rational>;

inline Vector padded_rho(const Loss& loss, std::size_t m) {
  Vector rho(loss.rho.begin(), loss.rho.end());
  rho.resize(m, 0);
  return rho;
}

inline Rational sum(const Vector& v) {
  return std::accumulate(v.begin(), v.end(), Rational(0));
}

inline std::vector<std::size_t> descending(const Vector& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] > v[b]; });
  return order;
}

// Non-increasing regression of v.
inline Vector regress(const Vector& v) {
  std::vector<std::pair<Rational, long>> pools;  // mean and size
  for (const Rational& x : v) {
    std::pair<Rational, long> last{x, 1};
    while (!pools.empty() && pools.back().first < last.first) {
      const auto& [mean, size] = pools.back();
      const Rational total = mean * size + last.first * last.second;
      last = {total / (size + last.second), size + last.second};
      pools.pop_back();
    }
    pools.push_back(last);
  }
  Vector out;
  for (const auto& [mean, size] : pools) out.insert(out.end(), static_cast<std::size_t>(size), mean);
  return out;
}

// beta of the Usunier family: the root theta lies between two neighbouring breakpoints, where everything is linear.
inline Vector usunier(const Loss& loss, const Vector& b) {
  const auto order = descending(b);
  const Vector rho = padded_rho(loss, b.size());
  Vector shifted(b.size());
  for (std::size_t r = 0; r < b.size(); ++r) shifted[r] = b[order[r]] - rho[r];
  const Vector g = regress(shifted);
  const auto beta = [&](std::size_t r, const Rational& theta) -> Rational {
    return std::max<Rational>(b[order[r]] - theta, 0) - std::max<Rational>(g[r] - theta, 0);
  };
  const auto excess = [&](const Rational& theta) {
    Rational total = -theta;
    for (std::size_t r = 0; r < b.size(); ++r) total += beta(r, theta);
    return total;
  };
  Vector at{0, sum(rho)};
  for (const Vector* values : {&b, &g}) {
    for (const Rational& x : *values) {
      if (x > 0 && x < at[1]) at.push_back(x);
    }
  }
  std::sort(at.begin(), at.end());
  std::size_t low = 0, high = at.size() - 1;  // excess(at[low]) >= 0 >= excess(at[high])
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (excess(at[middle]) >= 0 ? low : high) = middle;
  }
  const Rational left = excess(at[low]), right = excess(at[high]);
  const Rational theta = left == right ? at[low] : Rational(at[low] + left * (at[high] - at[low]) / (left - right));
  Vector out(b.size());
  for (std::size_t r = 0; r < b.size(); ++r) out[order[r]] = beta(r, theta);
  return out;
}

// beta of the top-k family, y's left out.
inline Vector top_k(const Loss& loss, const Vector& b) {
  const std::size_t own = b.size();
  const Vector rho = padded_rho(loss, b.size() + 1);
  const Rational whole = sum(rho);
  Vector beta(b.size());
  const auto slope = [&](const Rational& zeta) {
    Vector v = b;
    v.push_back(zeta * whole);
    const auto order = descending(v);
    Vector shifted(v.size());
    for (std::size_t r = 0; r < v.size(); ++r) shifted[r] = v[order[r]] - zeta * rho[r];
    const Vector x = regress(shifted);
    Rational total = 0;
    for (std::size_t r = 0; r < v.size(); ++r) {
      total += (order[r] == own ? Rational(whole - rho[r]) : Rational(-rho[r])) * x[r];
      if (order[r] != own) beta[order[r]] = v[order[r]] - x[r];
    }
    return total;
  };
  Rational low = 0, high = 1, f_low = slope(0);
  if (f_low >= 0) return Vector(b.size(), 0);
  Rational f_high = slope(1);
  if (f_high <= 0) return beta;
  // Piecewise linear: as soon as one end of the bracket shares a piece with the root, a line through two points there
  // ends on it.
  for (int t = 0; t < 3000; ++t) {
    const Rational step = (high - low) / 16;
    const auto try_line = [&](const Rational& p, const Rational& f_p, const Rational& q, const Rational& f_q) {
      if (f_p == f_q) return false;
      const Rational root = p - f_p * (q - p) / (f_q - f_p);
      return root > low && root < high && slope(root) == 0;
    };
    const Rational left = low + step, right = high - step, middle = (low + high) / 2;
    if (try_line(low, f_low, left, slope(left)) || try_line(high, f_high, right, slope(right))) return beta;
    const Rational f_middle = slope(middle);
    if (f_middle == 0) return beta;
    (f_middle < 0 ? low : high) = middle;
    (f_middle < 0 ? f_low : f_high) = f_middle;
  }
  throw std::runtime_error("the root was not found");
}

// beta of the classes other than y, given their keys.
inline Vector project(const Loss& loss, const Vector& b) {
  return loss.family == Family::usunier ? usunier(loss, b) : top_k(loss, b);
}

// By how much beta (y's left out) misses the set, in units of sum(rho): bounds on sums, and for the top-k family the
// place of beta_y = zeta R - S. beta below 0 counts too.
inline Rational infeasibility(const Loss& loss, Vector beta) {
  std::sort(beta.begin(), beta.end(), std::greater<>());
  const Vector rho = padded_rho(loss, beta.size() + 1);
  const Rational R = sum(rho), S = sum(beta);
  Rational worst = beta.empty() ? Rational(0) : std::max<Rational>(0, -beta.back());
  Rational zeta = 0, B = 0, r = 0;
  for (std::size_t k = 0; k < beta.size(); ++k) {
    B += beta[k], r += rho[k];
    zeta = std::max<Rational>(zeta, B / r);
    worst = std::max<Rational>(worst, B - r);
  }
  if (loss.family == Family::usunier) return worst / R;
  B = 0, r = 0;
  for (std::size_t k = 0; k < beta.size(); ++k) {
    r += rho[k];
    worst = std::max<Rational>(worst, zeta * (R - r) - (S - B));
    B += beta[k];
  }
  return worst / R;
}

// max over the set of <z, beta>: the loss as a function of its margins, z_y = 0 left out.
inline Rational support(const Loss& loss, Vector z) {
  z.emplace_back(0);
  std::sort(z.begin(), z.end(), std::greater<>());
  const Vector rho = padded_rho(loss, z.size());
  Rational total = 0;
  for (std::size_t r = 0; r < z.size(); ++r) {
    total += rho[r] * (loss.family == Family::usunier ? std::max<Rational>(0, z[r]) : z[r]);
  }
  return std::max<Rational>(0, total);
}

}  // namespace topwolf::exact
