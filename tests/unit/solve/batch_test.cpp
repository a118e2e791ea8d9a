// LSFW, StdFW and PG: golden optima, and the places where theory says that two methods are one.

#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "solve/driver.hpp"
#include "solve/solvers.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::golden;
using testing::PlainProblem;
using testing::Samples;
using testing::Storage;

// `steps` iterations; the points visited and their primal values.
struct Trajectory {
  std::vector<Pass> passes;
  Certificate certificate;
  Vector W;
};

Trajectory iterate(const Problem& problem, BatchOptions options, int steps) {
  const auto engine = make_engine(problem, {.threads = options.threads});
  const auto solver = make_batch_solver(*engine, {}, options);
  Trajectory out;
  for (int t = 0; t < steps; ++t) out.passes.push_back(solver->step());
  out.certificate = solver->certify();
  out.W = solver->weights();
  return out;
}

TEST(Lsfw, ReachesEveryGoldenOptimum) {
  testing::for_golden_optima([&](const Problem& problem, double optimum) {
    const auto engine = make_engine(problem, {.threads = 1});
    const auto solver = make_batch_solver(*engine, {}, lsfw_options);
    const RunResult result = run(*solver, {.absolute_gap = 1e-4, .max_iterations = 2000000}, Stopwatch(), {});
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.certificate.primal, optimum, 1e-4);
    EXPECT_GE(result.certificate.primal, optimum - 1e-9);
    EXPECT_LE(result.certificate.dual, optimum + 1e-9);
  });
}

class BatchEquivalence : public ::testing::Test {
 protected:
  Samples samples_ = testing::random_samples(80, 9, 5, 21);
  Dataset data_ = testing::dataset_of(samples_, Storage::dense64);
  Problem problem(const Loss& loss) const { return testing::problem_of(data_, loss, 0.05); }
};

void expect_same_path(const Trajectory& a, const Trajectory& b, double tolerance) {
  ASSERT_EQ(a.passes.size(), b.passes.size());
  for (std::size_t t = 0; t < a.passes.size(); ++t) {
    EXPECT_NEAR(a.passes[t].primal, b.passes[t].primal, tolerance) << "pass " << t + 1;
    EXPECT_NEAR(a.passes[t].dual, b.passes[t].dual, tolerance) << "pass " << t + 1;
  }
}

TEST_F(BatchEquivalence, PgWithoutItsBallIsFrankWolfeWithHarmonicSteps) {
  const Problem p = problem({Family::usunier, {0.5, 0.3, 0.2}, 0.0});
  BatchOptions pg = pg_options;
  pg.ball = false;
  const BatchOptions fw{.rule = StepRule::harmonic};
  const Trajectory a = iterate(p, pg, 50), b = iterate(p, fw, 50);
  EXPECT_EQ(a.W, b.W) << "to the last digit";
  expect_same_path(a, b, 0.0);
}

TEST_F(BatchEquivalence, MaxHingeIsTop1IsUsunier1) {
  const Trajectory top1 = iterate(problem({Family::top_k, {1.0}, 0.0}), lsfw_options, 40);
  const Trajectory usunier1 = iterate(problem({Family::usunier, {1.0}, 0.0}), lsfw_options, 40);
  EXPECT_EQ(top1.W, usunier1.W);
  expect_same_path(top1, usunier1, 0.0);
}

TEST_F(BatchEquivalence, DenseIsSparse) {
  const Dataset csr = testing::dataset_of(samples_, Storage::csr64);
  const Loss loss{Family::top_k, {0.5, 0.3, 0.2}, 0.0};
  const Trajectory a = iterate(problem(loss), lsfw_options, 30);
  const Trajectory b = iterate(testing::problem_of(csr, loss, 0.05), lsfw_options, 30);
  expect_same_path(a, b, 1e-11);
}

TEST_F(BatchEquivalence, SmoothingFadesAway) {
  Loss loss{Family::usunier, {0.5, 0.3, 0.2}, 0.0};
  const auto best = [&](double smoothing) {
    loss.smoothing = smoothing;
    return iterate(problem(loss), lsfw_options, 800).certificate;
  };
  const Certificate plain = best(0.0), tiny = best(1e-7), large = best(0.5);
  EXPECT_NEAR(tiny.primal, plain.primal, 2e-3 * plain.primal);
  EXPECT_LT(large.primal, plain.primal - 1e-2);
}

