// The race between losses: which fits it needs, on errors by decree, and what comes of it on data.

#include "train/race.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "support/plain_problem.hpp"
#include "topwolf/topwolf.hpp"
#include "train/choice.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Le;

using Errors = std::vector<std::vector<double>>;  // (points x folds)

void make(SearchTable& table, const Errors& errors, std::size_t place) {
  table.errors[place] = errors[table.point_of(place)][table.fold_of(place)];
  table.iterations[place] = 1;
}

std::vector<std::size_t> fits_of_one_worker(SearchTable& table, const Errors& errors) {
  std::vector<std::size_t> order;
  for (;;) {
    const auto needed = race(table).needed;
    const auto next = std::find_if(needed.begin(), needed.end(), [&](std::size_t at) { return !table.made(at); });
    if (next == needed.end()) return order;
    make(table, errors, *next);
    order.push_back(*next);
  }
}

// Four losses at three C on four folds: 12 points, of which 6, 4 and 4 are left. The third loss is the best; the last C
// of the first is good on the first fold alone.
Errors decreed() {
  Errors errors(12, std::vector<double>(4, 0.9));
  errors[2] = {0.1, 0.9, 0.9, 0.9};
  errors[3] = errors[4] = errors[5] = {0.5, 0.5, 0.5, 0.5};
  errors[7] = {0.3, 0.2, 0.2, 0.3};
  errors[8] = {0.3, 0.3, 0.2, 0.3};
  return errors;
}

TEST(Race, TriesAllOnceAndThenTheBetterHalfWithTheSmallerC) {
  SearchTable table(4, 3, 4);
  const auto order = fits_of_one_worker(table, decreed());
  std::vector<std::vector<std::size_t>> rounds(4);
  for (const std::size_t place : order) rounds[table.fold_of(place)].push_back(table.point_of(place));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end(),
                             [&](std::size_t a, std::size_t b) { return table.fold_of(a) < table.fold_of(b); }));
  EXPECT_THAT(rounds[0], ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
  // 2, 7, 8 and 3, 4, 5 are left: 2 starts from 1, which starts from 0, and 7 from 6.
  EXPECT_THAT(rounds[1], ElementsAre(0, 3, 6, 1, 4, 7, 2, 5, 8));
  // 7 and 8, and of those whose means are 0.5 the first two, one of which is the last C of the first loss.
  EXPECT_THAT(rounds[2], ElementsAre(0, 3, 6, 1, 7, 2, 8));
  // Of four four are left.
  EXPECT_EQ(rounds[3], rounds[2]);
  const Race end = race(table);
  EXPECT_EQ(end.rounds, 4u);
  EXPECT_TRUE(end.later.empty());
  EXPECT_EQ(choose(table, false).best, 7u);
}

TEST(Race, DoesNotDependOnWhoIsFirst) {
  SearchTable one(4, 3, 4), all(4, 3, 4);
  const auto order = fits_of_one_worker(one, decreed());
  EXPECT_LT(order.size(), all.size());
  for (std::size_t place = 0; place < all.size(); ++place) make(all, decreed(), place);
  EXPECT_THAT(race(all).needed, ElementsAreArray(order));
}

TEST(Race, GuessesTheRoundsToComeByWhatIsKnown) {
  SearchTable table(4, 3, 4);
  const Race begin = race(table);
  EXPECT_EQ(begin.needed.size(), 12u);
  EXPECT_EQ(begin.rounds, 0u);
  EXPECT_THAT(begin.running, Each(1));
  EXPECT_EQ(begin.later.size(), 6u + 4u + 4u);
  for (const std::size_t place : begin.needed) make(table, decreed(), place);
  const Race first = race(table);
  EXPECT_EQ(first.rounds, 1u);
  EXPECT_THAT(first.running, ElementsAre(0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0));
  EXPECT_EQ(first.needed.size(), 12u + 9u);
}

