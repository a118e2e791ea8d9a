// A loss by its oracle from the options to a model and back: what is claimed, verified, saved, and refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "data/row_files.hpp"
#include "support/plain_problem.hpp"
#include "topwolf/topwolf.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;

Dataset some_rows() {
  return testing::dataset_of(testing::random_samples(80, 7, 6, 3), testing::Storage::dense64);
}

TrainOptions options_for(std::shared_ptr<const LossOracle> oracle, SolverName solver = SolverName::automatic) {
  TrainOptions options;
  options.loss = loss_by_oracle(std::move(oracle));
  options.solver = solver;
  options.tolerance = 1e-2;
  options.max_iterations = 3000;
  options.keep_dual = true;
  options.bias = 1.0;
  return options;
}

std::string sentence_of(const std::function<void()>& call, ErrorKind kind) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "nothing";
}

TEST(OracleTraining, IsCertifiedAndVerified) {
  const Dataset data = some_rows();
  for (const SolverName solver : {SolverName::automatic, SolverName::apg, SolverName::lsfw, SolverName::stdfw}) {
    for (const double smoothing : {0.0, 0.1}) {
      TrainOptions options = options_for(testing::three_groups(6), solver);
      options.loss.smoothing = smoothing;
      const TrainResult result = train(data, options);
      EXPECT_EQ(result.status, Status::converged) << to_string(solver);
      const Verification found = verify(data, result.model, result.dual);
      EXPECT_TRUE(found.holds) << found.finding;
      EXPECT_THAT(found.finding, HasSubstr("holds, if the oracle is right"));
      EXPECT_NEAR(found.primal, result.certificate.primal, 1e-9 * found.primal);
    }
  }
}

TEST(OracleTraining, AForgedDualDoesNotHold) {
  const Dataset data = some_rows();
  TrainResult result = train(data, options_for(testing::three_groups(6)));
  for (double& value : result.dual.values) value *= 1.01;
  EXPECT_THAT(verify(data, result.model, result.dual).finding, HasSubstr("not feasible"));
}

TEST(OracleTraining, IsAuditedAndSwept) {
  const Dataset data = some_rows();
  const TrainOptions options = options_for(testing::three_groups(6));
  const TrainResult result = train(data, options);
  const AuditResult audited = audit(data, result.model, audit_options(result.model));
  EXPECT_LE(audited.most_excess, 0.02);
  EXPECT_EQ(audited.training.status, Status::converged);
  CvOptions search;
  search.train = options;
  search.losses = {options.loss, parse_loss("max-hinge")};
  search.C = {0.1, 1.0};
  search.folds = stratified_folds(data.y, 6, 2, 1);
  EXPECT_EQ(cross_validate(data, search).points.size(), 4u);
  SweepOptions sweeping;
  sweeping.train = options;
  sweeping.C = {0.1, 1.0, 10.0};
  int points = 0;
  SweepObserver observer;
  observer.finished = [&](const SweepPoint& point, const TrainResult& fitted) {
    EXPECT_EQ(point.status, Status::converged);
    const Verification found = verify(data, fitted.model, fitted.dual);
    EXPECT_TRUE(found.holds) << found.finding;
    ++points;
  };
  sweep(data, sweeping, observer);
  EXPECT_EQ(points, 3);
}

// Where a loss with a name would be newton's, also beside one in a search that has as many entries.
TEST(OracleTraining, IsNeverLeftToNewton) {
  const Dataset data = some_rows();
  CvOptions search;
  search.train = options_for(testing::three_groups(6));
  search.train.max_iterations = 5;
  search.losses = {parse_loss("softmax"), search.train.loss};
  search.C = {0.1, 1e4};
  search.folds = stratified_folds(data.y, 6, 2, 1);
  search.train.C = 1e4;
  EXPECT_THAT(train(data, search.train).choice, HasSubstr("block"));
  EXPECT_EQ(cross_validate(data, search).points.size(), 4u);
  search.train.loss = parse_loss("max-hinge");
  EXPECT_THAT(train(data, search.train).choice, HasSubstr("newton"));
}

TEST(OracleTraining, RowsMayStayOnDisk) {
  Dataset here = testing::dataset_of(testing::random_samples(1500, 4000, 6, 3), testing::Storage::dense32),
          there = here;
  there.X = Features(rows_in_memory(here.X));
  TrainOptions options = options_for(testing::three_groups(6));
  options.loss.smoothing = 0.1;
  options.tolerance = 0.1;
  const TrainResult loaded = train(here, options);
  options.memory = 62'000'000;  // the rows have 24 MB, the program 48
  const TrainResult found = train(there, options);
  EXPECT_THAT(found.choice, HasSubstr("on disk"));
  EXPECT_EQ(found.status, Status::converged);
  EXPECT_LE(found.certificate.dual, loaded.certificate.primal);
  EXPECT_GE(found.certificate.primal, loaded.certificate.dual);
  const Verification proven = verify(there, found.model, found.dual);
  EXPECT_TRUE(proven.holds) << proven.finding;
}

TEST(OracleTraining, AFileHasTheNameAndNoOracle) {
  const TempFolder folder;
  const Dataset data = some_rows();
  const TrainResult result = train(data, options_for(testing::three_groups(6)));
  const std::string path = folder.file("m.topwolf");
  save_model(result.model, path);
  Model model = load_model(path);
  EXPECT_EQ(model.provenance.loss.name, LossName::oracle);
  EXPECT_EQ(to_string(model.provenance.loss), "group hinge");
  EXPECT_EQ(model.W, result.model.W);
  EXPECT_THAT(sentence_of([&] { verify(data, model, result.dual); }, ErrorKind::data), HasSubstr("group hinge"));
  EXPECT_THAT(sentence_of([&] { audit(data, model, audit_options(model)); }, ErrorKind::data),
              HasSubstr("group hinge"));
  model.provenance.loss.oracle = testing::three_groups(6);
  EXPECT_TRUE(verify(data, model, result.dual).holds);
}

// Right until it is asked so many times.
class Breaks final : public LossOracle {
 public:
  std::string name() const override { return "breaks"; }
  double value(std::span<const double> z, std::int64_t y) const override { return hinge_.value(z, y); }
  void vertex(std::span<const double> z, std::int64_t y, std::span<double> u) const override {
    if (++asked_ > 5000) throw std::runtime_error("out of order");
    hinge_.vertex(z, y, u);
  }

 private:
  const testing::KnownOracle hinge_{Loss{}};
  mutable std::atomic<int> asked_{0};
};

TEST(OracleTraining, WhatTheOracleThrowsComesBack) {
  for (const int threads : {1, 3}) {
    TrainOptions options = options_for(std::make_shared<Breaks>(), SolverName::lsfw);
    options.tolerance = 1e-9;
    options.threads = threads;
    EXPECT_THROW(train(some_rows(), options), std::runtime_error);
  }
}

TEST(OracleTraining, CannotBeAskedForByName) {
  EXPECT_THAT(sentence_of([] { parse_loss("oracle"); }, ErrorKind::option), HasSubstr("unknown loss 'oracle'"));
  TrainOptions options = options_for(testing::three_groups(6), SolverName::newton);
  EXPECT_THAT(sentence_of([&] { train(some_rows(), options); }, ErrorKind::option), HasSubstr("second derivatives"));
  options.loss.rho.clear();
  options.loss.k = 3;
  EXPECT_THAT(sentence_of([&] { train(some_rows(), options); }, ErrorKind::option), HasSubstr("takes no k"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
