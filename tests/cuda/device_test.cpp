// What the engine on a GPU promises besides the contract: the optimum of the CPU's, the same bits run to run, and
// nothing lost where lists, slots and shared memory are too small for a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/fail.hpp"
#include "solve/method.hpp"
#include "support/engine_cases.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using testing::Storage;
using Vector = std::vector<double>;

// Rows, and a problem on them; no plain one beside it, so that it may be larger than those of the contract.
struct Case {
  testing::Samples samples;
  Dataset data;
  Problem problem;

  Case(const Loss& loss, std::int64_t n, std::int64_t d, std::int64_t m, double lambda, Storage storage)
      : samples(testing::random_samples(n, d, m, 5)), data(testing::dataset_of(samples, storage)) {
    problem = testing::problem_of(data, loss, lambda, 0.5, nullptr);
  }
  std::unique_ptr<Engine> engine(const char* device, int threads = 2) const {
    return make_engine(problem, {.device = device, .threads = threads});
  }
};

struct Solved {
  Certificate bounds;
  Vector W;
  SparseRows A;
};

// Until the relative gap is at most this, or so many steps were taken.
Solved solve(Engine& engine, SolverName name, double tolerance, int most_steps) {
  TrainOptions options;
  options.seed = 1;
  options.keep_dual = true;
  const auto solver = make_solver(name, options, engine, {}, 2);
  Solved out;
  for (int t = 1; t <= most_steps; ++t) {
    solver->step();
    if (t % 10 > 0 && t < most_steps) continue;
    out.bounds = solver->certify();
    if (out.bounds.gap() <= tolerance * out.bounds.primal) break;
  }
  out.W = solver->weights();
  out.A = engine.rows_of(*solver->dual());
  return out;
}

// The CPU's engine finds the same primal and the same dual at what came from the device.
void expect_the_cpu_agrees(const Case& at, const Solved& there) {
  const auto cpu = at.engine("cpu");
  const auto A = cpu->make_dual();
  cpu->project(there.A, *A);
  const auto rows = testing::dual_rows(there.A);
  RowScratch scratch;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Membership miss = membership(at.problem.loss, at.problem.y[i], rows[i], scratch);
    ASSERT_LE(miss.ratio, 1.0 + 1e-12) << "row " << i;
    ASSERT_LE(miss.distance, 1e-10) << "row " << i;
  }
  Vector W;
  cpu->weights_of(*A, W);
  const DualSums sums = cpu->sums(*A);
  const double N = at.problem.N, lambda = at.problem.lambda, smoothing = at.problem.loss.smoothing;
  const auto norm2 = [](const Vector& w) { return std::inner_product(w.begin(), w.end(), w.begin(), 0.0); };
  const double dual = (sums.c_alpha - 0.5 * smoothing * sums.alpha_norm2) / N - 0.5 * lambda * norm2(W);
  const auto loss = static_cast<double>(cpu->loss_sum(there.W).sum);
  EXPECT_NEAR(there.bounds.dual, dual, 1e-10 * there.bounds.primal);
  EXPECT_NEAR(there.bounds.primal, 0.5 * lambda * norm2(there.W) + loss / N, 1e-10 * there.bounds.primal);
}

TEST(Cuda, EndsAtTheOptimumOfTheCpu) {
  for (const Loss& loss : testing::contract_losses()) {
    SCOPED_TRACE(testing::name_of(loss));
    const Case at(loss, 90, 17, 9, 0.03, Storage::dense64);
    const auto cuda = at.engine("cuda"), cpu = at.engine("cpu");
    const Solved there = solve(*cuda, SolverName::block, 1e-7, 3000), here = solve(*cpu, SolverName::block, 1e-7, 3000);
    EXPECT_LE(there.bounds.gap(), 1e-6 * there.bounds.primal);
    EXPECT_NEAR(there.bounds.primal, here.bounds.primal, 2e-6 * here.bounds.primal);
  }
}

TEST(Cuda, TheSameSeedGivesTheSameBits) {
  const Case at({Family::usunier, {0.5, 0.3, 0.2}, 0.0}, 2000, 33, 70, 1e-3, Storage::dense32);
  for (const SolverName name : {SolverName::block, SolverName::lsfw, SolverName::apg}) {
    const auto first = at.engine("cuda", 1), second = at.engine("cuda", 5);
    const Solved one = solve(*first, name, 0.0, 12), two = solve(*second, name, 0.0, 12);
    EXPECT_EQ(one.W, two.W);
    EXPECT_EQ(one.A.values, two.A.values);
    EXPECT_EQ(one.bounds.dual, two.bounds.dual);
    expect_the_cpu_agrees(at, one);
  }
}

// Two features and many classes: at the optimum rows touch far more classes than there are slots to begin with.
TEST(Cuda, RowsOutgrowTheirSlots) {
  const Case at({Family::usunier, {1.0}, 0.0}, 300, 2, 150, 3e-3, Storage::dense64);
  const auto engine = at.engine("cuda");
  const Solved found = solve(*engine, SolverName::block, 1e-4, 3000);
  EXPECT_LE(found.bounds.gap(), 1e-4 * found.bounds.primal);
  expect_the_cpu_agrees(at, found);
}

// More classes than have keys in shared memory, and at the first visit all of them matter.
TEST(Cuda, RowsOfThousandsOfClassesAreExact) {
  for (const Loss& loss : {Loss{Family::top_k, Vector(30, 1.0 / 30), 0.0}, Loss{Family::usunier, Vector(5, 0.2), 0.05},
                           Loss{Family::usunier, {1.0}, 0.0}}) {
    SCOPED_TRACE(testing::name_of(loss));
    const Case at(loss, 2600, 12, 2500, 1e-3, Storage::dense64);
    const auto engine = at.engine("cuda");
    const Solved found = solve(*engine, SolverName::block, 1e-2, 200);
    EXPECT_LE(found.bounds.gap(), 1e-2 * found.bounds.primal);
    expect_the_cpu_agrees(at, found);
  }
}

TEST(Cuda, ADeviceThatIsNotThereIsRefused) {
  const Case at({Family::usunier, {1.0}, 0.0}, 20, 3, 4, 0.1, Storage::dense32);
  try {
    at.engine("cuda:99");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::option);
    EXPECT_NE(std::string(error.what()).find("only cuda:0"), std::string::npos) << error.what();
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
