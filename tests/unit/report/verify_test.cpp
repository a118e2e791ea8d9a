// The verifier on problems solved by hand and on the golden optima, and claims that it must refuse.
#include "topwolf/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/golden.hpp"
#include "topwolf/error.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using testing::golden;
using ::testing::HasSubstr;
using Vector = std::vector<double>;

Features dense(Vector values, std::int64_t rows) {
  const std::int64_t cols = static_cast<std::int64_t>(values.size()) / rows;
  return Features(FeatureStore(DenseStore<double>{std::move(values), rows, cols}));
}

SparseRows sparse_rows(const std::vector<Vector>& A) {
  SparseRows rows;
  for (const Vector& alpha : A) {
    for (std::size_t j = 0; j < alpha.size(); ++j) {
      if (alpha[j] == 0.0) continue;
      rows.column.push_back(static_cast<std::int32_t>(j));
      rows.values.push_back(alpha[j]);
    }
    rows.row_begin.push_back(static_cast<std::int64_t>(rows.values.size()));
  }
  return rows;
}

LossSpec loss_of(LossName name, std::optional<std::int64_t> k = {}, Vector rho = {}) {
  LossSpec loss;
  loss.name = name;
  loss.k = k;
  loss.rho = std::move(rho);
  return loss;
}

// Two rows, x = 1 in class 0 and x = -1 in class 1, lambda = 1, max hinge. At W = (w, -w) the primal is
// w^2 + max(0, 1 - 2w), and at alpha = +-(a, -a) the dual is a - a^2: the optimum is w = a = 1/2, value 1/4.
struct ByHand : ::testing::Test {
  Dataset data{dense({1.0, -1.0}, 2), {0, 1}, {LabelType::integer, {"1", "2"}}, {}, 1};
  Model model;
  ByHand() {
    model.d = 1;
    model.classes = data.classes;
    model.provenance.lambda = 1.0;
    model.provenance.weight_sum = 2.0;
    set(0.5, 0.25, 0.25);
  }
  void set(double w, double primal, double dual) {
    model.W = {w, -w};
    model.provenance.claim = {Status::converged, {primal, dual}};
  }
  static SparseRows dual_at(double a) { return sparse_rows({{a, -a}, {-a, a}}); }
};

TEST_F(ByHand, TheOptimumIsConfirmed) {
  const Verification v = verify(data, model, dual_at(0.5));
  EXPECT_TRUE(v.holds) << v.finding;
  EXPECT_NEAR(v.primal, 0.25, 1e-13);
  EXPECT_NEAR(v.dual, 0.25, 1e-13);
  EXPECT_EQ(v.infeasibility, 0.0);
  EXPECT_THAT(v.finding, HasSubstr("holds"));
}

TEST_F(ByHand, PrimalDualAndGapAreRecomputedAwayFromTheOptimum) {
  set(0.25, 0.5625, 0.16);
  const Verification v = verify(data, model, dual_at(0.2));
  EXPECT_TRUE(v.holds) << v.finding;
  EXPECT_NEAR(v.primal, 0.5625, 1e-13);
  EXPECT_NEAR(v.dual, 0.16, 1e-13);
  EXPECT_NEAR(v.gap, 0.4025, 1e-13);
  EXPECT_NEAR(v.relative_gap, 0.4025 / 0.5625, 1e-13);
}

TEST_F(ByHand, AClaimWeakerThanTheTruthHolds) {
  set(0.25, 0.6, 0.1);
  EXPECT_TRUE(verify(data, model, dual_at(0.2)).holds);
}

TEST_F(ByHand, APrimalClaimedTooLowIsRefused) {
  set(0.25, 0.5625 - 1e-8, 0.16);
  const Verification v = verify(data, model, dual_at(0.2));
  EXPECT_FALSE(v.holds);
  EXPECT_THAT(v.finding, HasSubstr("primal"));
}

TEST_F(ByHand, ADualClaimedTooHighIsRefused) {
  set(0.25, 0.5625, 0.16 + 1e-8);
  const Verification v = verify(data, model, dual_at(0.2));
  EXPECT_FALSE(v.holds);
  EXPECT_THAT(v.finding, HasSubstr("dual reaches"));
}

