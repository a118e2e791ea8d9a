// The row definitions against golden values, and against each other.
#include "report/row_check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/rng.hpp"
#include "support/exact_projection.hpp"
#include "support/golden.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using testing::golden;
using testing::loss_of;
using Vector = std::vector<double>;

double smooth_loss(const Loss& loss, const RowProblem<double>& row) {
  return proven_loss(loss, row).most;
}

double plain_loss(Loss loss, const RowProblem<double>& row) {
  loss.smoothing = 0.0;
  return smooth_loss(loss, row);
}

double infeasibility(const Loss& loss, const Vector& alpha, std::int64_t y) {
  return row_miss(loss, alpha, y).infeasibility;
}

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The squared distance of a to the dual set, read off the envelope with smoothing 1 at s = c - a, c = -delta.
double squared_distance(Loss loss, const Vector& a, std::int64_t y) {
  loss.smoothing = 1.0;
  Vector delta(a.size(), 1.0), s(a.size());
  delta[y] = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) s[j] = -delta[j] - a[j];
  return dot(a, a) - 2.0 * smooth_loss(loss, {delta, s, y});
}

// rho on random places, added up with random shares: a point of the dual set.
Vector random_dual_point(const Loss& loss, std::size_t m, std::int64_t y, Rng& rng) {
  Vector alpha(m, 0.0);
  std::vector<std::size_t> places(m);
  std::iota(places.begin(), places.end(), std::size_t{0});
  double left = rng.uniform() < 0.2 ? rng.uniform() : 1.0;
  for (int vertex = 0; vertex < 4; ++vertex) {
    const double share = vertex == 3 ? left : left * rng.uniform();
    left -= share;
    rng.shuffle(places);
    for (std::size_t r = 0; r < loss.rho.size(); ++r) {
      alpha[places[r]] -= share * loss.rho[r];
      alpha[y] += share * loss.rho[r];
    }
  }
  return alpha;
}

struct Case {
  Loss loss;
  std::size_t m = 0;
  std::int64_t y = 0;
};

Case random_case(Rng& rng) {
  Case c;
  c.m = 2 + rng.below(7);
  c.y = static_cast<std::int64_t>(rng.below(c.m));
  c.loss.family = rng.uniform() < 0.5 ? Family::usunier : Family::top_k;
  c.loss.rho.resize(1 + rng.below(c.m - 1));
  for (double& r : c.loss.rho) r = 0.1 + rng.uniform();
  std::sort(c.loss.rho.rbegin(), c.loss.rho.rend());
  return c;
}

TEST(RowCheck, GoldenLossesAndEnvelopesAreReproduced) {
  int smoothed = 0;
  for (const auto& entry : golden().at("loss")) {
    Loss loss = loss_of(entry, entry);
    loss.smoothing = entry.at("smoothing");
    smoothed += loss.smoothing > 0.0;
    const auto delta = entry.at("delta").get<Vector>(), s = entry.at("s").get<Vector>();
    EXPECT_NEAR(smooth_loss(loss, {delta, s, entry.at("y")}), entry.at("value").get<double>(), 1e-9) << entry;
  }
  EXPECT_GT(smoothed, 10);
}

TEST(RowCheck, GoldenProjectionsAreFeasibleAndGiveTheEnvelope) {
  for (const auto& entry : golden().at("projection")) {
    const Loss loss = loss_of(entry, entry);
    const std::int64_t y = entry.at("y");
    const auto a = entry.at("a").get<Vector>(), alpha = entry.at("alpha").get<Vector>();
    EXPECT_LT(infeasibility(loss, alpha, y), 1e-9) << entry;
    Vector difference(a.size());
    std::transform(a.begin(), a.end(), alpha.begin(), difference.begin(), std::minus<>());
    EXPECT_NEAR(squared_distance(loss, a, y), dot(difference, difference), 1e-9 * (1.0 + dot(a, a))) << entry;
  }
}

