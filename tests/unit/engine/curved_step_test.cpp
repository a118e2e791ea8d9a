// One example whose classes are coupled (L8): what a step says it gains, it gains, and it never loses.

#include <gtest/gtest.h>

#include "engine/host/curved_step.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;

// D over one example: <c - s, alpha> less the curvature around where it began.
double part_of_dual(const Loss& loss, const Vector& delta, const Vector& s, const Vector& K, double q,
                    const Vector& begin, const Vector& alpha) {
  double value = 0.0;
  const std::size_t m = s.size();
  for (std::size_t a = 0; a < m; ++a) {
    value -= (delta[a] + s[a]) * alpha[a] + 0.5 * loss.smoothing * alpha[a] * alpha[a];
    for (std::size_t b = 0; b < m; ++b) {
      value -= 0.5 * q * (alpha[a] - begin[a]) * K[a * m + b] * (alpha[b] - begin[b]);
    }
  }
  return value;
}

// psi with <psi(x, j), psi(x, j')> = K_jj' times ||x||^2; nobody asks for its scores.
class Coupled final : public BlockScores {
 public:
  Coupled(const Vector& K, std::int64_t m) : K_(K), m_(m) {}
  bool curved() const override { return true; }
  void spread(std::int64_t, RowView change, Vector& scores) override {
    scores.assign(static_cast<std::size_t>(m_), 0.0);
    for (const auto& [b, value] : change) {
      for (std::int64_t a = 0; a < m_; ++a) {
        scores[static_cast<std::size_t>(a)] += K_[static_cast<std::size_t>(a * m_ + b)] * value;
      }
    }
  }
  std::int64_t group_rows() const override { return 1; }
  void load(std::span<const std::int64_t>, std::int64_t, Vector&, Vector&) override {}
  double add(std::span<const std::int64_t>, const std::vector<SparseRow>&, double) override { return 0.0; }
  void reset(const Vector&, const Dual&) override {}
  void scale(double) override {}
  void exchange(State&) override {}

 private:
  const Vector& K_;
  std::int64_t m_;
};

TEST(CurvedStep, GainsWhatItSaysAndNeverLoses) {
  int moved = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const std::int64_t m = 2 + static_cast<std::int64_t>(rng.below(8)),
                       p = 1 + static_cast<std::int64_t>(rng.below(10));
    const testing::Samples samples = testing::random_samples(m + 3, 4, m, seed);
    const Dataset data = testing::dataset_of(samples, testing::Storage::dense64);
    LossSpec spec = parse_loss(seed % 3 == 0 ? "max-hinge" : seed % 3 == 1 ? "weighted-usunier" : "weighted-top-k");
    spec.smoothing = seed % 2 == 0 ? 0.0 : 0.3;
    const Problem problem = testing::problem_of(data, resolve_loss(spec, m), 0.05);
    Vector phi;
    for (std::int64_t e = 0; e < m * p; ++e) phi.push_back(rng.normal() * (e % p == 0 ? 3.0 : 1.0));
    Vector K(static_cast<std::size_t>(m * m), 0.0);
    for (std::int64_t a = 0; a < m; ++a) {
      for (std::int64_t b = 0; b < m; ++b) {
        for (std::int64_t c = 0; c < p; ++c) {
          K[static_cast<std::size_t>(a * m + b)] +=
              phi[static_cast<std::size_t>(a * p + c)] * phi[static_cast<std::size_t>(b * p + c)];
        }
      }
    }
    const std::int64_t i = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(samples.n - 1)));
    Coupled scores(K, m);
    Vector S(static_cast<std::size_t>(m));
    for (double& value : S) value = rng.normal();
    double longest2 = 0.0, coupling = 1.0;
    for (std::int64_t a = 0; a < m; ++a) {
      longest2 = std::max(longest2, K[static_cast<std::size_t>(a * m + a)]);
      double sum = 0.0;
      for (std::int64_t b = 0; b < m; ++b) sum += std::abs(K[static_cast<std::size_t>(a * m + b)]);
      coupling = std::max(coupling, sum / std::max(longest2, 1e-300));
    }
    const double length2 = 0.5 + rng.uniform(), q = problem.factor(i) * length2;  // of x
    const Vector lengths2(static_cast<std::size_t>(samples.n), length2 * longest2);
    CurvedStep step(lengths2, coupling);
    RowScratch scratch;
    SparseRow alpha, best;
    const Vector delta = plain::unit_margins(static_cast<std::size_t>(m), static_cast<std::size_t>(problem.label(i)));
    for (int visit = 0; visit < 3; ++visit) {
      const Vector s = S, before = plain::dense(alpha, m);
      const double share = gap_share(problem.loss, {}, S.data(), m, problem.label(i), alpha, best, scratch);
      const double gain = step.take(problem, scores, i, S.data(), q, share, alpha, scratch);
      const Vector after = plain::dense(alpha, m);
      const double change = part_of_dual(problem.loss, delta, s, K, q, before, after) -
                            part_of_dual(problem.loss, delta, s, K, q, before, before);
      EXPECT_NEAR(gain, change, 1e-10 * (1.0 + std::abs(change))) << seed;
      EXPECT_GE(gain, 0.0) << seed;
      EXPECT_LE(plain::infeasibility(problem.loss, after, static_cast<std::size_t>(problem.label(i))), 1e-12) << seed;
      moved += gain > 0.0 ? 1 : 0;
      for (std::int64_t a = 0; a < m; ++a) {  // the scores it leaves are those of the new alpha
        double expected = s[static_cast<std::size_t>(a)];
        for (std::int64_t b = 0; b < m; ++b) {
          const auto at = static_cast<std::size_t>(b);
          expected += q * K[static_cast<std::size_t>(a * m + b)] * (after[at] - before[at]);
        }
        EXPECT_NEAR(S[static_cast<std::size_t>(a)], expected, 1e-9 * (1.0 + std::abs(expected))) << seed;
      }
    }
  }
  EXPECT_GT(moved, 200);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