TEST_F(ByHand, AClaimThatIsNotANumberIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  set(0.5, nan, 0.25);
  EXPECT_FALSE(verify(data, model, dual_at(0.5)).holds);
  set(0.5, 0.25, nan);
  EXPECT_FALSE(verify(data, model, dual_at(0.5)).holds);
}

TEST_F(ByHand, AnInfeasibleDualIsRefusedAndItsWorstRowNamed) {
  const Verification v = verify(data, model, sparse_rows({{0.5, -0.5}, {-1.5, 1.5}}));
  EXPECT_FALSE(v.holds);
  EXPECT_DOUBLE_EQ(v.infeasibility, 0.5);
  EXPECT_THAT(v.finding, HasSubstr("row 2"));
}

TEST_F(ByHand, AModelWithoutACertificateIsNotConfirmed) {
  model.provenance.claim.reset();
  const Verification v = verify(data, model, dual_at(0.5));
  EXPECT_FALSE(v.holds);
  EXPECT_NEAR(v.primal, 0.25, 1e-13);
}

TEST_F(ByHand, AClaimAboutAnotherNumberOfRowsIsRefused) {
  model.provenance.weight_sum = 3.0;
  EXPECT_FALSE(verify(data, model, dual_at(0.5)).holds);
}

TEST_F(ByHand, SmoothingEntersPrimalAndDual) {
  // At s = 0 the envelope is max over t in [0, 1] of t - smoothing t^2, since |alpha|^2 = 2 t^2: 1/4 for smoothing 1.
  model.provenance.loss.smoothing = 1.0;
  set(0.0, 0.25, 0.5 - 0.5);
  const Verification v = verify(data, model, dual_at(0.5));
  EXPECT_TRUE(v.holds) << v.finding;
  EXPECT_NEAR(v.primal, 0.25, 1e-13);
  EXPECT_NEAR(v.dual, 0.25 - 0.25, 1e-13);
}

// At s = 0 the envelope is 1 / (4 smoothing); the dual at a = 1 / (2 smoothing) reaches it but for a^2.
TEST_F(ByHand, AnObjectiveThatSmoothingMakesTinyIsConfirmedAndNotMore) {
  for (double smoothing = 1e3; smoothing <= 1e300; smoothing *= 1e9) {
    model.provenance.loss.smoothing = smoothing;
    const double a = 0.5 / smoothing, primal = 0.25 / smoothing;
    set(0.0, primal, primal - a * a);
    const Verification v = verify(data, model, dual_at(a));
    EXPECT_TRUE(v.holds) << smoothing << ": " << v.finding;
    EXPECT_NEAR(v.primal, primal, 1e-12 * primal);
    set(0.0, primal * (1.0 - 1e-8), primal - a * a);
    EXPECT_FALSE(verify(data, model, dual_at(a)).holds) << smoothing;
    set(0.0, primal, (primal - a * a) + 1e-8 * primal);
    EXPECT_FALSE(verify(data, model, dual_at(a)).holds) << smoothing;
  }
}

// Costs, weights and smoothing times t, lambda by t: primal and dual times t, whatever t is.
TEST_F(ByHand, TheVerdictIsTheSameAtEveryScale) {
  for (const double smoothing : {0.0, 0.3, 40.0}) {
    for (int power = -980; power <= 980; power += 140) {
      const double t = std::ldexp(1.0, power);
      model.provenance.loss.smoothing = t * smoothing;
      model.provenance.loss.cost_matrix = {0.0, 3.0 * t, 2.0 * t, 0.0};
      model.provenance.lambda = 1.0 / t;
      set(0.25 * t, 1.0, 0.0);
      // Infeasible by an ulp or so, as the duals of solvers are.
      const SparseRows dual = sparse_rows({{0.2, -std::nextafter(0.2, 1.0)}, {-0.2, std::nextafter(0.2, 0.0)}});
      const Verification found = verify(data, model, dual);
      EXPECT_NEAR(found.dual / t, 0.46 - smoothing * 0.04, 1e-12) << power;
      if (smoothing == 0.0) {
        EXPECT_NEAR(found.primal / t, 0.0625 + 2.0, 1e-13) << power;
      }
      set(0.25 * t, found.primal, found.dual);
      EXPECT_TRUE(verify(data, model, dual).holds) << power;
      set(0.25 * t, found.primal * (1.0 - 1e-8), found.dual);
      EXPECT_FALSE(verify(data, model, dual).holds) << power;
      set(0.25 * t, found.primal, found.dual + 1e-8 * found.primal);
      EXPECT_FALSE(verify(data, model, dual).holds) << power;
    }
  }
}