TEST(Race, AnUnknownErrorIsTheWorst) {
  SearchTable table(1, 6, 2);
  Errors errors(6, {0.5, 0.5});
  errors[0] = errors[2] = {NAN, NAN};
  fits_of_one_worker(table, errors);
  EXPECT_THAT(race(table).running, ElementsAre(0, 1, 0, 1, 1, 1));
}

TEST(LossCandidates, HaveTwoAndFourTimesTheKOfTheMetric) {
  const auto names = [](std::string_view metric, std::int64_t m) {
    std::vector<std::string> out;
    for (const LossCandidate& one : loss_candidates(parse_metric(metric), m)) {
      EXPECT_FALSE(one.reason.empty());
      EXPECT_NO_THROW(resolve_loss(one.loss, m));
      out.push_back(to_string(one.loss));
    }
    return out;
  };
  EXPECT_THAT(names("top5", 100), ElementsAre("max-hinge", "weighted-usunier", "softmax", "usunier:10", "usunier:20",
                                              "top-k:10", "top-k:20"));
  EXPECT_EQ(names("0.7*top1+0.3*top5", 100), names("top5", 100));
  // With k = 2 the two families are one.
  EXPECT_THAT(names("top1", 100),
              ElementsAre("max-hinge", "weighted-usunier", "softmax", "usunier:2", "usunier:4", "top-k:4"));
  EXPECT_EQ(names("cost", 100), names("top1", 100));
  EXPECT_THAT(names("top5", 10), ElementsAre("max-hinge", "weighted-usunier", "softmax", "usunier:9", "top-k:9"));
  EXPECT_THAT(names("top1", 3), ElementsAre("max-hinge", "weighted-usunier", "softmax", "usunier:2"));
  EXPECT_THAT(names("top1", 2), ElementsAre("max-hinge", "softmax"));
  EXPECT_EQ(names("top9223372036854775807", 100).back(), "top-k:99");
}

Dataset rows() {
  return testing::dataset_of(testing::random_samples(200, 8, 6, 3), testing::Storage::dense64);
}

CvOptions any_loss(const Dataset& data) {
  CvOptions options;
  options.train.bias = 1.0;
  options.metric = parse_metric("top2");
  for (LossCandidate& one : loss_candidates(options.metric, data.classes.size()))
    options.losses.push_back(std::move(one.loss));
  options.C = {0.01, 0.1, 1.0, 10.0};
  options.folds = stratified_folds(data.y, data.classes.size(), 5, 0);
  options.race = true;
  return options;
}

// NaN equals NaN.
auto same_as(const std::vector<double>& values) {
  std::vector<::testing::Matcher<double>> each;
  for (const double value : values) each.push_back(::testing::NanSensitiveDoubleEq(value));
  return ElementsAreArray(each);
}

TEST(CvRace, HasTheErrorsOfASearchOfEverythingAndChoosesAmongThoseThatCameToTheEnd) {
  const Dataset data = rows();
  CvOptions options = any_loss(data);
  const CvResult race = cross_validate(data, options);
  options.race = false;
  options.one_standard_error = true;  // which drops nothing
  const CvResult all = cross_validate(data, options);
  EXPECT_TRUE(race.complete);
  EXPECT_EQ(race.fits, race.wanted);
  EXPECT_LT(race.fits, all.fits);
  for (std::size_t p = 0; p < race.points.size(); ++p) {
    const CvPoint& point = race.points[p];
    EXPECT_GE(point.tried, 1u);
    EXPECT_EQ(point.dropped, point.tried < 5);
    EXPECT_EQ(point.competes, point.tried == 5);
    for (std::size_t f = 0; f < 5; ++f) {
      const double expected = f < point.tried ? all.points[p].errors[f] : NAN;
      EXPECT_THAT(point.errors[f], ::testing::NanSensitiveDoubleEq(expected));
    }
    if (!point.competes) continue;
    EXPECT_GE(point.mean, race.points[race.best].mean - 1e-12);
  }
  EXPECT_TRUE(race.points[race.best].competes);
  ASSERT_TRUE(race.refitted);
  TrainOptions alone = options.train;
  alone.loss = race.points[race.chosen].loss;
  alone.C = race.points[race.chosen].C;
  EXPECT_EQ(race.refitted->model.W, train(data, alone).model.W);
  EXPECT_LE(race.refitted->certificate.relative_gap(), 1e-3);
}

