// Exact block ascent: golden optima, and the promise that blocks, weights and Gram matrix change nothing but the speed.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/clock.hpp"
#include "solve/driver.hpp"
#include "solve/solvers.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::DualRows;
using testing::PlainProblem;
using testing::Samples;
using testing::Storage;

std::unique_ptr<Engine> engine_for(const Problem& problem, bool gram, int threads = 1) {
  return make_engine(problem, {.threads = threads, .gram = gram});
}

struct Outcome {
  Vector W;
  DualRows A;
};

Outcome iterate(const Problem& problem, bool gram, const BlockOptions& options, int epochs, int threads = 1) {
  const auto engine = engine_for(problem, gram, threads);
  const auto solver = make_block_solver(*engine, {}, options);
  for (int t = 0; t < epochs; ++t) solver->step();
  solver->certify();
  return {solver->weights(), testing::dual_rows(engine->rows_of(*solver->dual()))};
}

class BlockGolden : public ::testing::TestWithParam<bool> {};

TEST_P(BlockGolden, ReachesEveryOptimumTo1e8) {
  testing::for_golden_optima([&](const Problem& problem, double optimum) {
    const auto engine = engine_for(problem, GetParam());
    const auto solver = make_block_solver(*engine, {}, {});
    const RunResult result = run(*solver, {.absolute_gap = 1e-8, .max_iterations = 200000}, Stopwatch(), {});
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.certificate.primal, optimum, 1e-8);
    EXPECT_GE(result.certificate.primal, optimum - 1e-9);
    EXPECT_LE(result.certificate.dual, optimum + 1e-9);
  });
}

INSTANTIATE_TEST_SUITE_P(WeightsAndGram, BlockGolden, ::testing::Bool());

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
      const auto engine = engine_for(problem, false);
      const auto solver = make_block_solver(*engine, {}, {});
      const RunResult result = run(*solver, {.tolerance = 1e-3, .max_iterations = 10000}, Stopwatch(), {});
      EXPECT_EQ(result.status, Status::converged) << "C = " << C;
    }
  }
}

