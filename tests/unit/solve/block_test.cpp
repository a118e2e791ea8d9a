// Exact block ascent: golden optima, certificates recomputed naively, and the promise that blocks, weights and Gram
// matrix change nothing but the speed.

#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "data/row_lengths.hpp"
#include "solve/block.hpp"
#include "solve/driver.hpp"
#include "solve/face_ascent.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace {

using plain::Vector;
using testing::golden;
using testing::PlainProblem;
using testing::Samples;
using testing::Storage;

std::unique_ptr<BlockScores> make_scores(const Problem& problem, bool gram, int threads = 1) {
  return gram ? make_gram_scores(problem, make_gram(problem, threads), threads) : make_weights_scores(problem, threads);
}

struct Outcome {
  Certificate certificate;
  Vector W;
  DualRows A;
  std::vector<Pass> passes;
};

Outcome iterate(const Problem& problem, bool gram, const BlockOptions& options, int epochs, int threads = 1) {
  const auto engine = make_cpu_engine(problem, threads);
  const auto scores = make_scores(problem, gram, threads);
  const auto solver = make_block_solver(problem, *engine, *scores, options, threads);
  Outcome out;
  for (int t = 0; t < epochs; ++t) out.passes.push_back(solver->step());
  out.certificate = solver->certify();
  out.W = solver->weights();
  out.A = solver->dual();
  return out;
}

class BlockGolden : public ::testing::TestWithParam<bool> {};

TEST_P(BlockGolden, ReachesEveryOptimumTo1e8) {
  testing::for_golden_optima([&](const Problem& problem, double optimum) {
    const auto engine = make_cpu_engine(problem, 1);
    const auto scores = make_scores(problem, GetParam());
    const auto solver = make_block_solver(problem, *engine, *scores, {}, 1);
    const RunResult result = run(*solver, {.absolute_gap = 1e-8, .max_iterations = 200000}, Stopwatch(), {});
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.certificate.primal, optimum, 1e-8);
    EXPECT_GE(result.certificate.primal, optimum - 1e-9);
    EXPECT_LE(result.certificate.dual, optimum + 1e-9);
  });
}

INSTANTIATE_TEST_SUITE_P(WeightsAndGram, BlockGolden, ::testing::Bool());

struct Setting {
  Loss loss;
  Storage storage;
  bool gram;
};

class BlockContract : public ::testing::TestWithParam<Setting> {};

TEST_P(BlockContract, CertificateIsThatOfTheReturnedPoint) {
  const Setting& setting = GetParam();
  Samples samples = testing::random_samples(57, 11, 6, 9);
  for (std::int64_t i = 0; i < samples.n; ++i) samples.omega.push_back(i % 4 == 0 ? 2.0 : i % 7 == 0 ? 0.0 : 0.75);
  const Dataset data = testing::dataset_of(samples, setting.storage);
  const double lambda = 0.03, bias = 0.5;
  const Problem problem = testing::problem_of(data, setting.loss, lambda, bias);
  const PlainProblem plain(samples, setting.loss, lambda, bias);
  for (const int epochs : {1, 5, 30}) {
    const Outcome run = iterate(problem, setting.gram, {}, epochs, 2);
    const double primal = plain.primal(run.W), dual = plain.dual(run.A);
    EXPECT_NEAR(run.certificate.primal, primal, 1e-12 * primal);
    EXPECT_LE(run.certificate.dual, dual + 1e-12 * primal);
    EXPECT_NEAR(run.certificate.dual, dual, 1e-9 * primal);
    EXPECT_LT(plain.infeasibility(run.A), 1e-12);
    EXPECT_NEAR(run.passes.back().dual, dual, 1e-5 * primal) << "the dual that the steps add up to";
  }
}

TEST_P(BlockContract, TheDualNeverFalls) {
  const Setting& setting = GetParam();
  const Samples samples = testing::random_samples(80, 9, 5, 4);
  const Dataset data = testing::dataset_of(samples, setting.storage);
  const Outcome run = iterate(testing::problem_of(data, setting.loss, 0.01), setting.gram, {}, 40);
  for (std::size_t t = 1; t < run.passes.size(); ++t) {
    EXPECT_GE(run.passes[t].dual, run.passes[t - 1].dual - 1e-7);
  }
}

std::vector<Setting> settings() {
  const Loss losses[] = {{Family::usunier, {1.0}, 0.0},
                         {Family::top_k, Vector(3, 1.0 / 3), 0.0},
                         {Family::usunier, Vector(3, 1.0 / 3), 0.0},
                         {Family::top_k, {0.5, 0.3, 0.2}, 0.0},
                         {Family::usunier, {0.5, 0.3, 0.2}, 0.0}};
  std::vector<Setting> list;
  for (Loss loss : losses) {
    for (const double smoothing : {0.0, 0.1}) {
      loss.smoothing = smoothing;
      for (const Storage storage : testing::all_storages) {
        for (const bool gram : {false, true}) list.push_back({loss, storage, gram});
      }
    }
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, BlockContract, ::testing::ValuesIn(settings()));

void expect_same_dual(const DualRows& a, const DualRows& b, std::int64_t m, double tolerance) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Vector x = plain::dense(a[i], m), y = plain::dense(b[i], m);
    for (std::size_t j = 0; j < x.size(); ++j) ASSERT_NEAR(x[j], y[j], tolerance) << "row " << i;
  }
}