TEST(RowCheck, TheTwoFamiliesDifferWhereTheyShould) {
  // z sorted: 2, 0 (the true class), -1: usunier counts no negative part, top-k does.
  const Vector delta = {0.0, 1.0, 1.0}, s = {0.0, 1.0, -2.0};
  Loss loss{Family::usunier, {0.5, 0.3, 0.2}, 0.0};
  EXPECT_NEAR(plain_loss(loss, {delta, s, 0}), 1.0, 1e-13);
  loss.family = Family::top_k;
  EXPECT_NEAR(plain_loss(loss, {delta, s, 0}), 0.8, 1e-13);
}

TEST(RowCheck, ConvexCombinationsOfVerticesAreFeasible) {
  Rng rng(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const Case c = random_case(rng);
    EXPECT_LT(infeasibility(c.loss, random_dual_point(c.loss, c.m, c.y, rng), c.y), 1e-12);
  }
}

TEST(RowCheck, FeasibilityAgreesWithTheDistanceToTheDualSet) {
  Rng rng(2);
  int inside = 0, outside = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Case c = random_case(rng);
    Vector alpha = random_dual_point(c.loss, c.m, c.y, rng);
    const double spread = 0.3 * rng.uniform();
    for (std::size_t j = 0; j < c.m; ++j) {
      const double change = spread * rng.normal();
      alpha[j] += change;
      alpha[c.y] -= change;
    }
    const double distance = std::sqrt(std::max(0.0, squared_distance(c.loss, alpha, c.y)));
    const RowMiss miss = row_miss(c.loss, alpha, c.y);
    if (miss.infeasibility < 1e-14) {
      ++inside;
      EXPECT_LT(distance, 1e-6);
    } else if (miss.infeasibility > 1e-4) {
      ++outside;
      EXPECT_GT(distance, 1e-6) << miss.infeasibility;
    }
    // The Euclidean distance is the sum of differences at most, alpha_y's included.
    for (double& value : alpha) value /= static_cast<double>(std::max(1.0L, miss.ratio));
    EXPECT_LE(squared_distance(c.loss, alpha, c.y), std::pow(2.0 * static_cast<double>(miss.distance), 2) + 1e-12);
  }
  EXPECT_GT(inside, 100);
  EXPECT_GT(outside, 1000);
}

TEST(RowCheck, TopKAcceptsMassMovedToTheTrueClassOnlyWhereSomeZetaAllowsIt) {
  // rho = (1/2, 1/2), m = 4, y = 0. With beta_y = 1/2 the rest may be (1/2, 0, 0).
  const Loss loss{Family::top_k, {0.5, 0.5}, 0.0};
  EXPECT_EQ(infeasibility(loss, Vector{0.5, -0.5, 0.0, 0.0}, 0), 0.0);
  EXPECT_NEAR(infeasibility(loss, Vector{0.6, -0.6, 0.0, 0.0}, 0), 0.2, 1e-15);  // 0.6 of 0.5
  // rho = (0.8, 0.1, 0.1): beta = (0.8, 0, 0) leaves 0.2 for the true class, so zeta = 1 would need 0.2 <= 0.1.
  const Loss steep{Family::top_k, {0.8, 0.1, 0.1}, 0.0};
  EXPECT_GT(infeasibility(steep, Vector{0.8, -0.8, 0.0, 0.0, 0.0}, 0), 0.05);
  EXPECT_LT(infeasibility(steep, Vector{0.9, -0.8, -0.1, 0.0, 0.0}, 0), 1e-15);
  // The Usunier set holds it: its polytope contains every smaller beta.
  EXPECT_EQ(infeasibility({Family::usunier, {0.8, 0.1, 0.1}, 0.0}, Vector{0.8, -0.8, 0.0, 0.0, 0.0}, 0), 0.0);
}

TEST(RowCheck, EveryBrokenConditionIsSeen) {
  for (const Family family : {Family::usunier, Family::top_k}) {
    const Loss loss{family, {1.0}, 0.0};
    EXPECT_EQ(infeasibility(loss, Vector{1.0, -1.0, 0.0}, 0), 0.0);
    EXPECT_NEAR(infeasibility(loss, Vector{1.1, -1.0, 0.0}, 0), 0.1, 1e-15);   // sum not 0
    EXPECT_NEAR(infeasibility(loss, Vector{-0.2, 0.2, 0.0}, 0), 0.4, 1e-15);   // negative beta, and alpha_y with it
    EXPECT_NEAR(infeasibility(loss, Vector{1.4, -0.7, -0.7}, 0), 0.4, 1e-15);  // too much in all
  }
}