TEST_F(ByHand, CostsAreTheMargins) {
  model.provenance.loss.cost_matrix = {0.0, 3.0, 2.0, 0.0};
  set(0.25, 0.0625 + 0.5 * (2.5 + 1.5), 0.5 - 0.04);
  const Verification v = verify(data, model, dual_at(0.2));
  EXPECT_TRUE(v.holds) << v.finding;
  EXPECT_NEAR(v.primal, 0.0625 + 2.0, 1e-13);
  EXPECT_NEAR(v.dual, 0.46, 1e-13);
}

TEST_F(ByHand, TheBiasIsARegularisedFeature) {
  model.bias = 2.0;
  model.W = {0.25, 0.1, -0.25, -0.1};
  model.provenance.claim = {Status::converged, {1.0, 0.0}};
  const Verification v = verify(data, model, dual_at(0.2));
  // Scores +-(0.25 + 0.2) and +-(0.25 - 0.2), z = 1 - 0.9 and 1 - 0.1.
  EXPECT_NEAR(v.primal, 0.5 * (2 * 0.0625 + 2 * 0.01) + 0.5 * (0.1 + 0.9), 1e-13);
  // The two rows cancel in the bias' column of W(A).
  EXPECT_NEAR(v.dual, 0.16, 1e-13);
}

TEST_F(ByHand, WeightedRowsCountLikeRepeatedRows) {
  set(0.3, 1.0, 0.0);
  data.weights = {1.0, 3.0};
  model.provenance.weight_sum = 4.0;
  const Verification weighted = verify(data, model, sparse_rows({{0.4, -0.4}, {-0.1, 0.1}}));
  Dataset repeated{dense({1.0, -1.0, -1.0, -1.0}, 4), {0, 1, 1, 1}, data.classes, {}, 1};
  const Verification plain = verify(repeated, model, sparse_rows({{0.4, -0.4}, {-0.1, 0.1}, {-0.1, 0.1}, {-0.1, 0.1}}));
  EXPECT_NEAR(weighted.primal, plain.primal, 1e-15);
  EXPECT_NEAR(weighted.dual, plain.dual, 1e-15);
  EXPECT_TRUE(weighted.holds) << weighted.finding;
}

TEST_F(ByHand, SparseAndSinglePrecisionRowsGiveTheSameNumbers) {
  const SparseRows dual = dual_at(0.2);
  const Verification expected = verify(data, model, dual);
  const CsrStore<float> rows{{0, 1, 2}, {0, 0}, {1.0f, -1.0f}, 2, 1};
  data.X = Features(FeatureStore(rows));
  const Verification v = verify(data, model, dual);
  EXPECT_EQ(v.primal, expected.primal);
  EXPECT_EQ(v.dual, expected.dual);
}

TEST_F(ByHand, WhatDoesNotFitTogetherIsAnError) {
  const SparseRows dual = dual_at(0.5);
  const auto refused = [&](auto&& change) {
    Dataset changed_data = data;
    Model changed_model = model;
    change(changed_data, changed_model);
    EXPECT_THROW(verify(changed_data, changed_model, dual), Error);
  };
  refused([](Dataset& d, Model&) { d.y = {0, 2}; });
  refused([](Dataset& d, Model&) { d.y = {0, -1}; });
  refused([](Dataset& d, Model&) { d.y = {0}; });
  refused([](Dataset& d, Model&) { d.classes.names = {"1", "3"}; });
  refused([](Dataset& d, Model&) { d.X = dense({1.0, 0.0, -1.0, 0.0}, 2); });
  refused([](Dataset& d, Model&) { d.weights = {1.0}; });
  refused([](Dataset& d, Model&) { d.weights = {1.0, -1.0}; });
  refused([](Dataset& d, Model&) { d.weights = {0.0, 0.0}; });
  refused([](Dataset&, Model& m) { m.W.pop_back(); });
  refused([](Dataset&, Model& m) { m.provenance.lambda = 0.0; });
  refused([](Dataset&, Model& m) { m.provenance.loss.cost_matrix = {0.0, 1.0}; });
  refused([](Dataset&, Model& m) { m.provenance.loss = loss_of(LossName::usunier, 2); });
  refused([](Dataset&, Model& m) { m.provenance.loss = loss_of(LossName::weighted_usunier, {}, {0.5, 0.5}); });
  refused([](Dataset&, Model& m) { m.provenance.loss = loss_of(LossName::weighted_usunier); });
  EXPECT_THROW(verify(data, model, sparse_rows({{0.5, -0.5}})), Error);
}

