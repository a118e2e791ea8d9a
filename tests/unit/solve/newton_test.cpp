// Newton steps on the primal: the optimum is that of block ascent, in a few passes where rows are many.
#include <gtest/gtest.h>

#include <cmath>

#include "solve/driver.hpp"
#include "solve/solvers.hpp"
#include "support/engine_cases.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using testing::EngineCase;

RunResult run_to(Solver& solver, double tolerance, std::int64_t passes) {
  StopRule rule;
  rule.tolerance = tolerance;
  rule.max_iterations = passes;
  return run(solver, rule, Stopwatch(), {});
}

TEST(NewtonSolver, EndsAtTheOptimumOfBlockAscent) {
  for (const Loss& loss : testing::contract_losses()) {
    if (loss.oracle) continue;  // SolverContract.NewtonIsRefusedWhereItCannotBe
    for (const bool costs : {false, true}) {
      SCOPED_TRACE(testing::name_of(loss) + (costs ? " costs" : ""));
      const EngineCase at({"Dense64", testing::Storage::dense64}, loss,
                          {.n = 200, .d = 4, .m = 5, .lambda = 1e-3, .costs = costs});
      const auto one = at.engine(), two = at.engine();
      const auto newton = make_newton_solver(*one, {}, 1);
      const auto block = make_block_solver(*two, {}, {});
      const RunResult found = run_to(*newton, 1e-4, 100), expected = run_to(*block, 1e-5, 100000);
      EXPECT_EQ(found.status, Status::converged);
      EXPECT_NEAR(found.certificate.primal, expected.certificate.primal, 1e-4 * expected.certificate.primal);
    }
  }
}

TEST(NewtonSolver, DoesNotMindTheConditioning) {
  for (const double lambda : {1e-2, 1e-4, 1e-6}) {
    const EngineCase at({"Csr32", testing::Storage::csr32}, testing::contract_losses().front(),
                        {.n = 3000, .d = 3, .m = 4, .lambda = lambda, .weighted = true});
    const auto engine = at.engine();
    const auto solver = make_newton_solver(*engine, {}, 1);
    const RunResult found = run_to(*solver, 1e-3, 40);
    EXPECT_EQ(found.status, Status::converged) << lambda;
  }
}

TEST(NewtonSolver, StallsWhereRoundingAllowsNoMore) {
  const EngineCase at({"Dense32", testing::Storage::dense32}, testing::contract_losses().front(),
                      {.n = 600, .d = 9, .m = 4, .lambda = 1e-4, .weighted = false});
  const auto engine = at.engine();
  const auto solver = make_newton_solver(*engine, {}, 1);
  const RunResult found = run_to(*solver, 1e-10, 3000);
  EXPECT_EQ(found.status, Status::stalled);
  EXPECT_LT(found.iterations, 1000);
}

TEST(NewtonSolver, IsDoneAtOnceWhereThereIsNothingToLose) {
  const EngineCase at({"Dense64", testing::Storage::dense64}, testing::contract_losses().front(), {});
  Problem problem = at.problem();
  problem.cost = std::make_shared<const std::vector<double>>(static_cast<std::size_t>(problem.m * problem.m), 0.0);
  const auto engine = at.engine();
  engine->set_problem(problem);
  const auto solver = make_newton_solver(*engine, {}, 1);
  const RunResult found = run_to(*solver, 1e-3, 10);
  EXPECT_EQ(found.status, Status::converged);
  EXPECT_EQ(found.certificate.primal, 0.0);
  EXPECT_EQ(found.iterations, 1);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
