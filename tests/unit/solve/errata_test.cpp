// Errata 1 and 2 of the paper, the smoothed method, on a plain transcription of its Algorithm 1 whose sign and
// denominator can be chosen: as printed it fails, corrected it holds (ledger, Errata).

#include <gtest/gtest.h>

#include "support/plain_problem.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::DualRows;
using testing::PlainProblem;
using testing::Samples;

class Algorithm1 {
 public:
  Algorithm1(const Samples& samples, const Loss& loss, double lambda)
      : samples_(samples),
        loss_(loss),
        lambda_(lambda),
        plain_(samples, loss, lambda),
        A(static_cast<std::size_t>(samples.n)) {}

  // Line 5 to 9: directions at s + sign * smoothing * alpha.
  DualRows directions(double sign) const {
    const Vector W = plain_.weights_of(A);
    DualRows U(A.size());
    RowScratch scratch;
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      Vector s = plain_.scores(W, i);
      for (const auto& [j, value] : A[static_cast<std::size_t>(i)]) {
        s[static_cast<std::size_t>(j)] += sign * loss_.smoothing * value;
      }
      vertex(loss_, {}, s.data(), samples_.m, samples_.y[static_cast<std::size_t>(i)], U[static_cast<std::size_t>(i)],
             scratch);
    }
    return U;
  }

  // Line 10 and 11, the smoothing term of the denominator times `factor`.
  double line_search(const DualRows& U, double sign, double factor) const {
    const Vector W = plain_.weights_of(A);
    DualRows step(U.size());
    double slope = 0.0, step2 = 0.0;
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      mix(1.0, U[at], -1.0, A[at], step[at]);
      Vector s = plain_.scores(W, i);
      for (const auto& [j, value] : A[at]) s[static_cast<std::size_t>(j)] += sign * loss_.smoothing * value;
      const Vector delta = plain_.margins(i), move = plain::dense(step[at], samples_.m);
      slope -= plain::dot(move, delta) + plain::dot(move, s);
      step2 += plain::dot(move, move);
    }
    const Vector dW = plain_.weights_of(step);
    const double n = static_cast<double>(samples_.n);
    const double curvature = lambda_ * n * plain::dot(dW, dW) + factor * loss_.smoothing * step2;
    return std::clamp(slope / curvature, 0.0, 1.0);
  }

  DualRows moved(const DualRows& U, double gamma) const {
    DualRows out(U.size());
    for (std::size_t i = 0; i < U.size(); ++i) mix(gamma, U[i], 1.0 - gamma, A[i], out[i]);
    return out;
  }

  double gap() const { return plain_.primal(plain_.weights_of(A)) - plain_.dual(A); }
  double dual(const DualRows& rows) const { return plain_.dual(rows); }

  double best_gap(double sign, int steps) {
    double best = gap();
    for (int t = 0; t < steps; ++t) {
      const DualRows U = directions(sign);
      A = moved(U, line_search(U, sign, 1.0));
      best = std::min(best, gap());
    }
    return best;
  }

 private:
  const Samples& samples_;
  Loss loss_;
  double lambda_;
  PlainProblem plain_;

 public:
  DualRows A;
};

TEST(Erratum1, TheSmoothedScoreTakesAPlus) {
  const Samples samples = testing::golden_samples(false);
  const Loss loss{Family::usunier, {0.4, 0.3, 0.15, 0.1, 0.05}, 0.5};
  const double lambda = 1.0 / 18;
  const double corrected = Algorithm1(samples, loss, lambda).best_gap(+1.0, 1500);
  const double printed = Algorithm1(samples, loss, lambda).best_gap(-1.0, 1500);
  EXPECT_LT(corrected, 1e-3);
  EXPECT_GT(printed, 5e-3);
}

TEST(Erratum2, TheLineSearchTakesTheSmoothingItself) {
  const Samples samples = testing::golden_samples(false);
  const Loss loss{Family::usunier, {0.4, 0.3, 0.15, 0.1, 0.05}, 0.5};
  for (const double lambda_n : {0.2, 1.0, 5.0}) {
    Algorithm1 method(samples, loss, lambda_n / 18);
    for (int t = 0; t < 5; ++t) {
      const DualRows U = method.directions(+1.0);
      method.A = method.moved(U, method.line_search(U, +1.0, 1.0));
    }
    const DualRows U = method.directions(+1.0);
    const double corrected = method.line_search(U, +1.0, 1.0), printed = method.line_search(U, +1.0, 1.0 / lambda_n);
    const double best = method.dual(method.moved(U, corrected));
    for (double gamma = 0.0; gamma <= 1.0; gamma += 0.01) {
      EXPECT_LE(method.dual(method.moved(U, gamma)), best + 1e-13);
    }
    if (lambda_n == 1.0) {
      EXPECT_DOUBLE_EQ(corrected, printed);
    } else {
      EXPECT_LT(method.dual(method.moved(U, printed)), best - 1e-6) << "lambda n = " << lambda_n;
    }
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
