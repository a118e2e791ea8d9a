#include "report/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Rows 0, 1 right by a alone, row 2 by b alone, row 3 by both, row 4 by none.
Comparison sample() {
  Comparison comparison;
  comparison.classes = {"<i>", "b", "c"};
  comparison.y = {0, 1, 2, 0, 1};
  comparison.contenders = {{"a", "certified", 3, 2, {0, 1, 1, 0, 0, 2, 0, 1, 0, 1}},
                           {"b", "not", 3, 2, {1, 0, 0, 2, 2, 0, 0, 1, 2, 0}}};
  comparison.places = {1};
  return comparison;
}

// Agresti and Min's, computed by hand: 12 and 4 discordant of 100, so (12 - 4) / 102 +- 1.96 sqrt(17 - 64/102) / 102.
TEST(Comparison, ThePairedIntervalIsThatOfAgrestiAndMin) {
  const PairedDifference found = paired_difference(12, 4, 100);
  EXPECT_DOUBLE_EQ(found.difference, 0.08);
  EXPECT_NEAR(found.low, 0.0784314 - 0.0777508, 2e-6);
  EXPECT_NEAR(found.high, 0.0784314 + 0.0777508, 2e-6);
}

TEST(Comparison, ModelsThatNeverDifferMayStillDiffer) {
  const PairedDifference found = paired_difference(0, 0, 50);
  EXPECT_EQ(found.difference, 0.0);
  EXPECT_NEAR(found.high, 1.959964 / 52.0, 1e-9);
  EXPECT_EQ(found.low, -found.high);
}

TEST(Comparison, CountsWhatEachAloneHasRight) {
  const Comparison comparison = sample();
  EXPECT_DOUBLE_EQ(comparison.error(0, 1), 0.4);
  EXPECT_DOUBLE_EQ(comparison.error(1, 1), 0.6);
  EXPECT_DOUBLE_EQ(comparison.error(0, 2), 0.0);
  EXPECT_THAT(rows_alone_right(comparison, 0), ElementsAre(0, 1));
  EXPECT_THAT(rows_alone_right(comparison, 1), ElementsAre(2));
  const PairedDifference found = paired_difference(comparison, 0, 1, 1);
  EXPECT_EQ(found.only_a, 2);
  EXPECT_EQ(found.only_b, 1);
  EXPECT_DOUBLE_EQ(found.difference, 0.2);
}

TEST(Comparison, ThePageEscapesLabels) {
  const std::string page = comparison_page(sample());
  EXPECT_THAT(page, HasSubstr("&lt;i&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  EXPECT_THAT(page, HasSubstr("A alone: 2 rows"));
  EXPECT_THAT(page, HasSubstr("B alone: 1 row<"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
