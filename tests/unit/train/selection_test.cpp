// Sweeps and cross-validation against the plainest way to do the same: one training run after the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "support/plain_problem.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using testing::Storage;

Dataset rows(std::int64_t n = 90, Storage storage = Storage::dense64) {
  return testing::dataset_of(testing::random_samples(n, 6, 5, 11), storage);
}

TrainOptions tight() {
  TrainOptions options;
  options.tolerance = 1e-7;
  options.bias = 1.0;
  return options;
}

CvOptions cv_options(const Dataset& data) {
  CvOptions options;
  options.train = tight();
  options.losses = {parse_loss("max-hinge"), parse_loss("usunier:2")};
  options.C = {0.03, 10.0, 1.0};
  options.folds = stratified_folds(data.y, data.classes.size(), 4, 5);
  return options;
}

// NaN equals NaN.
auto same_as(const std::vector<double>& values) {
  std::vector<::testing::Matcher<double>> each;
  for (const double value : values) each.push_back(::testing::NanSensitiveDoubleEq(value));
  return ::testing::ElementsAreArray(each);
}

// ---- Sweep

class SweepOf : public ::testing::TestWithParam<std::tuple<SolverName, ScoresName, Storage>> {};

TEST_P(SweepOf, FindsEveryOptimumThatTrainingAloneFinds) {
  const auto [solver, scores, storage] = GetParam();
  const Dataset data = rows(60, storage);
  SweepOptions options;
  options.train = tight();
  options.train.solver = solver;
  options.train.scores = scores;
  options.train.tolerance = solver == SolverName::stdfw || solver == SolverName::lsfw ? 0.02 : 1e-4;
  options.train.loss = parse_loss("top-k:2");
  options.C = {1.0, 0.1, 0.1, 3.0};
  std::vector<double> finished;
  SweepObserver observer;
  observer.finished = [&](const SweepPoint& point, const TrainResult& result) {
    finished.push_back(point.C);
    EXPECT_EQ(result.certificate.primal, point.certificate.primal);
    TrainOptions alone = options.train;
    alone.C = point.C;
    const TrainResult cold = train(data, alone);
    EXPECT_EQ(point.status, Status::converged);
    EXPECT_GE(point.certificate.primal, cold.certificate.dual);
    EXPECT_LE(point.certificate.dual, cold.certificate.primal);
    EXPECT_NEAR(objective(data, alone, result.model.W), point.certificate.primal, 1e-9 * point.certificate.primal);
    EXPECT_EQ(point.training_errors, top_k_errors(Predictor(result.model), data.X, data.y, {1, 3}));
    EXPECT_EQ(result.model.provenance.data_hash, cold.model.provenance.data_hash);
  };
  const SweepResult result = sweep(data, options, observer);
  EXPECT_THAT(finished, ElementsAre(0.1, 1.0, 3.0));
  EXPECT_THAT(result.places, ElementsAre(1, 3));
  EXPECT_THAT(result.points, SizeIs(3));
}

INSTANTIATE_TEST_SUITE_P(Methods, SweepOf,
                         ::testing::Values(std::tuple{SolverName::block, ScoresName::gram, Storage::dense64},
                                           std::tuple{SolverName::block, ScoresName::gram, Storage::dense32},
                                           std::tuple{SolverName::block, ScoresName::weights, Storage::dense64},
                                           std::tuple{SolverName::block, ScoresName::weights, Storage::csr32},
                                           std::tuple{SolverName::apg, ScoresName::automatic, Storage::dense64},
                                           std::tuple{SolverName::lsfw, ScoresName::automatic, Storage::dense64},
                                           std::tuple{SolverName::stdfw, ScoresName::automatic, Storage::dense64}));

TEST(Sweep, TakesFewerPassesThanColdStarts) {
  const Dataset data = rows();
  SweepOptions options;
  options.train = tight();
  options.C = log_spaced(0.01, 10.0, 7);
  std::int64_t warm = 0, cold = 0;
  for (const SweepPoint& point : sweep(data, options).points) {
    warm += point.iterations;
    TrainOptions alone = options.train;
    alone.C = point.C;
    cold += train(data, alone).iterations;
  }
  EXPECT_LT(warm, cold);
}

