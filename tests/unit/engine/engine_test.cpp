// The engine's verbs against naive double loops, for dense and sparse features in both precisions, and its promise
// that the number of threads changes nothing.

#include <cblas.h>
#include <gtest/gtest.h>

#include "engine/blas.hpp"
#include "engine/engine.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace {

using plain::Vector;
using testing::PlainProblem;
using testing::Samples;
using testing::Storage;

struct Setting {
  Storage storage;
  Loss loss;
  double bias;
  bool costs;
  bool weighted;
};

class EngineContract : public ::testing::TestWithParam<Setting> {
 protected:
  EngineContract() : samples_(testing::random_samples(61, 13, 6, 3)) {
    const Setting& setting = GetParam();
    Rng rng(5);
    if (setting.weighted) {
      for (std::int64_t i = 0; i < samples_.n; ++i) samples_.omega.push_back(i % 5 == 0 ? 0.0 : 0.5 + rng.uniform());
    }
    for (std::int64_t e = 0; e < 36; ++e) costs_.push_back(e % 7 == 0 ? 0.0 : 2.0 * rng.uniform());
    data_ = testing::dataset_of(samples_, setting.storage);
    problem_ = testing::problem_of(data_, setting.loss, 0.02, setting.bias, cost());
    for (std::int64_t e = 0; e < problem_.m * problem_.D(); ++e) {
      W_.push_back(static_cast<double>(static_cast<float>(rng.normal())));
    }
  }

  const Vector* cost() const { return GetParam().costs ? &costs_ : nullptr; }
  PlainProblem plain() const { return {samples_, GetParam().loss, 0.02, GetParam().bias, cost()}; }
  bool single() const { return GetParam().storage == Storage::dense32 || GetParam().storage == Storage::csr32; }

  Samples samples_;
  Vector costs_, W_;
  Dataset data_;
  Problem problem_;
};

void expect_near(const Vector& a, const Vector& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t p = 0; p < a.size(); ++p) EXPECT_NEAR(a[p], b[p], tolerance);
}

TEST_P(EngineContract, LossSumIsExactInDouble) {
  const auto engine = make_cpu_engine(problem_, 2);
  const double expected = plain().loss_sum(W_);
  EXPECT_NEAR(engine->loss_sum(W_).sum, expected, 1e-12 * expected);
}

TEST_P(EngineContract, RanksAreThoseOfThePlainScores) {
  const auto engine = make_cpu_engine(problem_, 2);
  std::vector<std::int32_t> ranks;
  engine->loss_sum(W_, {nullptr, nullptr, &ranks});
  const auto n = static_cast<std::size_t>(problem_.n), m = static_cast<std::size_t>(problem_.m);
  ASSERT_EQ(ranks.size(), n);
  for (std::size_t i = 0; i < n; ++i) {
    const Vector s = plain().scores(W_, static_cast<std::int64_t>(i));
    const auto y = static_cast<std::size_t>(problem_.label(static_cast<std::int64_t>(i)));
    std::int32_t before = 0;
    for (std::size_t j = 0; j < m; ++j) before += s[j] > s[y] || (s[j] == s[y] && j < y) ? 1 : 0;
    EXPECT_EQ(ranks[i], before) << i;
  }
}

TEST_P(EngineContract, PassGivesTheLossAndTheWeightsOfItsDirections) {
  const auto engine = make_cpu_engine(problem_, 2);
  DualRows A(static_cast<std::size_t>(problem_.n)), U(A);
  Vector W_U;
  const PassSums sums = engine->pass(W_, Direction::vertex, &A, &U, W_U);
  EXPECT_NEAR(sums.phi, plain().loss_sum(W_), (single() ? 1e-5 : 1e-12) * sums.phi);
  EXPECT_LT(plain().infeasibility(U), 1e-12);
  expect_near(W_U, plain().weights_of(U), 1e-12);
  double c_u = 0.0;
  for (std::int64_t i = 0; i < problem_.n; ++i) {
    c_u -=
        samples_.weight(i) * plain::dot(plain().margins(i), plain::dense(U[static_cast<std::size_t>(i)], problem_.m));
  }
  EXPECT_NEAR(sums.c_u, c_u, 1e-12 * c_u);
  Vector W_again;
  engine->weights_of(U, W_again);
  expect_near(W_again, W_U, 1e-13);
}