TEST(CvRace, GivesTheSameBitsWithAnyNumberOfThreads) {
  const Dataset data = rows();
  CvOptions options = any_loss(data);
  options.train.threads = 1;
  const CvResult one = cross_validate(data, options);
  options.train.threads = 4;
  const CvResult four = cross_validate(data, options);
  for (std::size_t p = 0; p < one.points.size(); ++p) {
    EXPECT_THAT(four.points[p].errors, same_as(one.points[p].errors));
    EXPECT_THAT(four.points[p].relative_gaps, same_as(one.points[p].relative_gaps));
  }
  EXPECT_EQ(one.chosen, four.chosen);
  EXPECT_EQ(one.refitted->model.W, four.refitted->model.W);
}

TEST(CvRace, ByOneStandardErrorTakesASmallerCOfTheBestLoss) {
  const Dataset data = rows();
  CvOptions options = any_loss(data);
  const CvResult best = cross_validate(data, options);
  options.one_standard_error = true;
  const CvResult simple = cross_validate(data, options);
  EXPECT_EQ(simple.best, best.best);
  const CvPoint &at = simple.points[simple.best], &chosen = simple.points[simple.chosen];
  EXPECT_EQ(chosen.loss, at.loss);
  EXPECT_LE(chosen.C, at.C);
  EXPECT_LE(chosen.mean, at.mean + at.standard_error);
  EXPECT_TRUE(chosen.competes);
}

// Those that came first in a round would otherwise be all that there is to choose from.
TEST(CvRace, ThatIsEndedInARoundGoesByTheRoundsBeforeIt) {
  const Dataset data = rows();
  CvOptions options = any_loss(data);
  options.train.threads = 1;
  const auto points = static_cast<std::int64_t>(options.losses.size() * options.C.size());
  for (const std::int64_t stop : {points / 2, points, points + 1, points + 3}) {
    const CvResult result = cross_validate(
        data, options, [&](const CvProgress& progress) { return progress.refitting || progress.finished < stop; });
    ASSERT_EQ(result.ended, Status::interrupted);
    EXPECT_FALSE(result.complete);
    EXPECT_GE(result.fits, static_cast<std::size_t>(stop));  // the one that was going on may have come to its end
    EXPECT_GT(result.wanted, result.fits);
    std::size_t competing = 0;
    for (const CvPoint& point : result.points) {
      competing += point.competes ? 1 : 0;
      if (!point.competes) continue;
      EXPECT_GE(point.errors[0], result.points[result.best].errors[0]);
      EXPECT_EQ(point.mean, point.errors[0]);
    }
    EXPECT_EQ(competing, std::min(result.fits, static_cast<std::size_t>(points)));
    ASSERT_TRUE(result.refitted);
    EXPECT_LE(result.refitted->certificate.relative_gap(), 1e-3);
  }
}

TEST(CvRace, EndsWithATimeLimitAndACertifiedModel) {
  const Dataset data = rows();
  CvOptions options = any_loss(data);
  options.train.time_limit_s = 1.0;
  options.judge = [](std::size_t, const LossSpec&, const std::vector<double>&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return 0.5;
  };
  const CvResult result = cross_validate(data, options);
  EXPECT_EQ(result.ended, Status::time_limit);
  EXPECT_GE(result.fits, 1u);
  EXPECT_LT(result.fits, result.wanted);
  ASSERT_TRUE(result.refitted);
  EXPECT_TRUE(std::isfinite(result.refitted->certificate.gap()));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