// What a step on the face says it gained is what D gained, and A stays feasible.
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
        const auto engine = engine_for(problem, gram);
        BlockAscent& ascent = engine->block_ascent();
        ascent.begin({}, 0.0);
        const auto A = engine->make_dual();
        const auto dual = [&] { return plain.dual(testing::dual_rows(engine->rows_of(*A))); };
        for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
          ascent.begin_epoch(epoch);
          while (ascent.step(*A).rows > 0) {
          }
        }
        for (int t = 0; t < 3; ++t) {
          const double before = dual(), gain = ascent.face_step(*A, [] {}), after = dual();
          EXPECT_GE(gain, 0.0);
          EXPECT_NEAR(after - before, gain, 1e-10);
          gained += gain > 0.0 ? 1 : 0;
          EXPECT_LE(plain.infeasibility(testing::dual_rows(engine->rows_of(*A))), 1e-12);
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
    const auto engine = engine_for(problem, false);
    const auto solver = make_block_solver(*engine, {}, {.accelerate = accelerate});
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

TEST(BlockEquivalence, TheSeedAloneDecidesTheBits) {
  const Samples samples = testing::random_samples(300, 12, 7, 2);
  const Dataset data = testing::dataset_of(samples, Storage::dense32);
  const Problem problem = testing::problem_of(data, {Family::usunier, {0.5, 0.3, 0.2}, 0.1}, 0.1);
  for (const bool gram : {false, true}) {
    EXPECT_EQ(iterate(problem, gram, {.seed = 5}, 8, 2).W, iterate(problem, gram, {.seed = 5}, 8, 2).W);
    EXPECT_NE(iterate(problem, gram, {.seed = 5}, 8, 2).W, iterate(problem, gram, {.seed = 6}, 8, 2).W);
  }
}

// So large that threads share the products, the visits and the updates of batches, and the steps on the face.
TEST(BlockEquivalence, TheNumberOfThreadsChangesNoBit) {
  Samples samples = testing::random_samples(2500, 130, 140, 9);
  for (std::int64_t i = 0; i < samples.n; ++i) samples.omega.push_back(0.5 + static_cast<double>(i % 3));
  for (const Storage storage : testing::all_storages) {
    const Dataset data = testing::dataset_of(samples, storage);
    const Problem problem = testing::problem_of(data, {Family::top_k, {0.5, 0.5}, 0.1}, 1e-3, 1.0);
    const Outcome one = iterate(problem, false, {.seed = 5}, 6, 1);
    for (const int threads : {2, 3, 8}) {
      const Outcome many = iterate(problem, false, {.seed = 5}, 6, threads);
      EXPECT_EQ(one.W, many.W) << threads << " threads, storage " << static_cast<int>(storage);
    }
  }
}

// B2, on rows that are in each other's way as much as rows can be.
class Batches : public ::testing::TestWithParam<Storage> {};

TEST_P(Batches, GainWhatTheySayAndNeverLose) {
  const auto samples_of = [](int kind) {
    Samples samples = testing::random_samples(1100, 6, 130, 4);
    for (std::int64_t i = 0; i < samples.n; ++i) {
      const auto row = samples.X.begin() + i * samples.d;
      if (kind >= 1) std::copy_n(samples.X.begin(), samples.d, row);                    // all rows the same, ...
      if (kind == 2) samples.y[static_cast<std::size_t>(i)] = 0;                        // ... and their label too,
      if (kind == 3) samples.y[static_cast<std::size_t>(i)] = static_cast<int>(i % 2);  // or one of two
      if (kind == 4 && i % 2 == 1) {                                                    // x and -x with one label
        std::transform(row, row + samples.d, row, std::negate<>());
        samples.y[static_cast<std::size_t>(i)] = samples.y[static_cast<std::size_t>(i - 1)];
      }
      samples.omega.push_back(i % 7 == 0 ? 20.0 : 0.5);
    }
    return samples;
  };
  for (int kind = 0; kind <= 4; ++kind) {
    const Samples samples = samples_of(kind);
    const Dataset data = testing::dataset_of(samples, GetParam());
    for (const double smoothing : {0.0, 0.2}) {
      const Loss loss{Family::usunier, {0.7, 0.3}, smoothing};
      const Problem problem = testing::problem_of(data, loss, 1e-4, 1.0);
      const PlainProblem plain(samples, loss, 1e-4, 1.0);
      const auto engine = engine_for(problem, false, 2);
      BlockAscent& ascent = engine->block_ascent();
      ascent.begin({}, 0.0);
      const auto A = engine->make_dual();
      const auto dual = [&] { return plain.dual(testing::dual_rows(engine->rows_of(*A))); };
      double before = 0.0;
      std::int64_t largest = 0;
      for (std::int64_t epoch = 1; epoch <= 2; ++epoch) {
        ascent.begin_epoch(epoch);
        for (;;) {
          const BlockAscent::Step taken = ascent.step(*A);
          if (taken.rows == 0) break;
          largest = std::max(largest, taken.rows);
          EXPECT_GE(taken.gain, -1e-12) << "kind " << kind;
        }
        const double after = dual();
        EXPECT_GE(after, before - 1e-10) << "kind " << kind;
        before = after;
      }
      EXPECT_GT(largest, GetParam() == Storage::dense64 ? 32 : 1) << "no two groups have stepped at once";
      EXPECT_LE(plain.infeasibility(testing::dual_rows(engine->rows_of(*A))), 1e-12);
    }
  }
}

TEST_P(Batches, SayWhatEachOfThemGained) {
  Samples samples = testing::random_samples(1100, 9, 130, 4);
  const Dataset data = testing::dataset_of(samples, GetParam());
  const Loss loss{Family::top_k, {0.5, 0.5}, 0.1};
  const Problem problem = testing::problem_of(data, loss, 1e-3, 1.0);
  const PlainProblem plain(samples, loss, 1e-3, 1.0);
  const auto engine = engine_for(problem, false, 2);
  BlockAscent& ascent = engine->block_ascent();
  ascent.begin({}, 0.0);
  const auto A = engine->make_dual();
  double dual = 0.0;
  int looked = 0;
  ascent.begin_epoch(1);
  for (;;) {
    const BlockAscent::Step taken = ascent.step(*A);
    if (taken.rows == 0) break;
    dual += taken.gain;
    if (++looked % 4 == 0) {
      ASSERT_NEAR(plain.dual(testing::dual_rows(engine->rows_of(*A))), dual, 1e-10);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DenseAndSparse, Batches, ::testing::Values(Storage::dense64, Storage::csr64));

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
