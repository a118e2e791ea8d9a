// N1: the matrix of a Newton step is the derivative that differences show, for every loss.
#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.hpp"
#include "support/engine_cases.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::EngineCase;
using testing::EngineKind;

Vector random_weights(const Engine& engine, double scale, std::uint64_t seed) {
  Rng rng(seed);
  Vector W(static_cast<std::size_t>(engine.geometry().dimension));
  for (double& w : W) w = scale * rng.normal();
  return W;
}

// H v, from the blocks that are written.
Vector times(const Vector& H, const Vector& v, std::int64_t D) {
  const auto size = static_cast<std::int64_t>(v.size());
  Vector out(v.size(), 0.0);
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      const bool below = i / D >= j / D;
      out[static_cast<std::size_t>(i)] +=
          H[static_cast<std::size_t>(below ? i * size + j : j * size + i)] * v[static_cast<std::size_t>(j)];
    }
  }
  return out;
}

// An entry that is nearly 0, or a bound that is nearly met, changes within the difference: such a row is no fault, and
// most directions meet none.
TEST(Newton, TheMatrixIsTheDerivativeOfTheWeightsOfTheGradients) {
  for (const EngineKind& kind : testing::engine_kinds()) {
    if (kind.single() || kind.gram) continue;
    for (const Loss& loss : testing::contract_losses()) {
      SCOPED_TRACE(std::string(kind.name) + " " + testing::name_of(loss));
      const EngineCase at(kind, loss, {.n = 23, .d = 5, .m = 6, .costs = true, .seed = 3});
      const auto engine = at.engine(2);
      NewtonRows* const rows = engine->newton();
      if (!rows) continue;
      const double extra = loss.entropic() ? 0.0 : 0.3, step = 1e-6;  // softmax is smooth by itself
      const Vector W = random_weights(*engine, 0.3, 1);
      const auto U = engine->make_dual(), other = engine->make_dual();
      Vector W_U, ahead, behind, H;
      rows->look(W, extra, *U, W_U);
      rows->derivative(*U, loss.smoothing + extra, H);
      int same = 0, directions = 0;
      for (std::uint64_t seed = 10; seed < 20; ++seed, ++directions) {
        const Vector v = random_weights(*engine, 1.0, seed), expected = times(H, v, at.problem().D());
        Vector there = W;
        for (std::size_t p = 0; p < W.size(); ++p) there[p] += step * v[p];
        rows->look(there, extra, *other, ahead);
        for (std::size_t p = 0; p < W.size(); ++p) there[p] = W[p] - step * v[p];
        rows->look(there, extra, *other, behind);
        double off = 0.0, size = 0.0;
        for (std::size_t p = 0; p < W.size(); ++p) {
          off = std::max(off, std::abs(expected[p] - (behind[p] - ahead[p]) / (2.0 * step)));
          size = std::max(size, std::abs(expected[p]));
        }
        EXPECT_GT(size, 0.0);
        same += off < 1e-6 * size ? 1 : 0;
      }
      EXPECT_GE(same, directions - 1);
    }
  }
}

// The sums of a look are those of the definitions.
TEST(Newton, ALookHasTheLossWithAndWithoutTheExtraSmoothing) {
  for (const Loss& loss : testing::contract_losses()) {
    if (loss.oracle) continue;  // has no second derivatives
    SCOPED_TRACE(testing::name_of(loss));
    const EngineCase at({"Dense64", testing::Storage::dense64}, loss, {});
    const auto engine = at.engine();
    const Vector W = random_weights(*engine, 0.3, 2);
    const auto U = engine->make_dual();
    Vector W_U, W_A;
    const double extra = loss.entropic() ? 0.0 : 0.2;
    const NewtonSums sums = engine->newton()->look(W, extra, *U, W_U);
    EXPECT_NEAR(sums.phi, static_cast<double>(engine->loss_sum(W).sum), 1e-9 * sums.phi);
    Problem smoother = at.problem();
    smoother.loss.smoothing += extra;
    engine->set_problem(smoother);
    EXPECT_NEAR(sums.smoothed, static_cast<double>(engine->loss_sum(W).sum), 1e-9 * sums.phi);
    const DualSums dual = engine->sums(*U);
    EXPECT_NEAR(sums.c_u, dual.c_alpha, 1e-9 * std::abs(dual.c_alpha));
    EXPECT_NEAR(sums.u_norm2, dual.alpha_norm2, 1e-9 * dual.alpha_norm2);
    engine->weights_of(*U, W_A);
    for (std::size_t p = 0; p < W_U.size(); ++p) EXPECT_NEAR(W_U[p], W_A[p], 1e-12 * (1.0 + std::abs(W_A[p])));
  }
}

// Of very many rows a sample counts: the matrix is nearly that of all.
TEST(Newton, ASampleOfManyRowsStandsForAll) {
  const std::int64_t n = 60000;
  Rng rng(7);
  Vector x, omega;
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < n; ++i) {
    x.push_back(rng.normal());
    y.push_back(static_cast<std::int32_t>(i % 2));
    omega.push_back(i % 100 == 0 ? 30.0 : 0.3 + rng.uniform());
  }
  Problem problem;
  problem.X = DenseView<double>{x.data(), n, 1, 1};
  problem.y = y;
  problem.omega = omega;
  problem.n = n;
  problem.d = 1;
  problem.m = 2;
  for (const double weight : omega) problem.N += weight;
  problem.lambda = 1.0 / problem.N;
  const auto engine = make_engine(problem, {.threads = 2});
  const auto U = engine->make_dual();
  Vector W_U, H;
  engine->newton()->look({0.1, -0.1}, 1.0, *U, W_U);
  engine->newton()->derivative(*U, 1.0, H);
  // At margins that the smoothing blurs every row is free, and its projector has 1/2 on the diagonal.
  double expected = 0.0;
  const SparseRows rows = engine->rows_of(*U);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool free = rows.row_begin[at + 1] > rows.row_begin[at] &&
                      std::abs(rows.values[static_cast<std::size_t>(rows.row_begin[at])]) < 1.0;
    if (free) expected += 0.5 * problem.factor(i) * x[at] * x[at];
  }
  EXPECT_NEAR(H[0], expected, 0.05 * expected);
  EXPECT_NEAR(H[2], -expected, 0.05 * expected);
  EXPECT_NE(H[0], expected);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
