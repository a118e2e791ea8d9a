// The audit against plain loops and golden optima: the model's objective is exact, and the brackets hold the truth.
#include "topwolf/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/plain_problem.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using testing::golden;
using ::testing::HasSubstr;
using testing::PlainProblem;
using testing::Samples;
using testing::Storage;
using testing::Vector;

Vector random_weights(std::int64_t count, Rng& rng) {
  Vector W(static_cast<std::size_t>(count));
  for (double& w : W) w = 0.3 * rng.normal();
  return W;
}

// Classes 0 .. m-1, as testing::dataset_of names them.
Model model_of(Vector W, std::int64_t m, std::int64_t d, double bias = 0.0) {
  Model model;
  model.d = d;
  model.bias = bias;
  model.W = std::move(W);
  model.precision = Precision::float64;
  for (std::int64_t j = 0; j < m; ++j) model.classes.names.push_back(std::to_string(j));
  return model;
}

TrainOptions options_with(const LossSpec& loss, double lambda, double bias = 0.0) {
  TrainOptions options;
  options.loss = loss;
  options.lambda = lambda;
  options.bias = bias;
  options.tolerance = default_audit_tolerance;
  options.threads = 1;
  return options;
}

struct AuditOf : ::testing::Test {
  Samples samples = testing::random_samples(60, 5, 4, 3);
  Dataset data = testing::dataset_of(samples, Storage::dense64);
  double lambda = 0.02;
  TrainOptions options = options_with({}, lambda);
  Rng rng{7};
  PlainProblem plain{samples, {}, lambda};
};

// W = 0 has no regulariser: its objective is the mean loss at score 0.
TEST(AuditGolden, BracketsHoldTheTruthForEveryLoss) {
  int checked = 0;
  for (const auto& entry : golden().at("optimum")) {
    SCOPED_TRACE(entry.dump());
    const Samples samples = testing::golden_samples(entry.at("weighted").get<bool>());
    const Dataset data = testing::dataset_of(samples, Storage::dense64);
    TrainOptions options = options_with(testing::spec_of(entry, golden().at("problem")), entry.at("lam").get<double>());
    const Vector costs = testing::golden_costs();
    const bool with_costs = entry.at("cost_sensitive").get<bool>();
    if (with_costs) options.loss.cost_matrix = costs;
    const Vector zero(static_cast<std::size_t>(samples.m * samples.d), 0.0);
    const PlainProblem plain(samples, resolve_loss(options.loss, samples.m), *options.lambda, 0.0,
                             with_costs ? &costs : nullptr);

    const AuditResult result = audit(data, model_of(zero, samples.m, samples.d), options);
    const double optimum = entry.at("objective").get<double>();
    EXPECT_EQ(result.training.status, Status::converged);
    EXPECT_NEAR(result.primal, plain.primal(zero), 1e-12);
    EXPECT_LE(result.optimum.dual, optimum + 1e-9);
    EXPECT_GE(result.optimum.primal, optimum - 1e-9);
    EXPECT_LE(result.least_excess, result.primal / optimum - 1.0 + 1e-8);
    EXPECT_GE(result.most_excess, result.primal / optimum - 1.0 - 1e-8);
    EXPECT_LE(result.most_excess - result.least_excess, 1.01 * default_audit_tolerance * result.primal / optimum);
    ++checked;
  }
  EXPECT_EQ(checked, 60);
}

TEST_F(AuditOf, ZeroWeightsHaveTheObjectiveOne) {
  EXPECT_DOUBLE_EQ(audit(data, model_of(Vector(20, 0.0), 4, 5), options).primal, 1.0);
}