TEST(Sweep, JudgesHeldOutRowsAndEndsWhenAsked) {
  const Dataset data = rows(), other = rows(30);
  SweepOptions options;
  options.train = tight();
  options.C = {0.1, 1.0, 10.0};
  options.held_out = &other;
  SweepObserver observer;
  observer.pass = [](double C, const Progress&) { return C < 1.0; };
  observer.finished = [&](const SweepPoint& point, const TrainResult& result) {
    EXPECT_EQ(point.held_out_errors, top_k_errors(Predictor(result.model), other.X, other.y, {1, 3}));
  };
  const SweepResult result = sweep(data, options, observer);
  ASSERT_THAT(result.points, SizeIs(2));
  EXPECT_EQ(result.points[0].status, Status::converged);
  EXPECT_EQ(result.points[1].status, Status::interrupted);
  EXPECT_EQ(result.points[1].iterations, 1);
  EXPECT_EQ(result.ended, Status::interrupted);
  EXPECT_THAT(result.not_tried, ElementsAre(10.0));
}

TEST(Sweep, LooksAtTheClockBetweenPointsThatAreFoundAtOnce) {
  SweepOptions options;
  options.train.tolerance = 1e-2;
  options.train.time_limit_s = 1e-9;
  options.C = {1e-12, 2e-12, 3e-12};
  const SweepResult result = sweep(rows(), options);
  ASSERT_LT(result.points.size(), 3u);
  EXPECT_EQ(result.ended, Status::time_limit);
  EXPECT_THAT(result.not_tried, SizeIs(3 - result.points.size()));
}

TEST(Sweep, RefusesGridsThatAreNone) {
  const Dataset data = rows();
  SweepOptions options;
  for (const std::vector<double>& grid : {std::vector<double>{}, {0.0}, {-1.0, 1.0}, {std::nan("")}}) {
    options.C = grid;
    EXPECT_THROW(sweep(data, options), Error);
  }
}

// ---- Cross-validation

// Few errors where C is small, and many where it is large: some points cannot win.
Dataset rows_to_drop_on() {
  testing::Samples samples = testing::random_samples(120, 15, 5, 21);
  for (std::size_t i = 0; i < 120; ++i) {
    for (std::size_t f = 0; f < 15; ++f)
      samples.X[15 * i + f] += f % 5 == static_cast<std::size_t>(samples.y[i]) ? 1.0 : 0.0;
  }
  return testing::dataset_of(samples, Storage::dense64);
}

double plain_error(const Dataset& data, const TrainOptions& options, const Fold& fold) {
  const TrainResult result = train(subset(data, fold.training), options);
  const Dataset held_out = subset(data, fold.held_out);
  return top_k_errors(Predictor(result.model), held_out.X, held_out.y, {1}, 0, held_out.weights)[0];
}

class CvOf : public ::testing::TestWithParam<std::tuple<ScoresName, Storage, bool>> {};

TEST_P(CvOf, FindsTheErrorsOfTrainingOnEveryFoldAlone) {
  const auto [scores, storage, weighted] = GetParam();
  Dataset data = rows(90, storage);
  if (weighted) {
    for (std::int64_t i = 0; i < 90; ++i) data.weights.push_back(0.5 * static_cast<double>(i % 4));
  }
  CvOptions options = cv_options(data);
  options.train.scores = scores;
  const CvResult result = cross_validate(data, options);
  ASSERT_THAT(result.points, SizeIs(6));
  for (const CvPoint& point : result.points) {
    TrainOptions alone = options.train;
    alone.loss = point.loss;
    alone.C = point.C;
    ASSERT_THAT(point.errors, SizeIs(4));
    for (std::size_t f = 0; f < point.tried; ++f) {
      EXPECT_NEAR(point.errors[f], plain_error(data, alone, options.folds[f]), 1e-12) << point.C << " fold " << f;
    }
    const auto tried = static_cast<std::ptrdiff_t>(point.tried);
    ASSERT_GT(tried, 0);
    EXPECT_TRUE(point.dropped || tried == 4);
    EXPECT_THAT(std::vector(point.relative_gaps.begin(), point.relative_gaps.begin() + tried),
                Each(::testing::Le(1e-7)));
    const double sum = std::accumulate(point.errors.begin(), point.errors.begin() + tried, 0.0);
    EXPECT_DOUBLE_EQ(point.mean, sum / static_cast<double>(tried));
    EXPECT_GE(sum, 4.0 * result.points[result.best].mean * (tried == 4 ? 1.0 - 1e-12 : 1.0));
  }
  ASSERT_TRUE(result.refitted);
  TrainOptions chosen = options.train;
  chosen.loss = result.points[result.chosen].loss;
  chosen.C = result.points[result.chosen].C;
  const TrainResult alone = train(data, chosen);
  EXPECT_EQ(result.refitted->model.W, alone.model.W);
  EXPECT_EQ(result.refitted->model.provenance.data_hash, alone.model.provenance.data_hash);
  EXPECT_FALSE(result.refitted->model.provenance.search.empty());
}

