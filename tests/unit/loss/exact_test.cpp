// The projection against rational arithmetic over all scales a double has, with ties and mixtures of scales; and the
// measurement that certificates rest on (L9).

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/rng.hpp"
#include "loss/row.hpp"
#include "support/exact_projection.hpp"
#include "support/plain.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using exact::Rational;

Loss random_loss(Rng& rng, std::size_t m) {
  Loss loss;
  loss.family = rng.uniform() < 0.5 ? Family::usunier : Family::top_k;
  const std::size_t K = rng.uniform() < 0.3 ? 1 : 1 + rng.below(m - 1);
  loss.rho.assign(K, 1.0 / static_cast<double>(K));
  if (rng.uniform() < 0.5) {
    for (double& weight : loss.rho) weight = 0.05 + rng.uniform();
    std::sort(loss.rho.begin(), loss.rho.end(), std::greater<>());
  }
  return loss;
}

// One scale for the row, or one for every key; multiples of a quarter now and then, so that ties happen at every scale,
// and neighbours that differ in the last bit.
std::vector<double> random_keys(Rng& rng, std::size_t count, double* largest) {
  const bool mixed = rng.uniform() < 0.4;
  const auto scale = [&] { return std::pow(10.0, 600.0 * rng.uniform() - 300.0); };
  const auto near = [&] { return std::pow(10.0, 40.0 * rng.uniform() - 20.0); };
  const double common = rng.uniform() < 0.5 ? scale() : near();
  std::vector<double> keys(count);
  for (std::size_t j = 0; j < count; ++j) {
    const double x = rng.normal();
    const double size = mixed && rng.uniform() < 0.5 ? (rng.uniform() < 0.5 ? scale() : near()) : common;
    keys[j] = size * (rng.uniform() < 0.5 ? std::round(4.0 * x) / 4.0 : x);
    if (j > 0 && rng.uniform() < 0.2) keys[j] = std::nextafter(keys[j - 1], rng.uniform() < 0.5 ? 1e308 : -1e308);
    keys[j] = std::clamp(keys[j], -1e300, 1e300);  // beyond, there is no projection
    *largest = std::max(*largest, std::abs(keys[j]));
  }
  return keys;
}

// What the projection makes of keys b_j, j != y, as beta.
exact::Vector fast_beta(const Loss& loss, const std::vector<double>& keys, std::size_t y, RowView before) {
  RowScratch scratch;
  scratch.key = keys;
  scratch.key.insert(scratch.key.begin() + static_cast<std::ptrdiff_t>(y), 0.0);
  SparseRow alpha;
  EXPECT_TRUE(project_keys(loss, static_cast<std::int64_t>(y), before, alpha, scratch));
  exact::Vector beta(keys.size(), 0);
  Rational own = 0;
  for (const auto& [j, value] : alpha) {
    const auto at = static_cast<std::size_t>(j);
    EXPECT_TRUE(std::isfinite(value));
    if (at == y)
      own = value;
    else
      beta[at < y ? at : at - 1] = -Rational(value);
  }
  EXPECT_LE(std::abs(Rational(own - exact::sum(beta)).get_d()), 1e-14 * loss.rho_sum());
  return beta;
}

double largest_difference(const exact::Vector& a, const exact::Vector& b) {
  double worst = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) worst = std::max(worst, std::abs(Rational(a[j] - b[j]).get_d()));
  return worst;
}

RC_GTEST_PROP(ExactProjection, HoldsAtEveryScale, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const std::size_t m = 2 + rng.below(rng.uniform() < 0.2 ? 60 : 9), y = rng.below(m);
  const Loss loss = random_loss(rng, m);
  double largest = 0.0;
  const std::vector<double> keys = random_keys(rng, m - 1, &largest);
  SparseRow guess;
  if (rng.uniform() < 0.5) guess = {{static_cast<std::int32_t>(rng.below(m)), 0.5}};
  const exact::Vector beta = fast_beta(loss, keys, y, rng.uniform() < 0.5 ? guess : SparseRow());
  const double R = loss.rho_sum();
  RC_ASSERT(exact::infeasibility(loss, beta).get_d() < 1e-13);
  const exact::Vector b(keys.begin(), keys.end());
  if (loss.family == Family::usunier || loss.K() == 1) {
    RC_ASSERT(largest_difference(beta, exact::usunier(loss, b)) < 1e-12 * R);
    return;
  }
  // Where large keys of both signs cancel in the sum that decides on zeta, a rounding decides on beta: what remains is
  // that no other point is better, <b - T - beta, beta' - beta> <= 0, by more than such a rounding.
  exact::Vector normal(b.size());
  const Rational total = exact::sum(beta);
  Rational at = 0;
  for (std::size_t j = 0; j < b.size(); ++j) {
    normal[j] = b[j] - total - beta[j];
    at += normal[j] * beta[j];
  }
  RC_ASSERT(Rational(exact::support(loss, normal) - at).get_d() <= 1e-13 * R * (largest + R));
  if (largest < 1e3) RC_ASSERT(largest_difference(beta, exact::top_k(loss, b)) < 1e-10 * R);
}

