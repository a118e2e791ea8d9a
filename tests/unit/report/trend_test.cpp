#include "report/trend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace topwolf {
namespace TOPWOLF_FILE {

constexpr double target = 1e-3;

template <class Gap>
GapTrend seen_until(double seconds, double target_gap, const Gap& gap) {
  GapTrend trend(target_gap);
  for (int i = 1; i <= 100; ++i) trend.see(0.01 * i * seconds, gap(0.01 * i * seconds));
  return trend;
}

TEST(GapTrend, LinearConvergenceGoesOnAtItsRate) {
  const auto trend = seen_until(10.0, target, [](double t) { return std::exp(-0.3 * t); });
  EXPECT_NEAR(trend.seconds_left().value(), std::log(1e3) / 0.3 - 10.0, 1e-6);
}

TEST(GapTrend, AGapThatShrinksWithTheTimeTakesAsMuchLongerAsItIsTooLarge) {
  const auto trend = seen_until(10.0, target, [](double t) { return 0.1 / t; });
  EXPECT_NEAR(trend.seconds_left().value(), 90.0, 1e-6);
}

TEST(GapTrend, SaysNothingWithoutATrendOrATarget) {
  GapTrend young(target);
  for (int i = 1; i < 4; ++i) young.see(i, 1.0 / i);
  EXPECT_EQ(young.seconds_left(), std::nullopt);
  EXPECT_EQ(seen_until(10.0, target, [](double) { return 0.5; }).seconds_left(), std::nullopt);
  EXPECT_EQ(seen_until(10.0, 0.0, [](double t) { return 1.0 / t; }).seconds_left(), std::nullopt);
  EXPECT_EQ(seen_until(0.0, target, [](double) { return 0.5; }).seconds_left(), std::nullopt);
}

TEST(GapTrend, NothingIsLeftAtTheTarget) {
  EXPECT_EQ(seen_until(10.0, 0.5, [](double t) { return 1.0 / t; }).seconds_left(), 0.0);
}

TEST(DescribeRoughly, HasOneDigitAndAUnit) {
  EXPECT_EQ(describe_roughly(0.1), "1 s");
  EXPECT_EQ(describe_roughly(47.0), "50 s");
  EXPECT_EQ(describe_roughly(140.0), "2 min");
  EXPECT_EQ(describe_roughly(40000.0), "10 h");
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