// With C = 3e11 the optimum is 2.5e-13. A dual that leaves its set by less than 1e-9 then seems to reach 1.5e-10, which
// would confirm any claim; what the infeasibility can have added must be taken off.
TEST(Verify, AnInfeasibilityThatIsSmallButNotBesideTheOptimumConfirmsNothing) {
  Dataset data;
  data.X = dense({1.0, -1.0, 2.0}, 3);
  data.y = {0, 1, 0};
  data.classes.names = {"0", "1"};
  Model model;
  model.d = 1;
  model.classes = data.classes;
  model.provenance.lambda = 1e-12;
  model.provenance.weight_sum = 3.0;
  model.W = {1.0, -1.0};  // four times the optimum
  model.provenance.claim = {Status::converged, {1e-12, 0.9995e-12}};
  const double e = 6e-10;
  const Verification found = verify(data, model, sparse_rows({{0.0, -e}, {0.0, 0.0}, {0.0, 0.5 * e}}));
  EXPECT_LT(found.infeasibility, verification_tolerance);
  EXPECT_NEAR(found.primal, 1e-12, 1e-24);
  EXPECT_FALSE(found.holds) << found.finding;
}

// A hundred classes. Each entry is below 0 by less than 1e-9, and each row is
// worth 99 times that.
TEST(Verify, ViolationsThatAreSmallOneByOneDoNotAddUpToAClaim) {
  const std::size_t m = 100;
  Dataset data;
  data.X = dense({1e9}, 1);
  data.y = {0};
  for (std::size_t j = 0; j < m; ++j) data.classes.names.push_back(std::to_string(j));
  Model model;
  model.d = 1;
  model.classes = data.classes;
  model.provenance.lambda = 1.0;
  model.provenance.weight_sum = 1.0;
  model.W.assign(m, 0.0);
  model.provenance.claim = {Status::converged, {1.0, 0.0}};
  Vector alpha(m, 0.9e-9);
  alpha[0] = -0.9e-9 * static_cast<double>(m - 1);
  const Verification found = verify(data, model, sparse_rows({alpha}));
  EXPECT_GT(found.infeasibility, 1e-8);
  EXPECT_LE(found.dual, 0.0);
  EXPECT_FALSE(found.holds) << found.finding;
}

// Scores of 2^60 + 7 - 2^60: double loses the 7, and the loss with it.
TEST(Verify, ScoresThatCancelProveNothing) {
  Dataset data;
  const double large = std::ldexp(1.0, 60);
  data.X = dense({large, -7.0, -large}, 1);
  data.y = {0};
  data.classes.names = {"0", "1"};
  Model model;
  model.d = 3;
  model.classes = data.classes;
  model.provenance.lambda = 1e-3;
  model.provenance.weight_sum = 1.0;
  model.W = {0.5, 0.5, 0.5, -0.5, -0.5, -0.5};  // scores -3.5 and 3.5: the loss is 8
  for (const double claimed : {0.01, 1.01, 7.99}) {
    model.provenance.claim = {Status::converged, {claimed, 0.0}};
    const Verification found = verify(data, model, sparse_rows({{0.0, 0.0}}));
    EXPECT_GE(found.primal, 8.0 + 0.5e-3 * 1.5);
    EXPECT_FALSE(found.holds) << found.finding;
  }
}

// A plain block-coordinate Frank-Wolfe on the golden problem, far too slow for anything but 18 rows.
struct GoldenProblem {
  std::vector<Vector> X = golden().at("problem").at("X").get<std::vector<Vector>>();
  std::vector<std::int32_t> y = golden().at("problem").at("y").get<std::vector<std::int32_t>>();
  std::vector<Vector> cost = golden().at("problem").at("cost").get<std::vector<Vector>>();
  Dataset data;
  Model model;
  Loss loss;
  std::vector<Vector> A;