// The weights are doubles that float32 does not hold, and stay so where the features are float32.
TEST_F(AuditOf, TheObjectiveIsThatOfTheWeightsAsGiven) {
  const Vector W = random_weights(4 * 6, rng);
  const PlainProblem biased(samples, {}, lambda, 0.5);
  for (const Storage storage : testing::all_storages) {
    const AuditResult result =
        audit(testing::dataset_of(samples, storage), model_of(W, 4, 5, 0.5), options_with({}, lambda, 0.5));
    EXPECT_NEAR(result.primal, biased.primal(W), 1e-13 * result.primal);
    EXPECT_LT(result.optimum.primal, result.primal);
    EXPECT_GT(result.least_excess, 0.0);
  }
}

TEST_F(AuditOf, AModelTrainedTightlyIsAtItsOptimum) {
  TrainOptions tight = options_with(parse_loss("usunier:2"), lambda, 1.0);
  tight.tolerance = 1e-7;
  const Model model = train(data, tight).model;
  const AuditResult result = audit(data, model, audit_options(model));
  EXPECT_NEAR(result.primal, model.provenance.claim->certificate.primal, 1e-13)
      << "the model's own loss, lambda and bias";
  EXPECT_LE(result.primal, model.provenance.claim->certificate.primal) << "a certificate is rounded up";
  EXPECT_EQ(result.optimum.primal, result.primal) << "nothing better was seen";
  EXPECT_EQ(result.least_excess, 0.0);
  EXPECT_LE(result.most_excess, 1.01 * default_audit_tolerance);
}

TEST_F(AuditOf, ARunThatStopsEarlyStillBracketsTheTruth) {
  TrainOptions tight = options;
  tight.tolerance = 1e-9;
  const Model model = train(data, tight).model;
  options.max_iterations = 1;
  const AuditResult result = audit(data, model, options);
  EXPECT_EQ(result.training.status, Status::iteration_limit);
  EXPECT_EQ(result.optimum.primal, result.primal) << "the model is better than what the run saw";
  EXPECT_EQ(result.least_excess, 0.0);
  EXPECT_LE(result.optimum.dual, model.provenance.claim->certificate.primal);
}

TEST_F(AuditOf, ClassesAreMatchedByLabel) {
  const Vector W = random_weights(20, rng);
  Model model = model_of(W, 4, 5);
  // The rows of W in another order, and whole numbers spelled as reals.
  model.classes = {LabelType::real, {"2.0", "0.0", "3.0", "1.0"}};
  const Vector rows_of{2, 0, 3, 1};
  for (std::size_t r = 0; r < 4; ++r) {
    std::copy_n(W.begin() + static_cast<std::ptrdiff_t>(rows_of[r]) * 5, 5,
                model.W.begin() + static_cast<std::ptrdiff_t>(r) * 5);
  }
  EXPECT_NEAR(audit(data, model, options).primal, plain.primal(W), 1e-13);
}

TEST_F(AuditOf, AClassOfTheModelMayHaveNoRows) {
  const Vector W = random_weights(25, rng);
  Samples more = samples;
  more.m = 5;
  const AuditResult result = audit(data, model_of(W, 5, 5), options);
  EXPECT_NEAR(result.primal, PlainProblem(more, {}, lambda).primal(W), 1e-13);
  EXPECT_EQ(result.training.model.m(), 5);
}

TEST_F(AuditOf, AClassOfTheDataMustBeTheModels) {
  EXPECT_EQ(error_of(ErrorKind::data, [&] { audit(data, model_of(Vector(15, 0.0), 3, 5), options); }),
            "the class '3' of the data is none of the model's 3 classes");
  data.y[2] = 9;
  EXPECT_THAT(error_of(ErrorKind::data, [&] { audit(data, model_of(Vector(20, 0.0), 4, 5), options); }),
              HasSubstr("a class number is 9"));
}

