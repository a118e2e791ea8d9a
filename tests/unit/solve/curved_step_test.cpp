// One example whose classes are coupled (L8): what a step says it gains, it gains, and it never loses.

#include <gtest/gtest.h>

#include "engine/class_map.hpp"
#include "solve/curved_step.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace {

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
    const auto map = std::make_shared<ClassMap>(DenseView<double>{phi.data(), m, p, p});
    const auto engine = make_class_engine(problem, map, 1);
    const auto scores = make_class_scores(problem, map, make_weights_scores(problem, 1), false, 1);
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
    const std::int64_t rows[] = {i};
    Vector S, G;
    scores->load(rows, S, G);
    for (double& s : S) s = rng.normal();
    const double q = problem.factor(i) * G[0];
    CurvedStep step(engine->geometry());
    RowScratch scratch;
    SparseRow alpha, best;
    const Vector delta = plain::unit_margins(static_cast<std::size_t>(m), static_cast<std::size_t>(problem.label(i)));
    for (int visit = 0; visit < 3; ++visit) {
      const Vector s = S, before = plain::dense(alpha, m);
      const double share = gap_share(problem.loss, {}, S.data(), m, problem.label(i), alpha, best, scratch);
      const double gain = step.take(problem, *scores, i, S.data(), q, share, alpha, scratch);
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

}  // namespace
}  // namespace topwolf