  explicit GoldenProblem(const nlohmann::json& entry) {
    model.provenance.loss = testing::spec_of(entry, golden().at("problem"));
    loss = testing::loss_of(entry, golden().at("problem"));
    loss.smoothing = model.provenance.loss.smoothing;

    Vector values;
    for (const Vector& x : X) values.insert(values.end(), x.begin(), x.end());
    data.X = dense(values, static_cast<std::int64_t>(X.size()));
    data.y = y;
    for (std::size_t j = 0; j < cost.size(); ++j) data.classes.names.push_back(std::to_string(j));
    if (entry.at("weighted")) data.weights = golden().at("problem").at("weights").get<Vector>();
    if (entry.at("cost_sensitive")) {
      for (const Vector& row : cost) {
        model.provenance.loss.cost_matrix.insert(model.provenance.loss.cost_matrix.end(), row.begin(), row.end());
      }
    }
    model.d = data.X.cols();
    model.classes = data.classes;
    model.provenance.lambda = entry.at("lam");
    model.W.assign(cost.size() * X[0].size(), 0.0);
    for (std::size_t i = 0; i < X.size(); ++i) model.provenance.weight_sum += omega(i);
    A.assign(X.size(), Vector(cost.size(), 0.0));
  }

  double omega(std::size_t i) const { return data.weights.empty() ? 1.0 : data.weights[i]; }
  double delta(std::size_t i, std::size_t j) const {
    if (static_cast<std::int32_t>(j) == y[i]) return 0.0;
    return model.provenance.loss.cost_matrix.empty() ? 1.0 : cost[y[i]][j];
  }

  void step(std::size_t i) {
    const std::size_t m = cost.size(), d = X[i].size();
    Vector gain(m);  // c - s - smoothing alpha
    for (std::size_t j = 0; j < m; ++j) {
      gain[j] = -delta(i, j) - loss.smoothing * A[i][j];
      for (std::size_t c = 0; c < d; ++c) gain[j] -= model.W[j * d + c] * X[i][c];
    }
    std::vector<std::size_t> order(m);
    for (std::size_t j = 0; j < m; ++j) order[j] = j;
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return gain[a] < gain[b]; });
    Vector u(m, 0.0);
    double value = 0.0;
    for (std::size_t r = 0; r < loss.rho.size(); ++r) {
      const double z = gain[y[i]] - gain[order[r]];
      if (loss.family == Family::usunier && z <= 0.0) continue;
      value += loss.rho[r] * z;
      u[order[r]] -= loss.rho[r];
      u[y[i]] += loss.rho[r];
    }
    if (value <= 0.0) u.assign(m, 0.0);
    double slope = 0.0, squares = 0.0, norm = 0.0;
    for (std::size_t j = 0; j < m; ++j) {
      slope += gain[j] * (u[j] - A[i][j]);
      squares += (u[j] - A[i][j]) * (u[j] - A[i][j]);
    }
    for (const double x : X[i]) norm += x * x;
    const double h = omega(i) * norm / (model.provenance.lambda * model.provenance.weight_sum) + loss.smoothing;
    const double gamma = slope <= 0.0 ? 0.0 : std::min(1.0, h * squares > 0.0 ? slope / (h * squares) : 1.0);
    for (std::size_t j = 0; j < m; ++j) {
      const double change = gamma * (u[j] - A[i][j]);
      A[i][j] += change;
      for (std::size_t c = 0; c < d; ++c) {
        model.W[j * d + c] += omega(i) * change * X[i][c] / (model.provenance.lambda * model.provenance.weight_sum);
      }
    }
  }
};

TEST(Verify, EveryGoldenOptimumLiesBetweenTheRecomputedDualAndPrimal) {
  for (const auto& entry : golden().at("optimum")) {
    GoldenProblem problem(entry);
    for (int pass = 0; pass < 3000; ++pass) {
      for (std::size_t i = 0; i < problem.X.size(); ++i) problem.step(i);
    }
    const SparseRows dual = sparse_rows(problem.A);
    problem.model.provenance.claim = {Status::converged, {1e300, -1e300}};
    const Verification v = verify(problem.data, problem.model, dual);
    const double optimum = entry.at("objective");
    EXPECT_TRUE(v.holds) << v.finding << entry;
    EXPECT_GE(v.primal, optimum - 1e-8) << entry;
    EXPECT_LE(v.dual, optimum + 1e-8) << entry;
    EXPECT_LT(v.relative_gap, 2e-3) << entry;
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
