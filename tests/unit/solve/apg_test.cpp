// The accelerated projected gradient: its iterates against the plain method, golden optima, and where it ends.

#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "solve/driver.hpp"
#include "solve/solvers.hpp"
#include "support/plain_apg.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::golden;
using testing::PlainApg;
using testing::PlainProblem;
using testing::Samples;
using testing::Storage;

struct Outcome {
  Certificate certificate;
  Vector W;
  std::vector<Pass> passes;
};

Outcome iterate(const Problem& problem, int steps, int threads = 1) {
  const auto engine = make_engine(problem, {.threads = threads});
  const auto solver = make_apg_solver(*engine, {}, threads);
  Outcome out;
  for (int t = 0; t < steps; ++t) out.passes.push_back(solver->step());
  out.certificate = solver->certify();
  out.W = solver->weights();
  return out;
}

void expect_same_dual(const testing::DualRows& a, const testing::DualRows& b, std::int64_t m, double tolerance) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Vector x = plain::dense(a[i], m), y = plain::dense(b[i], m);
    for (std::size_t j = 0; j < x.size(); ++j) ASSERT_NEAR(x[j], y[j], tolerance) << "row " << i;
  }
}

Samples weighted_samples(std::int64_t n, std::int64_t d, std::int64_t m, std::uint64_t seed) {
  Samples samples = testing::random_samples(n, d, m, seed);
  for (std::int64_t i = 0; i < n; ++i) samples.omega.push_back(i % 4 == 0 ? 2.0 : i % 7 == 0 ? 0.0 : 0.75);
  return samples;
}

// Refusals and restarts included: all of them must fall on the same passes.
TEST(Apg, TakesTheStepsOfThePlainMethod) {
  const Samples samples = weighted_samples(50, 8, 6, 12);
  const double lambda = 0.02, bias = 0.7;
  Rng rng(3);
  Vector costs;
  for (int e = 0; e < 36; ++e) costs.push_back(e % 7 == 0 ? 0.0 : 2.0 * rng.uniform());
  int refusals = 0, restarts = 0;
  for (const Family family : {Family::usunier, Family::top_k}) {
    for (const double smoothing : {0.0, 0.2}) {
      for (const Vector* cost : {static_cast<const Vector*>(nullptr), static_cast<const Vector*>(&costs)}) {
        const Loss loss{family, {0.5, 0.3, 0.2}, smoothing};
        const PlainProblem plain(samples, loss, lambda, bias, cost);
        PlainApg method(samples, loss, lambda, plain);
        const Dataset data = testing::dataset_of(samples, Storage::dense64);
        const Problem problem = testing::problem_of(data, loss, lambda, bias, cost);
        const auto engine = make_engine(problem, {.threads = 1});
        const auto solver = make_apg_solver(*engine, {}, 1);
        for (int t = 1; t <= 60; ++t) {
          SCOPED_TRACE(t);
          const double L = method.q + smoothing;
          method.step();
          const Pass pass = solver->step();
          EXPECT_NEAR(pass.primal, method.primal, 1e-9);
          EXPECT_NEAR(pass.dual, plain.dual(method.A), 1e-9);
          EXPECT_NEAR(pass.gamma * L, 1.0, 1e-9);
          EXPECT_TRUE(!method.taken || method.curvature <= L - smoothing + 1e-12) << "taken with too small a q";
          expect_same_dual(testing::dual_rows(engine->rows_of(*solver->dual())), method.A, samples.m, 1e-8);
        }
        refusals += method.refusals;
        restarts += method.restarts;
      }
    }
  }
  EXPECT_GT(refusals, 0);
  EXPECT_GT(restarts, 0);
}

TEST(Apg, ReachesEveryGoldenOptimumTo1e7) {
  testing::for_golden_optima([&](const Problem& problem, double optimum) {
    const auto engine = make_engine(problem, {.threads = 1});
    const auto solver = make_apg_solver(*engine, {}, 1);
    const RunResult result = run(*solver, {.absolute_gap = 1e-7, .max_iterations = 100000}, Stopwatch(), {});
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.certificate.primal, optimum, 1e-7);
    EXPECT_GE(result.certificate.primal, optimum - 1e-9);
    EXPECT_LE(result.certificate.dual, optimum + 1e-9);
  });
}

TEST(Apg, ARepeatedRowIsARowOfWeightTwo) {
  const Samples samples = testing::random_samples(80, 9, 5, 21);
  Samples repeated = samples, weighted = samples;
  for (std::int64_t i = 0; i < samples.n; ++i) {
    repeated.y.push_back(samples.y[static_cast<std::size_t>(i)]);
    weighted.omega.push_back(2.0);
  }
  repeated.X.insert(repeated.X.end(), samples.X.begin(), samples.X.end());
  repeated.n *= 2;
  const Dataset a = testing::dataset_of(repeated, Storage::dense64),
                b = testing::dataset_of(weighted, Storage::dense64);
  const Loss loss{Family::top_k, {0.5, 0.3, 0.2}, 0.1};
  const Certificate one = iterate(testing::problem_of(a, loss, 0.05), 300).certificate,
                    two = iterate(testing::problem_of(b, loss, 0.05), 300).certificate;
  EXPECT_LE(one.dual, two.primal);
  EXPECT_LE(two.dual, one.primal);
  EXPECT_NEAR(one.dual, two.dual, 1e-7);
}

// Several panels, chunks and pieces; columns that fill no vector.
TEST(Apg, TheNumberOfThreadsChangesNoBit) {
  const Samples samples = testing::random_samples(3000, 1051, 13, 6);
  const Dataset data = testing::dataset_of(samples, Storage::dense64);
  for (const double smoothing : {0.0, 0.1}) {
    const Problem problem = testing::problem_of(data, {Family::usunier, {0.5, 0.3, 0.2}, smoothing}, 0.0003, 1.0);
    const Outcome one = iterate(problem, 12);
    for (const int threads : {2, 5}) {
      const Outcome many = iterate(problem, 12, threads);
      EXPECT_EQ(one.W, many.W) << threads << " threads";
      EXPECT_EQ(one.certificate.primal, many.certificate.primal);
      EXPECT_EQ(one.certificate.dual, many.certificate.dual);
    }
  }
}

TEST(Apg, RowsOfZerosEndAtOnce) {
  const Samples samples{3, 2, 3, Vector(6, 0.0), {0, 1, 2}, {}};
  const Dataset data = testing::dataset_of(samples, Storage::dense64);
  for (const double smoothing : {0.0, 0.5}) {
    const Problem problem = testing::problem_of(data, {Family::usunier, {1.0}, smoothing}, 1.0);
    const auto engine = make_engine(problem, {.threads = 1});
    const auto solver = make_apg_solver(*engine, {}, 1);
    const RunResult result = run(*solver, {.tolerance = 1e-9, .max_iterations = 50}, Stopwatch(), {});
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.iterations, 2);
  }
}

TEST(Apg, StallsWhereThePrecisionEnds) {
  const Samples samples = testing::random_samples(80, 9, 5, 4);
  const Dataset data = testing::dataset_of(samples, Storage::dense32);
  const Problem problem = testing::problem_of(data, {Family::usunier, {1.0}, 0.0}, 0.01);
  const auto engine = make_engine(problem, {.threads = 1});
  const auto solver = make_apg_solver(*engine, {}, 1);
  const RunResult result = run(*solver, {.tolerance = 1e-15, .max_iterations = 20000}, Stopwatch(), {});
  EXPECT_EQ(result.status, Status::stalled);
  EXPECT_LT(result.certificate.relative_gap(), 1e-5);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
