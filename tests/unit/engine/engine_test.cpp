// What the CPU's engine promises besides the contract: larger shapes.

#include <gtest/gtest.h>

#include "engine/factory.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::PlainProblem;
using testing::Samples;
using testing::Storage;

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
    const PassSums a = make_engine(problem, {.threads = 1})->pass(W, Direction::vertex, nullptr, nullptr, one);
    const PassSums b = make_engine(problem, {.threads = 3})->pass(W, Direction::vertex, nullptr, nullptr, three);
    EXPECT_EQ(one, three);
    EXPECT_EQ(a.phi, b.phi);
    const PlainProblem plain(samples, loss, 0.001, 1.0);
    EXPECT_NEAR(static_cast<double>(make_engine(problem, {.threads = 2})->loss_sum(W).sum), plain.loss_sum(W),
                1e-10 * a.phi);
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