TEST(BlockEquivalence, TheSizeOfABlockChangesNoIterate) {
  const Samples samples = testing::random_samples(150, 12, 7, 2);
  const Dataset data = testing::dataset_of(samples, Storage::dense64);
  for (const Family family : {Family::usunier, Family::top_k}) {
    const Problem problem = testing::problem_of(data, {family, {0.5, 0.3, 0.2}, 0.0}, 0.02, 1.0);
    for (const bool gram : {false, true}) {
      const Outcome one = iterate(problem, gram, {.block_rows = 1}, 6);
      for (const std::int64_t rows : {8, 32}) {
        const Outcome many = iterate(problem, gram, {.block_rows = rows}, 6);
        expect_same_dual(one.A, many.A, samples.m, 1e-9);
      }
    }
  }
}

// Four rows, one of which decides at the end: an epoch in which only the others are asked is not the end.
TEST(Block, RowsAtRestAreWokenBeforeItGivesUp) {
  Samples samples{4, 2, 2, {1, 2, 3, 1, 1, 3, 4, 1}, {0, 1, 0, 1}, {}};
  for (const Storage storage : testing::all_storages) {
    const Dataset data = testing::dataset_of(samples, storage);
    for (const double C : {1.0, 10.0, 100.0}) {
      const Problem problem = testing::problem_of(data, {}, 1.0 / (4.0 * C));
      const auto engine = make_cpu_engine(problem, 1);
      const auto scores = make_weights_scores(problem, 1);
      const auto solver = make_block_solver(problem, *engine, *scores, {}, 1);
      const RunResult result = run(*solver, {.tolerance = 1e-3, .max_iterations = 10000}, Stopwatch(), {});
      EXPECT_EQ(result.status, Status::converged) << "C = " << C;
    }
  }
}

// What FaceAscent says it gained is what D gained, and A stays feasible.
TEST(FaceAscent, GainsWhatItSays) {
  int gained = 0;
  for (const auto& [family, rho] :
       {std::pair{Family::usunier, Vector{1.0}}, std::pair{Family::usunier, Vector{0.5, 0.3}},
        std::pair{Family::top_k, Vector{0.4, 0.4, 0.2}}}) {
    for (const double smoothing : {0.0, 0.3}) {
      for (const bool gram : {false, true}) {
        Samples samples = testing::random_samples(80, 12, 6, 21);
        for (std::int64_t i = 0; i < samples.n; ++i) samples.omega.push_back(0.5 + static_cast<double>(i % 3));
        const Dataset data = testing::dataset_of(samples, Storage::dense64);
        const Loss loss{family, rho, smoothing};
        const Problem problem = testing::problem_of(data, loss, 0.001, 1.0);
        const PlainProblem plain(samples, loss, 0.001, 1.0);
        const auto scores = make_scores(problem, gram);
        const auto engine = make_cpu_engine(problem, 1);
        BlockOptions options;
        options.accelerate = false;
        const auto solver = make_block_solver(problem, *engine, *scores, options, 1);
        for (int t = 0; t < 3; ++t) solver->step();
        DualRows A = solver->dual();
        const auto lengths2 = squared_lengths(problem.X, problem.bias, 1);
        FaceAscent ascent(problem, *scores->face(), lengths2, 1);
        for (int t = 0; t < 3; ++t) {
          const double before = plain.dual(A), gain = ascent.ascend(A), after = plain.dual(A);
          EXPECT_GE(gain, 0.0);
          EXPECT_NEAR(after - before, gain, 1e-10);
          gained += gain > 0.0 ? 1 : 0;
          EXPECT_LE(plain.infeasibility(A), 1e-12);
        }
      }
    }
  }
  EXPECT_GE(gained, 18);
}

TEST(FaceAscent, MakesBadlyConditionedProblemsQuick) {
  const Samples samples = testing::random_samples(200, 10, 5, 3);
  const Dataset data = testing::dataset_of(samples, Storage::dense64);
  const Problem problem = testing::problem_of(data, Loss{}, 3e-4);
  const auto epochs = [&](bool accelerate) {
    const auto engine = make_cpu_engine(problem, 1);
    const auto scores = make_scores(problem, false);
    BlockOptions options;
    options.accelerate = accelerate;
    const auto solver = make_block_solver(problem, *engine, *scores, options, 1);
    const RunResult result = run(*solver, {.tolerance = 1e-4, .max_iterations = 100000}, Stopwatch(), {});
    EXPECT_EQ(result.status, Status::converged);
    return result.iterations;
  };
  EXPECT_LT(3 * epochs(true), epochs(false));
}

TEST(BlockEquivalence, WeightsAndGramAgree) {
  const Samples samples = testing::random_samples(150, 12, 7, 2);
  const Dataset data = testing::dataset_of(samples, Storage::dense64);
  const Problem problem = testing::problem_of(data, {Family::usunier, {0.5, 0.3, 0.2}, 0.1}, 0.02, 1.0);
  expect_same_dual(iterate(problem, false, {}, 6).A, iterate(problem, true, {}, 6).A, samples.m, 1e-9);
}

TEST(BlockEquivalence, TheSeedAndTheThreadsGiveTheSameBits) {
  const Samples samples = testing::random_samples(300, 12, 7, 2);
  const Dataset data = testing::dataset_of(samples, Storage::dense32);
  const Problem problem = testing::problem_of(data, {Family::usunier, {0.5, 0.3, 0.2}, 0.1}, 0.1);
  for (const bool gram : {false, true}) {
    EXPECT_EQ(iterate(problem, gram, {.seed = 5}, 8, 2).W, iterate(problem, gram, {.seed = 5}, 8, 2).W);
    EXPECT_NE(iterate(problem, gram, {.seed = 5}, 8, 2).W, iterate(problem, gram, {.seed = 6}, 8, 2).W);
  }
}

}  // namespace
}  // namespace topwolf