INSTANTIATE_TEST_SUITE_P(Methods, CvOf,
                         ::testing::Values(std::tuple{ScoresName::gram, Storage::dense64, false},
                                           std::tuple{ScoresName::gram, Storage::dense64, true},
                                           std::tuple{ScoresName::weights, Storage::dense64, true},
                                           std::tuple{ScoresName::weights, Storage::csr64, false}));

TEST(Cv, GivesTheSameBitsWithAnyNumberOfThreads) {
  const Dataset data = rows_to_drop_on();
  CvOptions options = cv_options(data);
  options.C = log_spaced(1e-3, 1e3, 7);
  options.train.tolerance = 1e-4;
  options.train.threads = 1;
  const CvResult one = cross_validate(data, options);
  options.train.threads = 3;
  const CvResult three = cross_validate(data, options);
  for (std::size_t p = 0; p < one.points.size(); ++p) {
    EXPECT_THAT(one.points[p].errors, same_as(three.points[p].errors));
    EXPECT_THAT(one.points[p].relative_gaps, same_as(three.points[p].relative_gaps));
    EXPECT_EQ(one.points[p].dropped, three.points[p].dropped);
  }
  EXPECT_EQ(one.refitted->model.W, three.refitted->model.W);
}

TEST(Cv, ChoosesByTheRuleAndSaysWhenTheEdgeIsBest) {
  const Dataset data = rows();
  CvOptions options = cv_options(data);
  options.train.tolerance = 1e-3;
  options.losses.resize(1);
  options.refit = false;
  // The error of each C in each fold, by decree.
  const std::map<double, std::vector<double>> decreed{
      {0.03, {0.5, 0.6, 0.5, 0.6}}, {1.0, {0.30, 0.32, 0.30, 0.32}}, {10.0, {0.2, 0.4, 0.2, 0.4}}};
  std::vector<std::size_t> calls(4, 0);
  options.judge = [&](std::size_t fold, const LossSpec&, const std::vector<double>& W) {
    EXPECT_EQ(W.size(), 5u * 7u);
    return std::next(decreed.begin(), static_cast<std::ptrdiff_t>(calls[fold]++))->second[fold];
  };
  CvResult result = cross_validate(data, options);
  EXPECT_EQ(result.points[result.best].C, 10.0);
  EXPECT_TRUE(result.at_edge);
  EXPECT_EQ(result.chosen, result.best);
  EXPECT_NEAR(result.points[2].standard_error, 0.1154700538 / 2.0, 1e-9);
  EXPECT_FALSE(result.refitted);
  options.one_standard_error = true;
  calls.assign(4, 0);
  result = cross_validate(data, options);
  EXPECT_EQ(result.points[result.chosen].C, 1.0);
}

TEST(Cv, MeasuresCosts) {
  Dataset data = rows();
  CvOptions options = cv_options(data);
  options.metric = parse_metric("cost");
  options.refit = false;
  std::vector<double> cost(25, 2.0);
  for (std::size_t j = 0; j < 5; ++j) cost[6 * j] = 0.0;
  options.losses = {parse_loss("max-hinge")};
  options.losses[0].cost_matrix = cost;
  const CvResult costs = cross_validate(data, options);
  options.metric = parse_metric("top1");
  const CvResult errors = cross_validate(data, options);
  for (std::size_t p = 0; p < costs.points.size(); ++p) {
    EXPECT_NEAR(costs.points[p].mean, 2.0 * errors.points[p].mean, 1e-12);
    EXPECT_EQ(costs.points[p].dropped, errors.points[p].dropped);
  }
}

TEST(Cv, MixesErrorsByTheirWeights) {
  const Dataset data = rows();
  CvOptions options = cv_options(data);
  options.refit = false;
  options.one_standard_error = true;  // which drops nothing
  const auto found = [&](std::string_view metric) {
    options.metric = parse_metric(metric);
    return cross_validate(data, options);
  };
  const CvResult top1 = found("top1"), top2 = found("top2"), mix = found("3*top1 + top2");
  for (std::size_t p = 0; p < mix.points.size(); ++p) {
    EXPECT_LT(top2.points[p].mean, top1.points[p].mean);
    for (std::size_t f = 0; f < 4; ++f) {
      EXPECT_NEAR(mix.points[p].errors[f], 0.75 * top1.points[p].errors[f] + 0.25 * top2.points[p].errors[f], 1e-12);
    }
  }
}

