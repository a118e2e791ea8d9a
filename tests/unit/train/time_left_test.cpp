// Guesses of how long fits take, on timings that are made up.

#include "train/time_left.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topwolf/select.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

const std::vector<double> grid = log_spaced(0.01, 100.0, 9);

// Seconds of the fits at the first `count` values of C; NaN beyond.
std::vector<double> known(const std::vector<double>& seconds, std::size_t count) {
  std::vector<double> out = seconds;
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), NAN);
  return out;
}

double sum(const std::vector<double>& values) {
  double out = 0.0;
  for (const double value : values) out += value;
  return out;
}

TEST(ExpectedSeconds, LeaveWhatIsKnown) {
  const std::vector<double> seconds{1, 1, 2, 3, 5, 8, 13, 21, 34};
  EXPECT_EQ(expected_seconds(grid, seconds), seconds);
}

TEST(ExpectedSeconds, GoOnWithThePowerThatWasSeen) {
  std::vector<double> seconds;
  for (const double C : grid) seconds.push_back(3.0 * std::sqrt(C));
  const std::vector<double> guess = expected_seconds(grid, known(seconds, 3));
  for (std::size_t c = 0; c < grid.size(); ++c) EXPECT_NEAR(guess[c], seconds[c], 1e-9 * seconds[c]);
}

// Fits that take 40 times as long at the end as at the beginning: a mean of the first would say 1/10 of the truth.
TEST(ExpectedSeconds, AreOfTheRightSizeFromTheThirdPointOn) {
  const std::vector<double> seconds{0.5, 0.5, 0.6, 0.8, 1.4, 2.8, 6.0, 12.0, 20.0};
  for (std::size_t count = 3; count < 9; ++count) {
    const double guess = sum(expected_seconds(grid, known(seconds, count)));
    EXPECT_GT(guess, sum(seconds) / 4.0) << count;
    EXPECT_LT(guess, sum(seconds) * 3.0) << count;
  }
}

// Times of a millisecond scatter; they must not promise hours.
TEST(ExpectedSeconds, DoNotFollowNoise) {
  const std::vector<double> seconds{1e-4, 1e-3, 9e-3, 1e-2, 1e-2, 1e-2, 1e-2, 1e-2, 1e-2};
  for (std::size_t count = 1; count < 9; ++count) {
    EXPECT_LT(sum(expected_seconds(grid, known(seconds, count))), 5.0) << count;
  }
}

TEST(ExpectedSeconds, NeverFallWithCNorGrowFasterThanC) {
  for (const std::vector<double>& seconds : {std::vector<double>{9, 3, 1}, std::vector<double>{1, 30, 900}}) {
    std::vector<double> given(9, NAN);
    std::copy(seconds.begin(), seconds.end(), given.begin());
    const std::vector<double> guess = expected_seconds(grid, given);
    for (std::size_t c = 3; c < 9; ++c) {
      EXPECT_GE(guess[c], guess[c - 1]);
      EXPECT_LE(guess[c], guess[c - 1] * grid[c] / grid[c - 1] * (1.0 + 1e-12));
    }
  }
}

SearchTable table_with(std::size_t losses, const std::vector<std::vector<double>>& seconds) {
  SearchTable table(losses, 3, 2);
  for (std::size_t p = 0; p < seconds.size(); ++p) {
    for (std::size_t f = 0; f < seconds[p].size(); ++f) {
      table.seconds[table.place(p, f)] = seconds[p][f];
      table.iterations[table.place(p, f)] = 1;
    }
  }
  return table;
}

TEST(ExpectedSeconds, SayNothingBeforeTwoValuesOfCAreKnown) {
  const std::vector<double> C{1.0, 10.0, 100.0};
  EXPECT_FALSE(expected_seconds(table_with(1, {}), C));
  EXPECT_FALSE(expected_seconds(table_with(1, {{1.0, 2.0}}), C));
  const auto known = expected_seconds(table_with(1, {{1.0, 3.0}, {4.0}}), C);
  ASSERT_TRUE(known);
  EXPECT_EQ((*known)[0], 2.0);
  EXPECT_EQ((*known)[1], 4.0);
  EXPECT_GT((*known)[2], 4.0);
  SearchTable single(1, 1, 2);
  single.iterations[0] = 1;
  single.seconds[0] = 2.0;
  EXPECT_EQ(expected_seconds(single, {1.0})->at(0), 2.0);
}

TEST(ExpectedSeconds, OfALossThatWasNotTriedAreThoseOfTheOthers) {
  const auto known = expected_seconds(table_with(2, {{1.0}, {4.0}}), {1.0, 10.0, 100.0});
  ASSERT_TRUE(known);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ((*known)[3 + c], (*known)[c]);
}

TEST(RefitSeconds, AreThoseOfTheWayThereOnMoreRows) {
  const SearchTable table = table_with(1, {{1.0, 3.0}, {4.0, 4.0}, {10.0}});
  EXPECT_DOUBLE_EQ(refit_seconds(table, 0, 1.5), 3.0);
  EXPECT_DOUBLE_EQ(refit_seconds(table, 1, 1.0), 6.0);
  EXPECT_DOUBLE_EQ(refit_seconds(table, 2, 1.25), 20.0);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