TEST_F(AuditOf, FeaturesBeyondTheModelsWeighNothing) {
  const Vector W = random_weights(4 * 3, rng);
  Vector padded;
  for (std::size_t j = 0; j < 4; ++j) {
    padded.insert(padded.end(), W.begin() + static_cast<std::ptrdiff_t>(3 * j),
                  W.begin() + static_cast<std::ptrdiff_t>(3 * j + 3));
    padded.insert(padded.end(), 2, 0.0);
  }
  EXPECT_NEAR(audit(data, model_of(W, 4, 3), options).primal, plain.primal(padded), 1e-13);
  EXPECT_EQ(error_of(ErrorKind::data, [&] { audit(data, model_of(Vector(24, 0.0), 4, 6), options); }),
            "the data has 5 features, but the model has 6");
}

// The intercept is weight times bias: with a constant feature four times as large the weight is a quarter.
TEST_F(AuditOf, AnotherBiasKeepsTheIntercepts) {
  const Vector W = random_weights(4 * 6, rng);
  Vector scaled = W;
  for (std::size_t j = 0; j < 4; ++j) scaled[6 * j + 5] *= 0.25;
  const PlainProblem other(samples, {}, lambda, 2.0);
  EXPECT_NEAR(audit(data, model_of(W, 4, 5, 0.5), options_with({}, lambda, 2.0)).primal, other.primal(scaled), 1e-13);
  EXPECT_THAT(error_of(ErrorKind::data, [&] { audit(data, model_of(W, 4, 5, 0.5), options); }),
              HasSubstr("the model has intercepts, but the bias is 0"));
}

TEST_F(AuditOf, AModelWithoutInterceptsCanBeHeldAgainstAProblemWithABias) {
  const Vector W = random_weights(20, rng);
  const AuditResult result = audit(data, model_of(W, 4, 5), options_with({}, lambda, 1.0));
  EXPECT_NEAR(result.primal, plain.primal(W), 1e-13);
  EXPECT_EQ(result.training.model.D(), 6);
}

TEST_F(AuditOf, WeightsThatOverflowAreRefused) {
  EXPECT_THAT(error_of(ErrorKind::data, [&] { audit(data, model_of(Vector(20, 1e200), 4, 5), options); }),
              HasSubstr("overflows"));
  EXPECT_THAT(
      error_of(ErrorKind::data,
               [&] { audit(data, model_of(Vector(20, std::numeric_limits<double>::quiet_NaN()), 4, 5), options); }),
      HasSubstr("number 1 of the model's weights is nan"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { audit(data, model_of(Vector(19, 0.0), 4, 5), options); }),
              HasSubstr("19 weights, where 20 are needed"));
}

TEST_F(AuditOf, WithoutALossTheOptimumIsZeroAndTheExcessHasNoBound) {
  options.loss.cost_matrix.assign(16, 0.0);
  const AuditResult zero = audit(data, model_of(Vector(20, 0.0), 4, 5), options);
  EXPECT_EQ(zero.primal, 0.0);
  EXPECT_EQ(zero.least_excess, 0.0);
  EXPECT_TRUE(std::isinf(audit(data, model_of(random_weights(20, rng), 4, 5), options).most_excess));
}

TEST_F(AuditOf, TheObjectiveNeedsWeightsOfTheRightSize) {
  EXPECT_EQ(error_of(ErrorKind::data, [&] { objective(data, options, Vector(21, 0.0)); }),
            "there are 21 weights, but 4 classes x 5 features are needed");
}

TEST(AuditOptions, AreTheModelsOwn) {
  Model model = model_of(Vector(6, 0.0), 2, 2, 0.5);
  EXPECT_FALSE(audit_options(model).lambda) << "LIBLINEAR's models hold none";
  model.provenance.lambda = 0.25;
  model.provenance.loss = parse_loss("usunier:1");
  const TrainOptions options = audit_options(model);
  EXPECT_EQ(options.lambda, 0.25);
  EXPECT_EQ(options.bias, 0.5);
  EXPECT_EQ(options.loss.name, LossName::usunier);
  EXPECT_EQ(options.tolerance, default_audit_tolerance);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
