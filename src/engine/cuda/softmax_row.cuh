// Softmax (L10) of one row by one warp: loss/softmax.cpp says what is computed and why it arrives.
#pragma once

#include "engine/cuda/warp_row.cuh"

namespace topwolf::cuda {

class SoftmaxRow {
 public:
  // `more`: 3 m numbers, the warp's own. beta is where the row has its keys.
  __device__ SoftmaxRow(WarpRow& row, double* more)
      : m_(row.m), row_(row), beta_(row.key), x_(more), rate_(more + m_), next_(more + 2 * m_) {}

  // p, the maximiser, into beta, and log p; returns Phi.
  template <class R>
  __device__ double find_point(const LossView& loss, const RowMargins& delta, const R* s, std::int64_t y) {
    constexpr double far = -1e4;
    row_.fill(delta, s, -static_cast<double>(s[y]), 1.0 / loss.temperature, y, 0.0);
    const double largest = row_.largest();
    const std::int64_t top = first_of(largest);
    double rest = 0.0;
    for (std::int64_t j = lane(); j < m_; j += 32) {
      x_[j] = fmax(beta_[j] - largest, far);
      beta_[j] = j == top ? 1.0 : exp(x_[j]);
      rest += j == top ? 0.0 : beta_[j];
    }
    rest = warp_sum(rest);
    const double log_sum = log1p(rest), share = 1.0 / (1.0 + rest);
    for (std::int64_t j = lane(); j < m_; j += 32) {
      x_[j] -= log_sum;
      beta_[j] *= share;
    }
    __syncwarp();
    return loss.temperature * (largest + log_sum);
  }

  // G2, after find_point: T times the divergence of alpha's beta from p. Each term is at least 0: beta log(beta / p) -
  // beta + p, of which most classes have p alone.
  __device__ double share(const LossView& loss, std::int64_t y, const AlphaRow& alpha) {
    double sum = 0.0, left = 0.0;
    for (std::int64_t j = lane(); j < m_; j += 32) sum += beta_[j];
    for_others(alpha, y, [&](std::int32_t j, double beta) {
      sum += divergence(beta, x_[j]);
      left += beta;
    });
    const double own = 1.0 - warp_sum(left);
    sum = warp_sum(sum) + divergence(own, x_[y]);
    const double found = loss.temperature * sum;
    return isfinite(found) ? fmax(0.0, found) : std::numeric_limits<double>::infinity();
  }

  // L6 with the entropy in it, after find_point. False where it does not arrive.
  __device__ bool step(double kappa, std::int64_t y, const AlphaRow& alpha) {
    constexpr double least = 1e-13;  // of the curvature beside the entropy's
    if (kappa < least) return true;
    double left = 0.0;
    for_others(alpha, y, [&](std::int32_t j, double beta) {
      x_[j] += kappa * beta;
      left += beta;
    });
    left = warp_sum(left);
    if (lane() == 0) x_[y] += kappa * (1.0 - left);
    __syncwarp();
    return solve(kappa);
  }

  // beta of the classes besides y into row.raw; returns how many they are, and their sum.
  __device__ std::int64_t write(std::int64_t y, double& beta_sum) {
    row_.choose_room(m_);
    std::int64_t size = 0;
    double sum = 0.0;
    for (std::int64_t from = 0; from < m_; from += 32) {
      const std::int64_t j = from + lane();
      const bool wanted = j < m_ && j != y && beta_[j] >= smallest;
      const unsigned mask = __ballot_sync(~0u, wanted);
      if (wanted) {
        row_.raw[size + __popc(mask & ((1u << lane()) - 1))] = {beta_[j], static_cast<std::int32_t>(j)};
        sum += beta_[j];
      }
      size += __popc(mask);
    }
    __syncwarp();
    beta_sum = warp_sum(sum);
    return size;
  }

  // H(beta) of alpha: the terms of the classes besides y, and that of y.
  __device__ static double entropy_term(double beta) { return beta > 0.0 ? -beta * log(beta) : 0.0; }
  __device__ static double own_term(double sum) {
    const double own = 1.0 - sum;
    return own > 0.0 ? -own * (sum < 0.5 ? log1p(-sum) : log(own)) : 0.0;
  }

 private:
  // A beta below this is nothing beside the rounding of their sum.
  static constexpr double smallest = 0x1p-60;

  __device__ static double divergence(double beta, double log_p) {
    return (beta > 0.0 ? beta * (log(fmax(beta, smallest)) - log_p) : 0.0) - beta;
  }

  template <class Visit>
  __device__ static void for_others(const AlphaRow& alpha, std::int64_t y, const Visit& visit) {
    for (std::int32_t e = lane(); e < alpha.size; e += 32) {
      if (alpha.column[e] != y) visit(alpha.column[e], -alpha.value[e]);
    }
  }

  __device__ std::int64_t first_of(double value) const {
    std::int32_t first = 0x7fffffff;
    for (std::int64_t j = lane(); j < m_; j += 32) {
      if (beta_[j] == value && j < first) first = static_cast<std::int32_t>(j);
    }
    return __reduce_min_sync(~0u, first);
  }

  // The root of w + log w = v, within a hundredth of it, for all v; positive.
  __device__ static double guess_root(double v) {
    constexpr double large = 30.0, little = 1e-9;
    const double e = exp(fmin(v, large)), w = v >= large ? v : e < little ? e : log(1.0 + e);
    const double l = log(1.0 + w);
    return w * (1.0 - l / (2.0 + l));
  }

  // The beta on the simplex with log beta_j + kappa beta_j = x_j - nu, by Newton's method on beta and nu together,
  // which begins within a hundredth of the roots for nu = 0.
  __device__ bool solve(double kappa) {
    constexpr int most_iterations = 100;
    constexpr double enough = 1e-12;    // of what a step gains, in units of T; the next one gains about its square
    constexpr double rounding = 1e-15;  // of kappa beta, beside which nothing else can be told
    const double log_kappa = log(kappa);
    for (std::int64_t j = lane(); j < m_; j += 32) beta_[j] = guess_root(x_[j] + log_kappa) / kappa;
    double nu = 0.0;
    for (int t = 0; t < most_iterations; ++t) {
      double sum = 0.0, rates = 0.0;
      for (std::int64_t j = lane(); j < m_; j += 32) {
        rate_[j] = beta_[j] / (1.0 + kappa * beta_[j]);
        next_[j] = rate_[j] * (x_[j] - nu - log(beta_[j]) - kappa * beta_[j]);
        sum += beta_[j] + next_[j];
        rates += rate_[j];
      }
      const double change = (warp_sum(sum) - 1.0) / warp_sum(rates);
      if (!isfinite(change)) return false;
      nu += change;
      double gain = 0.0, total = 0.0;
      for (std::int64_t j = lane(); j < m_; j += 32) {
        const double step = next_[j] - rate_[j] * change;
        if (rate_[j] > 0.0) gain += step * step / rate_[j];
        // A tangent may end below 0; the root does not.
        beta_[j] = fmax(beta_[j] + step, beta_[j] * 0x1p-4);
        total += beta_[j];
      }
      if (warp_sum(gain) > enough * (1.0 + kappa * rounding * rounding)) continue;
      total = 1.0 / warp_sum(total);
      for (std::int64_t j = lane(); j < m_; j += 32) beta_[j] *= total;
      __syncwarp();
      return isfinite(total);
    }
    return false;
  }

  const std::int64_t m_;
  WarpRow& row_;
  double *beta_, *x_, *rate_, *next_;
};

}  // namespace topwolf::cuda
