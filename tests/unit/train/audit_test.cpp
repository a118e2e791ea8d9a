// The audit against plain loops and golden optima: the model's objective is exact, and the brackets hold the truth.
#include "topwolf/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/plain_problem.hpp"
#include "support/referee.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using testing::golden;
using ::testing::HasSubstr;
using testing::PlainProblem;
using testing::Referee;
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
  const AuditResult result = audit(data, model_of(Vector(20, 0.0), 4, 5), options);
  EXPECT_NEAR(result.primal, 1.0, 1e-13);
  EXPECT_GE(result.primal, 1.0);
  EXPECT_NEAR(result.least_primal, 1.0, 1e-13);
  EXPECT_LE(result.least_primal, 1.0);
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

// Scores of 1e17 - 1e17 - 7: in double they are anything. The optimum is 0.5, the model's objective 2.50125.
TEST(AuditCancels, WhatDoubleCannotTellIsNotClaimed) {
  const std::int64_t d = 5;
  const Vector X{-7.0, 1e17, -1e17, 5.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  Dataset data{Features(FeatureStore(DenseStore<double>{X, 2, d})), {0, 1}, {LabelType::integer, {"0", "1"}}, {}, 0};
  Vector W;
  for (std::int64_t f = 0; f < 2 * d; ++f) W.push_back(f < d ? 0.5 : -0.5);
  const TrainOptions options = options_with({}, 1e-3);
  const AuditResult result = audit(data, model_of(W, 2, d), options);
  const double truth = 2.50125;
  EXPECT_GE(result.primal, truth);
  EXPECT_LE(result.least_primal, truth);
  EXPECT_GE(result.most_excess, truth / result.optimum.primal - 1.0);
  EXPECT_LE(result.least_excess, truth / result.optimum.dual - 1.0);
}

// A problem whose scores cancel, in numbers that a long double adds without rounding: multiples of 1/4 below 2^60.
struct Cancelling {
  Dataset data;
  TrainOptions options;
  Model model;

  explicit Cancelling(std::uint64_t seed) : rng_(seed) {
    const std::int64_t n = 1 + below(6), d = 4 + below(5), m = 2 + below(5);
    const bool single = below(2) == 0, mapped = below(3) == 0;
    options = options_with(loss(m), std::pow(10.0, -6.0 + 8.0 * rng_.uniform()), below(2) == 0 ? 0.0 : 1.0);
    options.max_iterations = 50;
    Vector X;
    for (std::int64_t i = 0; i < n; ++i) row(d, X);
    data.X = single ? Features(FeatureStore(DenseStore<float>{{X.begin(), X.end()}, n, d}))
                    : Features(FeatureStore(DenseStore<double>{X, n, d}));
    for (std::int64_t j = 0; j < m; ++j) data.classes.names.push_back(std::to_string(j));
    for (std::int64_t i = 0; i < n; ++i) data.y.push_back(static_cast<std::int32_t>(below(m)));
    const std::int64_t p = mapped ? 3 : m, D = d + (options.bias != 0.0 ? 1 : 0);
    Vector phi, V;
    for (std::int64_t c = 0; mapped && c < m * p; ++c) phi.push_back(static_cast<double>(below(3) - 1));
    for (std::int64_t c = 0; c < p; ++c) weights(D, V);
    model = model_of({}, m, d, options.bias);
    model.W = V;
    if (!mapped) return;
    data.class_features = model.class_features = Features(FeatureStore(DenseStore<double>{phi, m, p}));
    model.V = V;
    model.W.assign(static_cast<std::size_t>(m * D), 0.0);
    for (std::int64_t e = 0; e < m * p * D; ++e) {
      model.W[static_cast<std::size_t>(e / (p * D) * D + e % D)] +=
          phi[static_cast<std::size_t>(e / D)] * V[static_cast<std::size_t>(e % (p * D))];
    }
  }

 private:
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(count)));
  }
  LossSpec loss(std::int64_t m) {
    LossSpec spec;
    spec.name = static_cast<LossName>(below(5));
    const std::int64_t k = 1 + below(m - 1);
    if (spec.name == LossName::top_k || spec.name == LossName::usunier) spec.k = k;
    if (spec.name == LossName::weighted_top_k || spec.name == LossName::weighted_usunier) {
      for (std::int64_t r = 0; r < k; ++r) spec.rho.push_back(std::ldexp(1.0, static_cast<int>(-r)));
    }
    if (below(2) == 0) spec.smoothing = std::pow(10.0, -6.0 + 8.0 * rng_.uniform());
    return spec;
  }
  // One or two pairs of a large number and its negative, and small ones.
  void row(std::int64_t d, Vector& X) {
    Vector x(static_cast<std::size_t>(d));
    for (double& value : x) value = static_cast<double>(below(15) - 7);
    for (std::int64_t pair = below(3); pair > 0; --pair) {
      const double large = std::ldexp(1.0, static_cast<int>(below(4) == 0 ? below(20) : 33 + below(23)));
      x[static_cast<std::size_t>(below(d))] = large;
      x[static_cast<std::size_t>(below(d))] = -large;
    }
    X.insert(X.end(), x.begin(), x.end());
  }
  // Mostly the same for all features: then pairs cancel.
  void weights(std::int64_t D, Vector& V) {
    const double common = 0.25 * static_cast<double>(below(9) - 4);
    for (std::int64_t f = 0; f < D; ++f) {
      V.push_back(below(8) == 0 ? 0.25 * static_cast<double>(below(9) - 4) : common);
    }
  }
  Rng rng_;
};

TEST(AuditCampaign, TheBracketHoldsTheTruthWhereScoresCancel) {
  int wide = 0, narrow = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    const Cancelling trial(seed);
    const AuditResult result = audit(trial.data, trial.model, trial.options);
    const Referee referee(trial.data, trial.options.loss, result.training.loss, result.training.lambda,
                          trial.options.bias);
    const bool mapped = trial.data.class_features.rows() > 0;
    const Model& best = result.training.model;
    const long double truth = referee.primal(mapped ? trial.model.V : trial.model.W);
    // The optimum is not above either of these, nor below the dual.
    const long double optimum = std::min(truth, referee.primal(mapped ? best.V : best.W));
    const long double allowed = 1e-15L * truth;
    ASSERT_GE(result.primal, truth - allowed);
    ASSERT_LE(result.least_primal, truth + allowed);
    ASSERT_LE(result.optimum.dual, optimum * (1.0L + 1e-12L));
    ASSERT_GE(result.optimum.primal, result.optimum.dual * (1.0 - 1e-12));
    if (result.optimum.dual > 0.0) {
      ASSERT_LE(result.least_excess, truth / result.optimum.dual - 1.0L + 1e-15L);
    }
    if (optimum > 0.0L) {
      ASSERT_GE(result.most_excess, truth / optimum - 1.0L - 1e-15L);
    }
    (result.primal > 1.001 * result.least_primal ? wide : narrow) += 1;
  }
  EXPECT_GT(wide, 50);
  EXPECT_GT(narrow, 50);
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