// A curvature that a double cannot tell from 0 beside the margins: every class tied for the largest key has its part.
TEST(ExactProjection, TiesShareWhatIsNothingBesideTheKeys) {
  const Loss loss{Family::usunier, {1.0}, 0.0};
  for (const double q : {1e-18, 1e-40, 1e-300, 5e-324}) {
    const std::vector<double> s(4, 0.0);
    RowScratch scratch;
    SparseRow alpha;
    block_step(loss, {}, s.data(), 4, 1, q, {}, alpha, scratch);
    double sum = 0.0;
    for (const auto& [j, value] : alpha) sum += j == 1 ? 0.0 : -value;
    EXPECT_NEAR(sum, 1.0, 1e-15) << q;
  }
}

RC_GTEST_PROP(Membership, IsThatOfRationalArithmetic, ()) {
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  const std::size_t m = 2 + rng.below(9), y = rng.below(m);
  const Loss loss = random_loss(rng, m);
  double largest = 0.0;
  const exact::Vector inside = fast_beta(loss, random_keys(rng, m - 1, &largest), y, {});
  const double scale = rng.uniform() < 0.5 ? 1.0 : 3.0 * rng.uniform();
  SparseRow alpha;
  exact::Vector beta(m - 1);
  double own = 0.0;
  for (std::size_t j = 0; j < m; ++j) {
    if (j == y) continue;
    const double value = scale * inside[j < y ? j : j - 1].get_d() * (rng.uniform() < 0.1 ? 1.3 : 1.0);
    beta[j < y ? j : j - 1] = value;
    own += value;
    if (value > 0.0) alpha.push_back({static_cast<std::int32_t>(j), -value});
  }
  alpha.push_back({static_cast<std::int32_t>(y), own});
  sort_by_class(alpha);
  RowScratch scratch;
  const double R = loss.rho_sum(), missed = exact::infeasibility(loss, beta).get_d();
  const auto [ratio, distance] = membership(loss, static_cast<std::int64_t>(y), alpha, scratch);
  const double found = std::max(ratio - 1.0, distance / R);
  if (missed > 1e-12) RC_ASSERT(found >= missed / 2.0);
  if (missed == 0.0) RC_ASSERT(found < 1e-13);
  put_inside(loss, static_cast<std::int64_t>(y), alpha, scratch);
  beta.assign(m - 1, 0);
  for (const auto& [j, value] : alpha) {
    const auto at = static_cast<std::size_t>(j);
    if (at != y) beta[at < y ? at : at - 1] = -Rational(value);
  }
  RC_ASSERT(exact::infeasibility(loss, beta).get_d() < 2e-9);
  if (missed < 1e-13) RC_ASSERT(!alpha.empty() || own == 0.0);
}

TEST(Membership, WhatIsNoNumberIsEmptied) {
  const Loss loss{Family::usunier, {1.0}, 0.0};
  RowScratch scratch;
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    SparseRow alpha{{0, 1.0}, {2, -bad}};
    EXPECT_EQ(put_inside(loss, 0, alpha, scratch), INFINITY);
    EXPECT_TRUE(alpha.empty());
  }
}

// The whole of rho on every tied class: what a false certificate once rested on.
TEST(Membership, ARowThatIsThreeTimesTooLargeIsScaledBack) {
  const Loss loss{Family::usunier, {1.0}, 0.0};
  RowScratch scratch;
  SparseRow alpha{{0, -1.0}, {1, 3.0}, {2, -1.0}, {3, -1.0}};
  EXPECT_NEAR(put_inside(loss, 1, alpha, scratch), 2.0, 1e-15);
  EXPECT_NEAR(plain::dense(alpha, 4)[1], 1.0, 1e-15);
}

// Top-3 with a single entry: no zeta allows it, and no scaling helps.
TEST(Membership, ARowThatScalingCannotMendIsEmptied) {
  const Loss loss{Family::top_k, {1.0 / 3, 1.0 / 3, 1.0 / 3}, 0.0};
  RowScratch scratch;
  SparseRow alpha{{0, 0.2}, {2, -0.2}};
  EXPECT_GT(put_inside(loss, 0, alpha, scratch), 0.1);
  EXPECT_TRUE(alpha.empty());
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
