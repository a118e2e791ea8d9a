#include "loss/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/kernels.hpp"
#include "loss/select.hpp"

namespace topwolf {
namespace {

// A beta below this is nothing beside the rounding of their sum.
constexpr double smallest = 0x1p-60;

// p, the maximiser, and log p, where it is no further below 0 than exponentials go; returns Phi. No digit is lost where
// the example's own class is all but certain: Phi is then T log(1 + what is left).
template <class T>
double find_point(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                  std::vector<double>& log_p, std::vector<double>& p) {
  constexpr double far = -1e4;
  const auto size = static_cast<std::size_t>(m), own = static_cast<std::size_t>(y);
  margin_keys(delta, s, m, -static_cast<double>(s[y]), 1.0 / loss.temperature, log_p);
  log_p[own] = 0.0;
  const auto top = std::max_element(log_p.begin(), log_p.end());
  const double largest = *top;
  const auto at = static_cast<std::size_t>(top - log_p.begin());
  for (double& value : log_p) value = std::max(value - largest, far);
  p.resize(size);
  kernels().exponentials(log_p.data(), m, p.data());
  p[at] = 0.0;
  double rest = 0.0;
  for (const double value : p) rest += value;
  p[at] = 1.0;
  const double log_sum = std::log1p(rest), share = 1.0 / (1.0 + rest);
  for (std::size_t j = 0; j < size; ++j) {
    log_p[j] -= log_sum;
    p[j] *= share;
  }
  return loss.temperature * (largest + log_sum);
}

void write_row(const std::vector<double>& beta, std::int64_t y, SparseRow& alpha) {
  alpha.clear();
  double sum = 0.0;
  std::size_t own = 0;
  for (std::size_t j = 0; j < beta.size(); ++j) {
    if (static_cast<std::int64_t>(j) == y) {
      own = alpha.size();
      alpha.push_back({static_cast<std::int32_t>(y), 0.0});
    } else if (beta[j] >= smallest) {
      sum += beta[j];
      alpha.push_back({static_cast<std::int32_t>(j), -beta[j]});
    }
  }
  alpha[own].value = sum;
  if (alpha.size() == 1) alpha.clear();
}

// beta of all classes.
void read_row(RowView alpha, std::int64_t m, std::int64_t y, std::vector<double>& beta) {
  beta.assign(static_cast<std::size_t>(m), 0.0);
  double sum = 0.0;
  for (const auto& [j, value] : alpha) {
    beta[static_cast<std::size_t>(j)] = -value;
    if (j != y) sum -= value;
  }
  beta[static_cast<std::size_t>(y)] = 1.0 - sum;
}

// The root of w + log w = v, within a hundredth of it, for all v; positive.
void guess_roots(const std::vector<double>& v, std::vector<double>& w, std::vector<double>& scratch) {
  constexpr double large = 30.0, little = 1e-9;
  const auto m = static_cast<std::int64_t>(v.size());
  w.resize(v.size());
  scratch.resize(v.size());
  for (std::size_t j = 0; j < v.size(); ++j) scratch[j] = std::min(v[j], large);
  kernels().exponentials(scratch.data(), m, scratch.data());
  for (std::size_t j = 0; j < v.size(); ++j) w[j] = 1.0 + scratch[j];
  kernels().logarithms(w.data(), m, w.data());
  for (std::size_t j = 0; j < v.size(); ++j) {  // log(1 + e^v)
    w[j] = v[j] >= large ? v[j] : scratch[j] < little ? scratch[j] : w[j];
    scratch[j] = 1.0 + w[j];
  }
  kernels().logarithms(scratch.data(), m, scratch.data());
  for (std::size_t j = 0; j < v.size(); ++j) w[j] *= 1.0 - scratch[j] / (2.0 + scratch[j]);
}

// The beta on the simplex with log beta_j + kappa beta_j = x_j - nu, by Newton's method on beta and nu together, which
// begins within a hundredth of the roots for nu = 0. False where it does not arrive.
bool solve(double kappa, const std::vector<double>& x, std::vector<double>& beta, std::vector<double>& rate,
           std::vector<double>& scratch) {
  constexpr int most_iterations = 100;
  constexpr double enough = 1e-12;    // of what a step gains, in units of T; the next one gains about its square
  constexpr double rounding = 1e-15;  // of kappa beta, beside which nothing else can be told
  const auto m = static_cast<std::int64_t>(x.size());
  const double log_kappa = std::log(kappa);
  rate.resize(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) rate[j] = x[j] + log_kappa;
  guess_roots(rate, beta, scratch);
  for (double& value : beta) value /= kappa;
  double nu = 0.0;
  for (int t = 0; t < most_iterations; ++t) {
    kernels().logarithms(beta.data(), m, scratch.data());
    double sum = 0.0, rates = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      rate[j] = beta[j] / (1.0 + kappa * beta[j]);
      scratch[j] = rate[j] * (x[j] - nu - scratch[j] - kappa * beta[j]);
      sum += beta[j] + scratch[j];
      rates += rate[j];
    }
    const double change = (sum - 1.0) / rates;
    if (!std::isfinite(change)) return false;
    nu += change;
    double gain = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double step = scratch[j] - rate[j] * change;
      if (rate[j] > 0.0) gain += step * step / rate[j];
      // A tangent may end below 0; the root does not.
      beta[j] = std::max(beta[j] + step, beta[j] * 0x1p-4);
    }
    if (gain > enough * (1.0 + kappa * rounding * rounding)) continue;
    const double total = 1.0 / std::accumulate(beta.begin(), beta.end(), 0.0);
    for (double& value : beta) value *= total;
    return std::isfinite(total);
  }
  return false;
}

}  // namespace

