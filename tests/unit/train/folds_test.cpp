// Which rows are held out, and which values of C are tried.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "topwolf/topwolf.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;

// Class j has 3 + 4 j rows.
std::vector<std::int32_t> labels(std::int32_t m) {
  std::vector<std::int32_t> y;
  for (std::int32_t j = 0; j < m; ++j) y.insert(y.end(), static_cast<std::size_t>(3 + 4 * j), j);
  return y;
}

TEST(Folds, HoldOutEveryRowOnceAndEveryClassEvenly) {
  const auto y = labels(6);
  const auto folds = stratified_folds(y, 6, 3, 7);
  std::vector<int> times(y.size(), 0);
  std::size_t smallest = y.size(), largest = 0;
  for (const Fold& fold : folds) {
    EXPECT_EQ(fold.training.size() + fold.held_out.size(), y.size());
    std::map<std::int32_t, std::int64_t> rows;
    for (const std::int64_t i : fold.held_out) {
      ++times[static_cast<std::size_t>(i)];
      ++rows[y[static_cast<std::size_t>(i)]];
    }
    for (std::int32_t j = 0; j < 6; ++j) EXPECT_NEAR(static_cast<double>(rows[j]), (3 + 4 * j) / 3.0, 1.0);
    smallest = std::min(smallest, fold.held_out.size());
    largest = std::max(largest, fold.held_out.size());
  }
  for (const int count : times) EXPECT_EQ(count, 1);
  EXPECT_LE(largest - smallest, 1u);
}

TEST(Folds, KeepTheRowsOfSmallClassesInTraining) {
  const auto y = labels(6);
  for (const Fold& fold : stratified_folds(y, 6, 5, 7)) {
    for (const std::int64_t i : fold.held_out) EXPECT_NE(y[static_cast<std::size_t>(i)], 0);
  }
  EXPECT_THROW(stratified_folds({0, 1, 0, 1}, 2, 3, 0), Error);
  EXPECT_THROW(stratified_folds(y, 6, 1, 0), Error);
}

TEST(Folds, DependOnTheSeedAlone) {
  const auto y = labels(6);
  EXPECT_EQ(stratified_folds(y, 6, 3, 1)[0].held_out, stratified_folds(y, 6, 3, 1)[0].held_out);
  EXPECT_NE(stratified_folds(y, 6, 3, 1)[0].held_out, stratified_folds(y, 6, 3, 2)[0].held_out);
}

TEST(Split, TakesAShareOfEveryClassAndLeavesOne) {
  const auto y = labels(5);
  const Fold fold = stratified_split(y, 5, 0.5, 3);
  EXPECT_EQ(fold.training.size() + fold.held_out.size(), y.size());
  std::map<std::int32_t, std::int64_t> held, kept;
  for (const std::int64_t i : fold.held_out) ++held[y[static_cast<std::size_t>(i)]];
  for (const std::int64_t i : fold.training) ++kept[y[static_cast<std::size_t>(i)]];
  for (std::int32_t j = 0; j < 5; ++j) {
    EXPECT_NEAR(static_cast<double>(held[j]), (3 + 4 * j) / 2.0, 0.5);
    EXPECT_GE(kept[j], 1);
  }
  EXPECT_EQ(stratified_split(y, 5, 0.999, 3).training.size(), 5u);
  for (const double share : {0.0, 1.0, -0.5, std::nan("")}) EXPECT_THROW(stratified_split(y, 5, share, 0), Error);
  EXPECT_THROW(stratified_split({0, 1}, 2, 0.5, 0), Error);
}

TEST(LogSpaced, ReachesBothEnds) {
  const auto wide = log_spaced(1e-300, 1e300, 3);  // whose ratio is no double
  EXPECT_EQ(wide.front(), 1e-300);
  EXPECT_NEAR(wide[1], 1.0, 1e-9);
  EXPECT_EQ(wide.back(), 1e300);
  const auto values = log_spaced(0.01, 100.0, 9);
  ASSERT_EQ(values.size(), 9u);
  EXPECT_EQ(values.front(), 0.01);
  EXPECT_EQ(values.back(), 100.0);
  EXPECT_DOUBLE_EQ(values[4], 1.0);
  EXPECT_THAT(log_spaced(3.0, 3.0, 1), ElementsAre(3.0));
  EXPECT_THROW(log_spaced(1.0, 0.1, 3), Error);
  EXPECT_THROW(log_spaced(0.0, 1.0, 3), Error);
  EXPECT_THROW(log_spaced(1.0, 2.0, 0), Error);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
