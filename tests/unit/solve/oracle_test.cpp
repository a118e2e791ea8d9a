// Losses by their oracles: the same optimum as the closed form, and, step by step, the same iterates where nothing but
// vertices is asked for.

#include <gtest/gtest.h>

#include <cmath>

#include "solve/method.hpp"
#include "solve/solvers.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;

struct Pair {
  Problem asked, known;
};

template <class Check>
void for_pairs(const Check& check) {
  const testing::Samples samples = testing::golden_samples(true);
  const Dataset data = testing::dataset_of(samples, testing::Storage::dense64);
  const Vector cost = testing::golden_costs();
  for (const double smoothing : {0.0, 0.2}) {
    for (const bool projects : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "smoothing " << smoothing << " projection " << projects);
      const Loss known{Family::top_k, Vector(3, 1.0 / 3), smoothing};
      const auto oracle =
          std::make_shared<testing::KnownOracle>(known, projects ? &testing::known_projection : nullptr);
      check(Pair{testing::problem_of(data, testing::loss_of_oracle(oracle, samples.m, smoothing), 0.02, 0.5, &cost),
                 testing::problem_of(data, known, 0.02, 0.5, &cost)});
    }
  }
}

Certificate after(const Problem& problem, SolverName name, int steps, Vector* W = nullptr) {
  const auto engine = make_engine(problem, {.threads = 1});
  TrainOptions options;
  options.keep_dual = true;
  const auto solver = make_solver(name, options, *engine, {}, 1);
  for (int t = 0; t < steps; ++t) solver->step();
  if (W) *W = solver->current_weights();
  return solver->certify();
}

TEST(OracleSolvers, TopKByItsOracleHasTheOptimumOfTopK) {
  for_pairs([](const Pair& pair) {
    const Certificate best = after(pair.known, SolverName::block, 3000);
    ASSERT_LT(best.relative_gap(), 1e-9);
    const Certificate found = after(pair.asked, SolverName::block, 3000);
    EXPECT_NEAR(found.primal, best.primal, 1e-8 * best.primal);
    EXPECT_NEAR(found.dual, best.dual, 1e-8 * best.primal);
    const Certificate apg = after(pair.asked, SolverName::apg, 2000);
    EXPECT_NEAR(apg.primal, best.primal, 1e-6 * best.primal);
    for (const SolverName name : {SolverName::lsfw, SolverName::stdfw, SolverName::pg}) {
      const Certificate slow = after(pair.asked, name, 300);
      EXPECT_GE(slow.primal, best.dual) << to_string(name);
      EXPECT_LE(slow.dual, best.primal) << to_string(name);
    }
  });
}

TEST(OracleSolvers, FrankWolfeTakesTheStepsOfTheClosedForm) {
  for_pairs([](const Pair& pair) {
    for (const SolverName name : {SolverName::lsfw, SolverName::stdfw}) {
      Vector asked, known;
      const Certificate a = after(pair.asked, name, 40, &asked), b = after(pair.known, name, 40, &known);
      for (std::size_t p = 0; p < asked.size(); ++p) EXPECT_NEAR(asked[p], known[p], 1e-10) << to_string(name);
      EXPECT_NEAR(a.primal, b.primal, 1e-9 * b.primal);
      EXPECT_NEAR(a.dual, b.dual, 1e-9 * b.primal);
    }
  });
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