// None of them is below 0 by more than 1e-9, all together by 99 times that.
TEST(RowCheck, ManySmallViolationsAddUp) {
  Vector alpha(100, 1e-9);
  alpha[3] = -99e-9;
  for (const Family family : {Family::usunier, Family::top_k}) {
    EXPECT_NEAR(infeasibility({family, {1.0}, 0.0}, alpha, 3), 2 * 99e-9, 1e-15);
  }
}

// The loss or envelope at s + shift, without any rounding.
exact::Rational exact_loss(const Loss& loss, const Vector& delta, const Vector& s, const Vector& shift, std::size_t y) {
  exact::Vector z, sorted{0};
  for (std::size_t j = 0; j < s.size(); ++j) {
    if (j != y) z.push_back(exact::Rational(delta[j]) + s[j] + shift[j] - s[y] - shift[y]);
  }
  exact::Rational total = 0, squares = 0, sum = 0;
  if (loss.smoothing > 0.0) {
    exact::Vector b;
    for (const auto& value : z) b.push_back(value / loss.smoothing);
    const exact::Vector beta = exact::project(loss, b);
    for (std::size_t j = 0; j < z.size(); ++j) {
      total += beta[j] * z[j];
      squares += beta[j] * beta[j];
      sum += beta[j];
    }
    return total - exact::Rational(loss.smoothing) / 2 * (squares + sum * sum);
  }
  sorted.insert(sorted.end(), z.begin(), z.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (std::size_t r = 0; r < loss.rho.size(); ++r) {
    if (loss.family == Family::top_k || sorted[r] > 0) total += loss.rho[r] * sorted[r];
  }
  return std::max(total, exact::Rational(0));
}

TEST(RowCheck, TheLossIsNotAboveItsBoundWhereverTheScoresAre) {
  Rng rng(8);
  for (int trial = 0; trial < 3000; ++trial) {
    Case c = random_case(rng);
    Vector delta(c.m, 1.0), s(c.m), shift(c.m);
    delta[c.y] = 0.0;
    const double scale = std::pow(10.0, -3.0 + 6.0 * rng.uniform());
    const double off = scale * std::pow(10.0, -18.0 * rng.uniform());
    for (double& value : s) value = scale * rng.normal();
    for (double& value : shift) value = off * (2.0 * rng.uniform() - 1.0);
    if (trial % 2 == 0) c.loss.smoothing = std::pow(10.0, -8.0 + 12.0 * rng.uniform());
    const exact::Rational truth = exact_loss(c.loss, delta, s, shift, static_cast<std::size_t>(c.y));
    const double found = smooth_loss(c.loss, {delta, s, c.y, off});
    EXPECT_GE(exact::Rational(found), truth);
    const double R = std::accumulate(c.loss.rho.begin(), c.loss.rho.end(), 0.0);
    EXPECT_LE(found, truth.get_d() + R * (4.1 * off + 1e-13 * (1.0 + scale)));

    const std::vector<long double> longer(s.begin(), s.end()), margin(delta.begin(), delta.end());
    const long double in_long_double =
        proven_loss(c.loss, RowProblem<long double>{margin, longer, c.y, static_cast<long double>(off)}).most;
    const auto high = static_cast<double>(in_long_double);
    EXPECT_GE(exact::Rational(high) + exact::Rational(static_cast<double>(in_long_double - high)), truth);
    EXPECT_LE(in_long_double, found * (1.0 + 1e-15));
  }
}

TEST(RowCheck, TheEnvelopeLiesBelowTheLossByAtMostHalfItsSmoothing) {
  // max over Q of |alpha|^2 is at most 2 sum(rho)^2.
  Rng rng(3);
  for (int trial = 0; trial < 2000; ++trial) {
    Case c = random_case(rng);
    Vector delta(c.m, 1.0), s(c.m);
    delta[c.y] = 0.0;
    for (double& value : s) value = (trial % 3 == 0 ? 1e4 : 1.0) * rng.normal();
    c.loss.smoothing = std::pow(10.0, -40.0 + 41.0 * rng.uniform());
    const double plain = plain_loss(c.loss, {delta, s, c.y}), smooth = smooth_loss(c.loss, {delta, s, c.y});
    const double R = std::accumulate(c.loss.rho.begin(), c.loss.rho.end(), 0.0);
    EXPECT_LE(smooth, plain * (1.0 + 1e-12) + (trial % 3 == 0 ? 1e-9 : 1e-12));
    EXPECT_GE(smooth, plain - c.loss.smoothing * R * R - 1e-12 * (1.0 + plain));
  }
}

TEST(RowCheck, TheEnvelopeBoundIsAttainedByAFeasiblePoint) {
  // Fenchel-Young: <c - s, alpha> - smoothing/2 |alpha|^2 never exceeds it for alpha in Q.
  Rng rng(4);
  for (int trial = 0; trial < 3000; ++trial) {
    Case c = random_case(rng);
    Vector delta(c.m, 1.0), s(c.m);
    delta[c.y] = 0.0;
    for (double& value : s) value = rng.normal();
    c.loss.smoothing = 0.01 + rng.uniform();
    const Vector alpha = random_dual_point(c.loss, c.m, c.y, rng);
    const double value = -dot(delta, alpha) - dot(s, alpha) - 0.5 * c.loss.smoothing * dot(alpha, alpha);
    EXPECT_GE(smooth_loss(c.loss, {delta, s, c.y}), value - 1e-12);
  }
}

// Where smoothing outweighs the margins, no upper bound of the dual set is met, and the envelope is proportional to
// 1/smoothing: from 1e-3 down to 1e-300 no digit may be lost beside margins of 1.
TEST(RowCheck, AnEnvelopeFarBelowTheMarginsKeepsItsDigits) {
  Rng rng(5);
  for (int trial = 0; trial < 300; ++trial) {
    Case c = random_case(rng);
    Vector delta(c.m, 1.0), s(c.m);
    delta[c.y] = 0.0;
    for (double& value : s) value = rng.normal();
    c.loss.smoothing = 1e4;
    const double expected = 1e4 * smooth_loss(c.loss, {delta, s, c.y});
    for (const double smoothing : {1e8, 1e11, 1e13, 1e16, 1e20, 1e100, 1e300}) {
      c.loss.smoothing = smoothing;
      EXPECT_NEAR(smoothing * smooth_loss(c.loss, {delta, s, c.y}), expected, 1e-10 * expected) << smoothing;
    }
  }
}

// Margins, scores and smoothing times t: the envelope times t.
TEST(RowCheck, TheEnvelopeIsTheSameAtEveryScale) {
  Rng rng(6);
  for (int trial = 0; trial < 100; ++trial) {
    Case c = random_case(rng);
    Vector delta(c.m, 1.0), s(c.m);
    delta[c.y] = 0.0;
    for (double& value : s) value = 3.0 * rng.normal();
    const double smoothing = std::pow(10.0, -20.0 + 30.0 * rng.uniform());
    c.loss.smoothing = smoothing;
    const double expected = smooth_loss(c.loss, {delta, s, c.y});
    for (const int power : {-950, -500, -40, 40, 500, 950}) {
      const double t = std::ldexp(1.0, power);
      Vector scaled_delta = delta, scaled_s = s;
      for (double& value : scaled_delta) value *= t;
      for (double& value : scaled_s) value *= t;
      c.loss.smoothing = t * smoothing;
      EXPECT_EQ(smooth_loss(c.loss, {scaled_delta, scaled_s, c.y}), t * expected) << power;
    }
  }
}

// Margins of 1e300 against a smoothing of 1e-300: their quotient is no double, the envelope is the loss.
TEST(RowCheck, ATinySmoothingOfHugeMarginsIsTheLossItself) {
  const Vector delta = {0.0, 1e300, 2e300}, s = {0.0, 1e299, -1e300};
  for (const Family family : {Family::usunier, Family::top_k}) {
    const Loss loss{family, {0.5, 0.5}, 1e-300};
    EXPECT_DOUBLE_EQ(smooth_loss(loss, {delta, s, 0}), plain_loss(loss, {delta, s, 0}));
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
