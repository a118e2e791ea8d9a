// Which fits a search needs, and which point it chooses, on errors by decree.

#include "train/search_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "train/choice.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;

using Errors = std::vector<std::vector<double>>;  // (points x folds)

// What one worker makes of a search with these errors, in its order.
std::vector<std::size_t> fits_of_one_worker(SearchTable& table, const Errors& errors, bool drops) {
  std::vector<std::size_t> order;
  for (;;) {
    const auto needed = needed_fits(table, drops);
    const auto next = std::find_if(needed.begin(), needed.end(), [&](std::size_t at) { return !table.made(at); });
    if (next == needed.end()) return order;
    table.errors[*next] = errors[table.point_of(*next)][table.fold_of(*next)];
    table.iterations[*next] = 1;
    order.push_back(*next);
  }
}

TEST(NeededFits, GoCByCThroughLossesAndFolds) {
  SearchTable table(2, 2, 2);
  const Errors errors(4, {0.5, 0.5});
  // Points 0 and 2 are the smaller C of either loss.
  EXPECT_THAT(fits_of_one_worker(table, errors, true), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

TEST(NeededFits, LeaveOutWhatCannotWin) {
  SearchTable table(1, 3, 3);
  // After two folds the last C has made as many errors as the first in three, and more.
  const Errors errors{{0.2, 0.2, 0.2}, {0.3, 0.2, 0.3}, {0.3, 0.4, 0.0}};
  EXPECT_THAT(fits_of_one_worker(table, errors, true), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_FALSE(table.made(8));
}

TEST(NeededFits, EqualsAreNotDropped) {
  SearchTable table(1, 2, 3);
  const Errors errors{{0.1, 0.2, 0.3}, {0.3, 0.3, 0.0}};
  EXPECT_EQ(fits_of_one_worker(table, errors, true).size(), 6u);
}

TEST(NeededFits, ComeLateWhereALaterOneStartsFromThem) {
  SearchTable table(1, 3, 2);
  // The second C is hopeless after its first fold, but the third is not, and its second fold starts from there.
  const Errors errors{{0.2, 0.2}, {0.9, 0.9}, {0.1, 0.1}};
  EXPECT_THAT(fits_of_one_worker(table, errors, true), ElementsAre(0, 1, 2, 4, 3, 5));
}

TEST(NeededFits, AreAllWhereNothingMayBeDroppedOrNothingIsKnown) {
  const Errors errors{{0.1, 0.1}, {0.9, 0.9}, {0.9, 0.9}};
  SearchTable table(1, 3, 2), unknown(1, 3, 2);
  EXPECT_EQ(fits_of_one_worker(table, errors, false).size(), 6u);
  const Errors none(3, {NAN, NAN});
  EXPECT_EQ(fits_of_one_worker(unknown, none, true).size(), 6u);
}

// Several workers make more fits than one; those that are needed in the end are the same.
TEST(NeededFits, DoNotDependOnWhoIsFirst) {
  const Errors errors{{0.2, 0.2, 0.2}, {0.5, 0.4, 0.3}, {0.6, 0.1, 0.5},
                      {0.1, 0.3, 0.1}, {0.7, 0.7, 0.7}, {0.9, 0.2, 0.9}};
  SearchTable one(2, 3, 3), all(2, 3, 3);
  const auto order = fits_of_one_worker(one, errors, true);
  EXPECT_LT(order.size(), 18u);
  for (std::size_t place = 0; place < all.size(); ++place) {
    all.errors[place] = errors[all.point_of(place)][all.fold_of(place)];
    all.iterations[place] = 1;
  }
  const auto needed = needed_fits(all, true);
  EXPECT_EQ(std::set(needed.begin(), needed.end()), std::set(order.begin(), order.end()));
}

SearchTable table_of(const Errors& errors) {
  SearchTable table(1, errors.size(), errors[0].size());
  for (std::size_t place = 0; place < table.size(); ++place) {
    table.errors[place] = errors[table.point_of(place)][table.fold_of(place)];
    table.iterations[place] = std::isnan(table.errors[place]) ? 0 : 1;
  }
  return table;
}

TEST(Choice, IsAmongThoseWithTheMostFolds) {
  EXPECT_EQ(choose(table_of({{0.3, 0.3, 0.3}, {0.2, 0.3, 0.3}, {0.0, 0.0, NAN}}), false).best, 1u);
  EXPECT_EQ(choose(table_of({{0.3, 0.3, NAN}, {0.2, 0.2, NAN}, {0.0, NAN, NAN}}), false).best, 1u);
  EXPECT_EQ(choose(table_of({{NAN, NAN}, {0.5, NAN}}), false).best, 1u);
}

TEST(Choice, ByOneStandardErrorTakesNoPointThatLacksFolds) {
  const SearchTable table = table_of({{0.3, NAN, NAN}, {0.3, 0.3, 0.3}, {0.1, 0.2, 0.5}});
  EXPECT_EQ(choose(table, false).chosen, 2u);
  EXPECT_EQ(choose(table, true).best, 2u);
  EXPECT_EQ(choose(table, true).chosen, 1u);
  EXPECT_EQ(choose(table_of({{0.3, NAN}, {0.2, NAN}}), true).chosen, 1u);  // no error has a spread by itself
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
