// The accelerated projected gradient (ledger, A1 and A2) in the plainest words: V and every W(.) anew from dense
// rows, with no sums carried along.
#pragma once

#include <cmath>
#include <vector>

#include "support/plain_problem.hpp"

namespace topwolf::testing {

class PlainApg {
 public:
  PlainApg(const Samples& samples, const Loss& loss, double lambda, const PlainProblem& plain)
      : samples_(samples), loss_(loss), lambda_N_(lambda * samples.N()), plain_(plain) {
    for (std::int64_t i = 0; i < samples.n; ++i) {
      double length2 = 0.0;
      for (std::int64_t f = 0; f < plain.D(); ++f) length2 += plain.x(i, f) * plain.x(i, f);
      q = std::max(q, samples.weight(i) * length2 / lambda_N_);
      q_bound_ += samples.weight(i) * length2 / lambda_N_;
    }
    q_taken_ = q;
    A = A_old_ = DualRows(static_cast<std::size_t>(samples.n));
  }

  void step() {
    const double L = q + loss_.smoothing, L_taken = q_taken_ + loss_.smoothing;
    const double t_next = (1.0 + std::sqrt(1.0 + 4.0 * t * t * L / L_taken)) / 2.0;
    const double mu = (t - 1.0) / t_next;
    const DualRows V = combine(1.0 + mu, A, -mu, A_old_);
    const Vector W_V = plain_.weights_of(V);
    primal = plain_.primal(W_V);
    const DualRows next = projected(V, W_V, L);
    const DualRows change = combine(1.0, next, -1.0, V);
    const Vector dW = plain_.weights_of(change);
    curvature = lambda_N_ * plain::dot(dW, dW) / weighted_norm2(change);
    taken = false;
    if (curvature > q && q < q_bound_) {
      ++refusals;
      q = std::min(2.0 * q, q_bound_);
    } else if (plain_.dual(next) > plain_.dual(A)) {
      taken = true;
      A_old_ = A;
      A = next;
      t = t_next;
      q_taken_ = q;
      q *= 0.95;
    } else {
      ++restarts;
      t = 1.0;
    }
  }

  DualRows A;
  double q = 0.0, t = 1.0;
  double primal = 0.0;     // at W(V)
  double curvature = 0.0;  // along the last step tried
  bool taken = false;
  int refusals = 0, restarts = 0;

 private:
  DualRows combine(double p, const DualRows& B, double r, const DualRows& C) const {
    DualRows out(B.size());
    for (std::size_t i = 0; i < B.size(); ++i) {
      const Vector b = plain::dense(B[i], samples_.m), c = plain::dense(C[i], samples_.m);
      for (std::size_t j = 0; j < b.size(); ++j) out[i].push_back({static_cast<std::int32_t>(j), p * b[j] + r * c[j]});
    }
    return out;
  }

  DualRows projected(const DualRows& V, const Vector& W_V, double L) const {
    DualRows out(V.size());
    RowScratch scratch;
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Vector s = plain_.scores(W_V, i), delta = plain_.margins(i);
      Vector a = plain::dense(V[at], samples_.m);
      for (std::size_t j = 0; j < a.size(); ++j) a[j] += (-delta[j] - s[j] - loss_.smoothing * a[j]) / L;
      project(loss_, a.data(), samples_.m, samples_.y[at], out[at], scratch);
    }
    return out;
  }

  double weighted_norm2(const DualRows& B) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      sum += samples_.weight(i) * squared_norm(B[static_cast<std::size_t>(i)]);
    }
    return sum;
  }

  const Samples& samples_;
  Loss loss_;
  double lambda_N_;
  const PlainProblem& plain_;
  DualRows A_old_;
  double q_taken_ = 0.0, q_bound_ = 0.0;
};

}  // namespace topwolf::testing
