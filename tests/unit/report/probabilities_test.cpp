// Log loss, and the temperature that makes it least, for scores of every scale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/rng.hpp"
#include "topwolf/probabilities.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

// The rows are the scores.
struct ScoreRows {
  std::vector<double> X;
  std::vector<std::int32_t> y;
  std::int64_t m = 4;

  Features features() const {
    const auto n = static_cast<std::int64_t>(y.size());
    return Features(FeatureStore(DenseStore<double>{{X.begin(), X.end()}, n, m}));
  }
  Predictor predictor() const {
    Classifier plain;
    plain.d = m;
    for (std::int64_t j = 0; j < m; ++j) {
      plain.classes.names.push_back(std::to_string(j));
      for (std::int64_t c = 0; c < m; ++c) plain.W.push_back(j == c ? 1.0 : 0.0);
    }
    return Predictor(plain, Rows::raw);
  }
};

ScoreRows noisy(double scale) {
  Rng rng(3);
  ScoreRows rows;
  for (int i = 0; i < 200; ++i) {
    rows.y.push_back(static_cast<std::int32_t>(i % rows.m));
    for (std::int64_t j = 0; j < rows.m; ++j) rows.X.push_back(scale * (rng.normal() + (j == i % rows.m ? 1.0 : 0.0)));
  }
  return rows;
}

double calibrated(const ScoreRows& rows) {
  return calibrate(rows.predictor(), rows.features(), rows.y);
}

ProbabilityErrors errors(const ScoreRows& rows, double temperature) {
  return probability_errors(rows.predictor(), rows.features(), rows.y, temperature);
}

TEST(Probabilities, CalibrateFindsTheLeastLogLoss) {
  const ScoreRows rows = noisy(1.0);
  const double T = calibrated(rows), least = errors(rows, T).log_loss;
  // One example in n + 2 is taken to have another class, which moves the minimum a little.
  EXPECT_LT(least, errors(rows, 1.1 * T).log_loss);
  EXPECT_LT(least, errors(rows, 0.9 * T).log_loss);
}

TEST(Probabilities, TheTemperatureFollowsTheScaleOfTheScores) {
  const double T = calibrated(noisy(1.0)), log_loss = errors(noisy(1.0), T).log_loss;
  for (const int exponent : {-1000, -600, -520, -300, -1, 1, 300, 500, 520, 600, 1000}) {
    const double scale = std::ldexp(1.0, exponent);
    const double found = calibrated(noisy(scale));
    EXPECT_NEAR(found / scale, T, 1e-9 * T) << exponent;
    EXPECT_NEAR(errors(noisy(scale), found).log_loss, log_loss, 1e-9) << exponent;
  }
}

TEST(Probabilities, ScoresThatOverflowAreCalledTooLarge) {
  ScoreRows rows = noisy(1.0);
  rows.X[5] = 1.7e308;
  rows.X[6] = -1.7e308;
  EXPECT_THAT([&] { calibrated(rows); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr("they are too large")));
}

TEST(Probabilities, LogLossIsThatOfScoresFarFromZero) {
  const ScoreRows rows = noisy(1.0);
  const ProbabilityErrors near = errors(rows, 1.0);
  ScoreRows far = rows;
  for (double& x : far.X) x = std::round(x * 1024.0) / 1024.0;
  const ProbabilityErrors rounded = errors(far, 1.0);
  for (double& x : far.X) x += 0x1p40;
  const ProbabilityErrors found = errors(far, 1.0);
  EXPECT_NEAR(found.log_loss, rounded.log_loss, 1e-14);
  EXPECT_NEAR(found.brier, rounded.brier, 1e-14);
  EXPECT_NEAR(near.log_loss, rounded.log_loss, 1e-2);
}

// Scores of all rows at once would take n m numbers.
TEST(Probabilities, ErrorsOfManyRowsAreThoseOfTheirParts) {
  constexpr std::int64_t n = 5000, m = 2048;
  Rng rng(5);
  Classifier plain;
  plain.d = 1;
  for (std::int64_t j = 0; j < m; ++j) {
    plain.classes.names.push_back(std::to_string(j));
    plain.W.push_back(rng.normal());
  }
  const Predictor predictor(plain, Rows::raw);
  std::vector<double> X, weights;
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < n; ++i) {
    X.push_back(rng.normal());
    weights.push_back(rng.uniform());
    y.push_back(static_cast<std::int32_t>(rng.uniform() * (m + 100)) - 50);  // some are unknown
  }
  const auto errors_of = [&](std::int64_t from, std::int64_t to, bool sparse) {
    CsrStore<double> csr{{0}, {}, {}, to - from, 1};
    for (std::int64_t i = from; i < to; ++i) {
      csr.column.push_back(0);
      csr.values.push_back(X[static_cast<std::size_t>(i)]);
      csr.row_begin.push_back(i - from + 1);
    }
    const Features rows =
        sparse ? Features(FeatureStore(std::move(csr)))
               : Features(FeatureStore(DenseStore<double>{{X.begin() + from, X.begin() + to}, to - from, 1}));
    const std::vector<std::int32_t> labels(y.begin() + from, y.begin() + to);
    const std::vector<double> omega(weights.begin() + from, weights.begin() + to);
    return probability_errors(predictor, rows, labels, 1.0, 1, omega);
  };
  double log_loss = 0.0, brier = 0.0, total = 0.0;
  for (std::int64_t from = 0; from < n; from += 500) {
    double part = 0.0;
    for (std::int64_t i = from; i < from + 500; ++i) {
      const std::int32_t label = y[static_cast<std::size_t>(i)];
      part += label >= 0 && label < m ? weights[static_cast<std::size_t>(i)] : 0.0;
    }
    const ProbabilityErrors found = errors_of(from, from + 500, false);
    log_loss += part * found.log_loss;
    brier += part * found.brier;
    total += part;
  }
  for (const bool sparse : {false, true}) {
    const ProbabilityErrors all = errors_of(0, n, sparse);
    EXPECT_NEAR(all.log_loss, log_loss / total, 1e-11);
    EXPECT_NEAR(all.brier, brier / total, 1e-11);
  }
}

TEST(Probabilities, ErrorsAreNumbersWhateverTheScoresAre) {
  ScoreRows rows = noisy(1e308);
  const ProbabilityErrors found = errors(rows, 1e-6);
  EXPECT_FALSE(std::isnan(found.log_loss));
  EXPECT_TRUE(found.brier >= 0.0 && found.brier <= 2.0) << found.brier;
  EXPECT_TRUE(found.calibration >= 0.0 && found.calibration <= 1.0) << found.calibration;
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
