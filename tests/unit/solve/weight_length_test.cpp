// What the regulariser squares where the rows have a mean (C1), against sums in which nothing is rounded.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/rng.hpp"
#include "solve/objective.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

TEST(WeightLength, WithoutAMeanIsTheLength) {
  const WeightLength found = weight_length({}, {3.0, 4.0});
  EXPECT_EQ(found.least, 5.0);
  EXPECT_EQ(found.most, 5.0);
}

// Powers of two, so that a long double holds every sum: the weights of the constant feature all but cancel.
TEST(WeightLength, LiesBetweenItsBoundsWhateverCancels) {
  Rng rng(3);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t d = 1 + rng.below(6), m = 1 + rng.below(4);
    const double B = std::ldexp(1.0, static_cast<int>(rng.below(9)) - 4),
                 far = std::ldexp(1.0, static_cast<int>(rng.below(20)));
    std::vector<double> mean, W;
    for (std::size_t f = 0; f < d; ++f) mean.push_back(far * (1.0 + static_cast<double>(rng.below(16))));
    long double norm2 = 0.0L;
    for (std::size_t j = 0; j < m; ++j) {
      long double at_mean = 0.0L;
      for (std::size_t f = 0; f < d; ++f) {
        W.push_back((static_cast<double>(rng.below(64)) - 32.0) / 8.0);
        at_mean += static_cast<long double>(W.back()) * mean[f] / B;
        norm2 += static_cast<long double>(W.back()) * W.back();
      }
      W.push_back(static_cast<double>(-at_mean) + static_cast<double>(rng.below(3)) / 1024.0);
      at_mean += W.back();
      norm2 += at_mean * at_mean;
    }
    Problem problem;
    problem.bias = B;
    problem.mean = std::make_shared<const std::vector<double>>(mean);
    const WeightLength found = weight_length(problem, W);
    const auto truth = static_cast<double>(std::sqrt(norm2));
    EXPECT_LE(found.least, truth);
    EXPECT_GE(found.most, truth);
    EXPECT_NEAR(found.least, found.most, 1e-12 * (1.0 + truth)) << "bounds that say nothing";
  }
}

TEST(WeightLength, OfWhatIsNoNumberIsNoBound) {
  Problem problem;
  problem.bias = 1.0;
  problem.mean = std::make_shared<const std::vector<double>>(std::vector<double>{1.0});
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(weight_length(problem, {bad, 0.0}).most, INFINITY);
    EXPECT_EQ(weight_length(problem, {0.0, bad}).most, INFINITY);
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