TEST_F(BatchEquivalence, ARepeatedRowIsARowOfWeightTwo) {
  Samples repeated = samples_, weighted = samples_;
  for (std::int64_t i = 0; i < 10; ++i) {
    repeated.y.push_back(samples_.y[static_cast<std::size_t>(i)]);
    repeated.X.insert(repeated.X.end(), samples_.X.begin() + i * samples_.d, samples_.X.begin() + (i + 1) * samples_.d);
    ++repeated.n;
  }
  for (std::int64_t i = 0; i < weighted.n; ++i) weighted.omega.push_back(i < 10 ? 2.0 : 1.0);
  const Dataset a = testing::dataset_of(repeated, Storage::dense64),
                b = testing::dataset_of(weighted, Storage::dense64);
  for (const double smoothing : {0.0, 0.1}) {
    const Loss loss{Family::top_k, {0.5, 0.3, 0.2}, smoothing};
    expect_same_path(iterate(testing::problem_of(a, loss, 0.05), lsfw_options, 30),
                     iterate(testing::problem_of(b, loss, 0.05), lsfw_options, 30), 1e-10);
  }
}

TEST_F(BatchEquivalence, ARowOfWeightZeroIsAbsent) {
  Samples without = samples_, weighted = samples_;
  without.n -= 10;
  without.y.resize(static_cast<std::size_t>(without.n));
  without.X.resize(static_cast<std::size_t>(without.n * without.d));
  for (std::int64_t i = 0; i < weighted.n; ++i) weighted.omega.push_back(i < without.n ? 1.0 : 0.0);
  const Dataset a = testing::dataset_of(without, Storage::dense64), b = testing::dataset_of(weighted, Storage::dense64);
  const Loss loss{Family::usunier, {1.0}, 0.0};
  expect_same_path(iterate(testing::problem_of(a, loss, 0.05), lsfw_options, 30),
                   iterate(testing::problem_of(b, loss, 0.05), lsfw_options, 30), 1e-10);
}

TEST_F(BatchEquivalence, TheNumberOfThreadsChangesNoBit) {
  for (const double smoothing : {0.0, 0.1}) {
    const Problem p = problem({Family::usunier, {0.5, 0.3, 0.2}, smoothing});
    BatchOptions options = lsfw_options;
    const Trajectory one = iterate(p, options, 20);
    options.threads = 3;
    const Trajectory three = iterate(p, options, 20);
    EXPECT_EQ(one.W, three.W);
    EXPECT_EQ(one.certificate.primal, three.certificate.primal);
    EXPECT_EQ(one.certificate.dual, three.certificate.dual);
  }
}

// Several panels, chunks and pieces; columns that fill no vector; weights that are no powers of two.
TEST(BatchThreads, LargerProblemsKeepEveryBit) {
  const Samples samples = testing::random_samples(3000, 1051, 13, 6);
  const Dataset data = testing::dataset_of(samples, Storage::dense64);
  for (const double smoothing : {0.0, 0.1}) {
    const Problem p = testing::problem_of(data, {Family::usunier, {0.5, 0.3, 0.2}, smoothing}, 0.0003, 1.0);
    BatchOptions options = lsfw_options;
    options.keep_dual = true;
    const Trajectory one = iterate(p, options, 6);
    for (const int threads : {2, 17}) {
      options.threads = threads;
      const Trajectory many = iterate(p, options, 6);
      expect_same_path(one, many, 0.0);
      EXPECT_EQ(one.W, many.W) << threads << " threads";
      EXPECT_EQ(one.certificate.dual, many.certificate.dual);
    }
  }
}

TEST_F(BatchEquivalence, LineSearchNeverLowersTheDual) {
  for (const double smoothing : {0.0, 0.2}) {
    const Trajectory run = iterate(problem({Family::top_k, {0.5, 0.3, 0.2}, smoothing}), lsfw_options, 200);
    for (std::size_t t = 1; t < run.passes.size(); ++t) {
      EXPECT_GE(run.passes[t].dual, run.passes[t - 1].dual - 1e-13) << "pass " << t;
    }
  }
}

// The dual after t steps tells ||W(A)||: outside the ball without it, inside with it.
TEST_F(BatchEquivalence, PgStaysInItsBall) {
  const Problem p = problem({Family::usunier, {1.0}, 0.0});
  const PlainProblem plain(samples_, p.loss, p.lambda);
  const double radius = std::sqrt(1.0 / p.lambda);  // P(0) = 1
  const auto length = [&](bool ball) {
    BatchOptions options = pg_options;
    options.ball = ball;
    const auto engine = make_engine(p, {.threads = 1});
    const auto solver = make_batch_solver(*engine, {}, options);
    solver->step();
    const double dual = solver->step().dual;  // D = -lambda/2 ||W||^2 + <c, alpha>/N, and <c, alpha>/N <= 1
    return std::sqrt(std::max(0.0, -2.0 * dual / p.lambda));
  };
  EXPECT_GT(length(false), radius);
  EXPECT_LE(length(true), radius);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