// From V = 1.4 A (A_old = 0), which is not feasible, for every number of threads.
TEST_P(EngineContract, AscendGivesTheProjectedStepAndItsSums) {
  const double q = 3.0, mu = 0.4, smoothing = problem_.loss.smoothing;
  DualRows A(static_cast<std::size_t>(problem_.n)), A_old(A), A_next(A);
  Vector W_next, first;
  make_cpu_engine(problem_, 1)->pass(W_, Direction::vertex, &A_old, &A, W_next);
  for (const int threads : {1, 2, 5}) {
    const AscentSums sums = make_cpu_engine(problem_, threads)->ascend(W_, {A, A_old, mu}, q, A_next, W_next);
    AscentSums expected;
    RowScratch scratch;
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Vector s = plain().scores(W_, i), delta = plain().margins(i), v0 = plain::dense(A[at], problem_.m);
      Vector v(v0), a(v0);
      for (std::size_t j = 0; j < v.size(); ++j) {
        v[j] = (1.0 + mu) * v0[j];
        a[j] = v[j] + (-delta[j] - s[j] - smoothing * v[j]) / (q + smoothing);
      }
      SparseRow row;
      project(problem_.loss, a.data(), problem_.m, problem_.label(i), row, scratch);
      const Vector next = plain::dense(A_next[at], problem_.m);
      expect_near(next, plain::dense(row, problem_.m), single() ? 1e-5 : 1e-12);
      for (std::size_t j = 0; j < v.size(); ++j) {
        expected.c_alpha -= samples_.weight(i) * delta[j] * next[j];
        expected.alpha_norm2 += samples_.weight(i) * next[j] * next[j];
        expected.distance2 += samples_.weight(i) * (next[j] - v[j]) * (next[j] - v[j]);
      }
    }
    EXPECT_NEAR(sums.phi, plain().loss_sum(W_), (single() ? 1e-5 : 1e-12) * sums.phi);
    EXPECT_NEAR(sums.c_alpha, expected.c_alpha, 1e-12 * expected.c_alpha);
    EXPECT_NEAR(sums.alpha_norm2, expected.alpha_norm2, 1e-12 * expected.alpha_norm2);
    EXPECT_NEAR(sums.distance2, expected.distance2, 1e-12 * expected.distance2);
    expect_near(W_next, plain().weights_of(A_next), 1e-12);
    if (threads == 1) first = W_next;
    EXPECT_EQ(W_next, first);
  }
}

TEST_P(EngineContract, TheNumberOfThreadsChangesNoBit) {
  DualRows A(static_cast<std::size_t>(problem_.n)), U(A);
  Vector first;
  PassSums sums;
  for (const int threads : {1, 2, 5}) {
    const auto engine = make_cpu_engine(problem_, threads);
    Vector W_U;
    const PassSums now = engine->pass(W_, Direction::vertex, &A, &U, W_U);
    if (threads == 1) {
      first = W_U;
      sums = now;
    }
    EXPECT_EQ(W_U, first);
    EXPECT_EQ(now.phi, sums.phi);
    EXPECT_EQ(now.c_u, sums.c_u);
  }
}

std::vector<Setting> settings() {
  std::vector<Setting> list;
  for (const Storage storage : testing::all_storages) {
    list.push_back({storage, {Family::usunier, {1.0}, 0.0}, 0.0, false, false});
    list.push_back({storage, {Family::top_k, {0.5, 0.3, 0.2}, 0.0}, 1.5, true, false});
    list.push_back({storage, {Family::usunier, {0.5, 0.3, 0.2}, 0.2}, 0.0, false, true});
    list.push_back({storage, {Family::top_k, Vector(4, 0.25), 0.1}, 1.0, true, true});
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, EngineContract, ::testing::ValuesIn(settings()));

// Several panels and chunks, more columns than one strip.
TEST(Engine, LargerShapesKeepTheBitsForAnyThreadCount) {
  const Samples samples = testing::random_samples(3000, 300, 70, 1);
  for (const Storage storage : {Storage::dense32, Storage::csr32}) {
    const Dataset data = testing::dataset_of(samples, storage);
    const Loss loss{Family::usunier, {0.5, 0.3, 0.2}, 0.0};
    const Problem problem = testing::problem_of(data, loss, 0.001, 1.0);
    Rng rng(2);
    Vector W(static_cast<std::size_t>(problem.m * problem.D()));
    for (double& w : W) w = 0.1 * rng.normal();
    Vector one, three;
    const PassSums a = make_cpu_engine(problem, 1)->pass(W, Direction::vertex, nullptr, nullptr, one);
    const PassSums b = make_cpu_engine(problem, 3)->pass(W, Direction::vertex, nullptr, nullptr, three);
    EXPECT_EQ(one, three);
    EXPECT_EQ(a.phi, b.phi);
    const PlainProblem plain(samples, loss, 0.001, 1.0);
    EXPECT_NEAR(make_cpu_engine(problem, 2)->loss_sum(W).sum, plain.loss_sum(W), 1e-10 * a.phi);
  }
}

TEST(Engine, LeavesTheCallersBlasThreadsAlone) {
  const Samples samples = testing::random_samples(20, 4, 3, 1);
  const Dataset data = testing::dataset_of(samples, Storage::dense32);
  const Problem problem = testing::problem_of(data, {}, 0.1);
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  Vector W(12, 0.5), W_U;
  const auto engine = make_cpu_engine(problem, 2);
  engine->pass(W, Direction::vertex, nullptr, nullptr, W_U);
  engine->loss_sum(W);
  EXPECT_EQ(openblas_get_num_threads(), 2);
  openblas_set_num_threads(before);
}

TEST(Engine, OverlappingUsersRestoreTheCallersBlasThreads) {
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  {
    auto first = std::make_unique<SingleThreadedBlas>();
    SingleThreadedBlas second;
    first.reset();
    EXPECT_EQ(openblas_get_num_threads(), 1) << "the second is still at work";
  }
  EXPECT_EQ(openblas_get_num_threads(), 2);
  openblas_set_num_threads(before);
}

TEST(Engine, AScoreThatOverflowsIsNotASmallLoss) {
  DenseStore<double> X{{1e200, 1e200, 1e200, 1.0}, 2, 2};
  Dataset data;
  data.X = Features(FeatureStore(X));
  data.y = {0, 1};
  data.classes.names = {"a", "b"};
  const Problem problem = testing::problem_of(data, {}, 1.0);
  EXPECT_TRUE(std::isnan(make_cpu_engine(problem, 1)->loss_sum({1e200, -1e200, 0.0, 0.0}).sum));
}

}  // namespace
}  // namespace topwolf