TEST(Cv, RefusesAFoldThatTrainsOnOneClass) {
  Dataset data = rows();
  CvOptions options = cv_options(data);
  std::erase_if(options.folds[1].training, [&](std::int64_t i) { return data.y[static_cast<std::size_t>(i)] != 2; });
  const auto refused = [&] {
    EXPECT_THAT([&] { cross_validate(data, options); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr("fold 2 trains on rows of a single class")));
  };
  refused();
  // Rows of weight 0 are not there.
  options = cv_options(data);
  data.weights.assign(data.y.size(), 1.0);
  for (const std::int64_t i : options.folds[1].training) {
    const auto at = static_cast<std::size_t>(i);
    data.weights[at] = data.y[at] == 2 ? 1.0 : 0.0;
  }
  options.folds = {options.folds[0], options.folds[1]};
  refused();
}

TEST(Cv, EndsWhenAskedAndCountsItsFits) {
  const Dataset data = rows();
  const CvOptions options = cv_options(data);
  std::int64_t most = 0;
  CvResult result = cross_validate(data, options, [&](const CvProgress& progress) {
    EXPECT_LE(progress.total, 25);
    EXPECT_EQ(progress.refitting, progress.finished + 1 == progress.total);
    most = std::max(most, progress.finished);
    return true;
  });
  EXPECT_EQ(most, static_cast<std::int64_t>(result.fits));
  EXPECT_FALSE(result.ended);
  EXPECT_TRUE(result.complete);
}

TEST(Cv, KeepsWhatWasFinishedWhenItIsEnded) {
  const Dataset data = rows();
  CvOptions options = cv_options(data);
  options.train.threads = 1;
  options.one_standard_error = true;  // drops nothing
  const CvResult whole = cross_validate(data, options);
  // Both losses at the smallest C, and three folds of the first loss at the next.
  const CvResult result = cross_validate(
      data, options, [](const CvProgress& progress) { return progress.refitting || progress.finished < 11; });
  EXPECT_EQ(result.ended, Status::interrupted);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.fits, 11u);
  ASSERT_THAT(result.points, SizeIs(6));
  const std::vector<std::size_t> tried{4, 3, 0, 4, 0, 0};
  for (std::size_t p = 0; p < 6; ++p) {
    EXPECT_EQ(result.points[p].tried, tried[p]);
    EXPECT_FALSE(result.points[p].dropped);
    EXPECT_EQ(std::isnan(result.points[p].mean), tried[p] == 0);
    for (std::size_t f = 0; f < 4; ++f) {
      if (f < tried[p]) {
        EXPECT_EQ(result.points[p].errors[f], whole.points[p].errors[f]);
        EXPECT_EQ(result.points[p].relative_gaps[f], whole.points[p].relative_gaps[f]);
        EXPECT_EQ(result.points[p].iterations[f], whole.points[p].iterations[f]);
      } else {
        EXPECT_TRUE(std::isnan(result.points[p].errors[f]));
        EXPECT_EQ(result.points[p].iterations[f], 0);
      }
    }
  }
  EXPECT_THAT(result.best, ::testing::AnyOf(0u, 3u));  // the point that lacks a fold does not compete
  EXPECT_FALSE(result.at_edge);
  ASSERT_TRUE(result.refitted);
  TrainOptions alone = options.train;
  alone.loss = result.points[result.chosen].loss;
  alone.C = result.points[result.chosen].C;
  EXPECT_EQ(result.refitted->model.W, train(data, alone).model.W);
  EXPECT_EQ(result.refitted->status, Status::converged);
}

TEST(Cv, ATimeLimitLeavesRoomForTheFitToAllRows) {
  const Dataset data = rows(60);
  CvOptions options = cv_options(data);
  options.train.threads = 1;
  options.train.tolerance = 0.3;
  options.C = log_spaced(1e-3, 1e3, 200);
  options.losses.resize(1);
  options.train.time_limit_s = 3.0;
  // The folds take a tenth of a second a pass, and so should the fit to all rows, for all the search knows.
  const CvResult result = cross_validate(data, options, [](const CvProgress& progress) {
    if (!progress.refitting) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return true;
  });
  EXPECT_EQ(result.ended, Status::time_limit);
  EXPECT_FALSE(result.complete);
  EXPECT_GT(result.fits, 0u);
  EXPECT_LT(result.fits, 800u);
  ASSERT_TRUE(result.refitted);
  EXPECT_EQ(result.refitted->status, Status::converged);
  EXPECT_LT(result.seconds, 30.0);
}

