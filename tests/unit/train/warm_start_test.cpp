// Starting from the dual of another run (ledger, D3).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solve/solvers.hpp"
#include "support/plain_problem.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::Samples;
using testing::Storage;

TrainOptions options_for(const char* loss, SolverName solver, double C) {
  TrainOptions options;
  options.loss = parse_loss(loss);
  options.solver = solver;
  options.C = C;
  options.tolerance = 1e-7;
  options.keep_dual = true;
  options.max_iterations = 1000000;
  return options;
}

class WarmStart : public ::testing::TestWithParam<SolverName> {};

TEST_P(WarmStart, AtTheOptimumThereIsNothingLeftToDo) {
  const Dataset data = testing::dataset_of(testing::random_samples(60, 8, 5, 3), Storage::dense64);
  for (const char* loss : {"max-hinge", "top-k:3", "usunier:2", "weighted-top-k", "weighted-usunier"}) {
    TrainOptions options = options_for(loss, SolverName::block, 0.5);
    options.tolerance = 1e-9;
    const TrainResult first = train(data, options);
    options.start = first.dual;
    options.solver = GetParam();
    options.tolerance = 1e-7;
    const TrainResult again = train(data, options);
    EXPECT_EQ(again.status, Status::converged) << loss;
    EXPECT_LE(again.iterations, 2) << loss;
    EXPECT_GE(again.certificate.dual, first.certificate.dual - 1e-9) << loss;
  }
}

TEST_P(WarmStart, LeadsToTheSameOptimumFromAnywhere) {
  const Dataset data = testing::dataset_of(testing::random_samples(60, 8, 5, 3), Storage::dense64);
  TrainOptions options = options_for("usunier:2", GetParam(), 0.5);
  options.tolerance = 1e-4;
  options.loss.smoothing = 0.05;
  const TrainResult cold = train(data, options);
  options.start = train(data, options_for("top-k:3", SolverName::block, 20.0)).dual;
  const TrainResult warm = train(data, options);
  EXPECT_EQ(warm.status, Status::converged);
  EXPECT_GE(warm.certificate.primal, cold.certificate.dual);
  EXPECT_GE(cold.certificate.primal, warm.certificate.dual);
}

INSTANTIATE_TEST_SUITE_P(Solvers, WarmStart,
                         ::testing::Values(SolverName::block, SolverName::newton, SolverName::apg, SolverName::lsfw),
                         [](const auto& solver) { return std::string(to_string(solver.param)); });

TEST(WarmStartRows, AreFeasibleAndScaledToTheHighestDualWhateverChanged) {
  Samples samples = testing::random_samples(50, 7, 6, 5);
  const Dataset data = testing::dataset_of(samples, Storage::dense64);
  const SparseRows earlier = train(data, options_for("top-k:3", SolverName::block, 3.0)).dual;
  for (std::int64_t i = 0; i < samples.n; ++i) samples.omega.push_back(i % 3 == 0 ? 2.0 : 0.5);
  const Dataset weighted = testing::dataset_of(samples, Storage::dense64);
  const Loss losses[] = {
      {Family::top_k, Vector(3, 1.0 / 3), 0.0}, {Family::usunier, {0.5, 0.3, 0.2}, 0.2}, {Family::usunier, {1.0}, 0.0}};
  for (const Loss& loss : losses) {
    for (const double lambda : {1e-4, 0.01, 10.0}) {
      const Problem problem = testing::problem_of(weighted, loss, lambda);
      const testing::PlainProblem plain(samples, loss, lambda);
      const auto engine = make_engine(problem, {.threads = 2});
      const testing::DualRows A = testing::dual_rows(engine->rows_of(*warm_start(*engine, earlier).A));
      EXPECT_LT(plain.infeasibility(A), 1e-12);
      const double dual = plain.dual(A);
      EXPECT_GE(dual, 0.0);
      for (const double t : {0.9, 0.99}) {
        testing::DualRows scaled = A;
        for (SparseRow& alpha : scaled) {
          for (Entry& entry : alpha) entry.value *= t;
        }
        EXPECT_LE(plain.dual(scaled), dual + 1e-12);
      }
    }
  }
}

TEST(WarmStartRows, RefuseWhatCannotBeAStart) {
  const Dataset data = testing::dataset_of(testing::random_samples(20, 5, 4, 1), Storage::dense64);
  TrainOptions options = options_for("max-hinge", SolverName::block, 1.0);
  options.start = train(data, options).dual;
  for (const SolverName solver : {SolverName::stdfw, SolverName::pg}) {
    options.solver = solver;
    EXPECT_THROW(train(data, options), Error);
  }
  options.solver = SolverName::block;
  options.start.row_begin.pop_back();
  EXPECT_THROW(train(data, options), Error);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