template <class T>
VertexValue softmax_point(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                          SparseRow& u, RowScratch& scratch) {
  const double phi = find_point(loss, delta, s, m, y, scratch.a, scratch.key);
  write_row(scratch.key, y, u);
  return {phi, worth(loss, delta, y, u, scratch)};
}

template <class T>
double softmax_value(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                     RowScratch& scratch) {
  return find_point(loss, delta, s, m, y, scratch.a, scratch.key);
}

// In units of T: log beta_j + kappa beta_j = log p_j + kappa beta_j(before) - nu.
template <class T>
bool softmax_step(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, double q,
                  RowView alpha, SparseRow& next, RowScratch& scratch) {
  constexpr double least = 1e-13, most = 1e13;  // of the curvature beside the entropy's
  const double kappa = q / loss.temperature;
  if (!(kappa <= most)) return false;
  auto &x = scratch.a, &beta = scratch.key;
  find_point(loss, delta, s, m, y, x, beta);
  if (kappa >= least) {
    double sum = 0.0;
    for (const auto& [j, value] : alpha) {
      if (j == y) continue;
      x[static_cast<std::size_t>(j)] -= kappa * value;
      sum -= value;
    }
    x[static_cast<std::size_t>(y)] += kappa * (1.0 - sum);
    if (!solve(kappa, x, beta, scratch.copy, scratch.more)) {
      next.assign(alpha.begin(), alpha.end());
      return true;
    }
  }
  write_row(beta, y, next);
  return true;
}

// Each term of the divergence is at least 0 in this form: beta log(beta / p) - beta + p.
template <class T>
double softmax_share(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                     RowView alpha, RowScratch& scratch) {
  auto &log_p = scratch.a, &p = scratch.key, &beta = scratch.copy, &log_beta = scratch.more;
  find_point(loss, delta, s, m, y, log_p, p);
  read_row(alpha, m, y, beta);
  log_beta.resize(beta.size());
  for (std::size_t j = 0; j < beta.size(); ++j) log_beta[j] = std::max(beta[j], smallest);
  kernels().logarithms(log_beta.data(), m, log_beta.data());
  double share = 0.0;
  for (std::size_t j = 0; j < beta.size(); ++j) {
    const double of_beta = beta[j] > 0.0 ? beta[j] * (log_beta[j] - log_p[j]) : 0.0;
    share += of_beta - beta[j] + p[j];
  }
  share *= loss.temperature;
  return std::isfinite(share) ? std::max(0.0, share) : std::numeric_limits<double>::infinity();
}

namespace {

// T H(beta), not rounded up. What can be off: a few roundings of every term, and those of 1 - beta_y, which count for
// |log beta_y| times as much, but vanish with the sum they come from.
double entropy_floor(const Loss& loss, std::int64_t y, RowView alpha, RowScratch& scratch) {
  auto &beta = scratch.copy, &log_beta = scratch.more;
  beta.clear();
  long double sum = 0.0L;
  for (const auto& [j, value] : alpha) {
    if (j == y || !(value < 0.0)) continue;
    beta.push_back(-value);
    sum -= value;
  }
  if (beta.empty()) return 0.0;
  log_beta.resize(beta.size());
  for (std::size_t e = 0; e < beta.size(); ++e) log_beta[e] = std::max(beta[e], std::numeric_limits<double>::min());
  kernels().logarithms(log_beta.data(), static_cast<std::int64_t>(beta.size()), log_beta.data());
  long double entropy = 0.0L;
  // A beta above 1, which a row may have by rounding, takes away what it would.
  for (std::size_t e = 0; e < beta.size(); ++e) entropy -= beta[e] * log_beta[e];
  const long double own = 1.0L - sum;
  if (own > 0.0L) entropy -= own * (sum < 0.5L ? std::log1p(-sum) : std::log(own));
  constexpr long double terms = 8.0L * std::numeric_limits<double>::epsilon();
  const long double sums =
      50.0L * static_cast<long double>(beta.size() + 4) * std::numeric_limits<long double>::epsilon() * sum;
  entropy -= terms * std::abs(entropy) + sums;
  return static_cast<double>(std::max(0.0L, loss.temperature * entropy));
}

}  // namespace

double worth(const Loss& loss, const RowMargins& delta, std::int64_t y, RowView alpha, RowScratch& scratch) {
  const double linear = dot_c(delta, y, alpha);
  return loss.entropic() ? linear + entropy_floor(loss, y, alpha, scratch) : linear;
}

#define TOPWOLF_FOR(T)                                                                                                 \
  template VertexValue softmax_point(const Loss&, const RowMargins&, const T*, std::int64_t, std::int64_t, SparseRow&, \
                                     RowScratch&);                                                                     \
  template double softmax_value(const Loss&, const RowMargins&, const T*, std::int64_t, std::int64_t, RowScratch&);    \
  template bool softmax_step(const Loss&, const RowMargins&, const T*, std::int64_t, std::int64_t, double, RowView,    \
                             SparseRow&, RowScratch&);                                                                 \
  template double softmax_share(const Loss&, const RowMargins&, const T*, std::int64_t, std::int64_t, RowView,         \
                                RowScratch&);
TOPWOLF_FOR(float)
TOPWOLF_FOR(double)
#undef TOPWOLF_FOR

}  // namespace topwolf