TEST(Cv, DropsPointsThatCannotWinAndChoosesTheSame) {
  const Dataset data = rows_to_drop_on();
  CvOptions options = cv_options(data);
  options.train.tolerance = 1e-4;
  options.C = log_spaced(1e-4, 1e3, 8);
  const CvResult raced = cross_validate(data, options);
  options.judge = [&](std::size_t f, const LossSpec&, const std::vector<double>& W) {
    Classifier model;
    model.d = 15;
    model.bias = 1.0;
    model.W = W;
    model.precision = data.X.precision();
    model.classes = data.classes;
    const Dataset held_out = subset(data, options.folds[f].held_out);
    return top_k_errors(Predictor(model), held_out.X, held_out.y, {1})[0];
  };
  const CvResult whole = cross_validate(data, options);
  EXPECT_EQ(whole.fits, 64u);
  EXPECT_LT(raced.fits, 64u);
  EXPECT_TRUE(raced.complete);
  EXPECT_EQ(raced.chosen, whole.chosen);
  EXPECT_EQ(raced.refitted->model.W, whole.refitted->model.W);
  for (std::size_t p = 0; p < 16; ++p) {
    EXPECT_FALSE(whole.points[p].dropped);
    EXPECT_EQ(raced.points[p].dropped, raced.points[p].tried < 4);
    for (std::size_t f = 0; f < 4; ++f) {
      const double error = raced.points[p].errors[f];
      EXPECT_TRUE(std::isnan(error) || std::abs(error - whole.points[p].errors[f]) < 1e-12);
    }
  }
}

TEST(Cv, EndsAtAnyPass) {
  const Dataset data = rows(40);
  CvOptions options = cv_options(data);
  options.train.threads = 1;
  options.train.tolerance = 0.05;
  options.refit = false;
  std::int64_t passes = 0;
  cross_validate(data, options, [&](const CvProgress&) { return ++passes > 0; });
  for (std::int64_t last = 1; last < passes; ++last) {
    std::int64_t left = last;
    const CvResult result = cross_validate(data, options, [&](const CvProgress&) { return --left > 0; });
    EXPECT_EQ(result.ended, Status::interrupted) << last;
    EXPECT_FALSE(result.complete);
  }
}

TEST(Cv, TakesAnUnknownErrorForTheWorst) {
  const Dataset data = rows();
  CvOptions options = cv_options(data);
  options.losses.resize(1);
  std::int64_t calls = 0;
  options.train.threads = 1;
  options.judge = [&](std::size_t, const LossSpec&, const std::vector<double>&) {
    return calls++ < 4 ? NAN : 0.5;  // the folds of the first C
  };
  EXPECT_EQ(cross_validate(data, options).best, 1u);
}

TEST(Cv, RefusesWhatCannotBeValidated) {
  const Dataset data = rows();
  CvOptions options = cv_options(data);
  options.folds.clear();
  EXPECT_THROW(cross_validate(data, options), Error);
  options = cv_options(data);
  options.losses.clear();
  EXPECT_THROW(cross_validate(data, options), Error);
  options = cv_options(data);
  options.folds[0].held_out = {90};
  EXPECT_THROW(cross_validate(data, options), Error);
  options = cv_options(data);
  options.metric = parse_metric("top5");
  EXPECT_THROW(cross_validate(data, options), Error);
  Dataset weighted = data;
  weighted.weights.assign(90, 0.0);
  weighted.weights[static_cast<std::size_t>(options.folds[0].held_out[0])] = 1.0;
  options.metric = parse_metric("top1");
  EXPECT_THROW(cross_validate(weighted, options), Error);
  options = cv_options(data);
  options.losses.push_back(parse_loss("top-k:5"));
  EXPECT_THROW(cross_validate(data, options), Error);
  options = cv_options(data);
  options.judge = [](std::size_t, const LossSpec&, const std::vector<double>&) -> double {
    throw std::runtime_error("no judge");
  };
  EXPECT_THROW(cross_validate(data, options), std::runtime_error);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
