// Softmax (L10), one example at a time, against its definitions.

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.hpp"
#include "loss/row.hpp"
#include "support/plain.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;

struct Case {
  Loss loss;
  Vector s, delta;
  std::size_t y;
  std::int64_t m() const { return static_cast<std::int64_t>(s.size()); }
  std::int64_t own() const { return static_cast<std::int64_t>(y); }
};

double power(Rng& rng, double low, double high) {
  return std::pow(10.0, low + (high - low) * rng.uniform());
}

Case random_case(Rng& rng) {
  Case out;
  out.loss.temperature = power(rng, -3, 3);
  const std::size_t m = 2 + rng.below(30);
  const double scale = out.loss.temperature * power(rng, -4, 2.5);
  for (std::size_t j = 0; j < m; ++j) {
    out.s.push_back(rng.uniform() < 0.2 && j > 0 ? out.s.back() : scale * rng.normal());
    out.delta.push_back(rng.uniform() < 0.5 ? 0.0 : scale * rng.uniform());
  }
  out.y = rng.below(m);
  out.delta[out.y] = 0.0;
  return out;
}

Vector beta_of(const SparseRow& alpha, const Case& at) {
  Vector beta = plain::dense(alpha, at.m());
  for (double& value : beta) value = -value;
  beta[at.y] += 1.0;
  return beta;
}

// A row of the dual, with a beta that is anywhere in the simplex.
SparseRow random_alpha(Rng& rng, const Case& at) {
  SparseRow alpha;
  if (rng.uniform() < 0.2) return alpha;
  Vector beta(at.s.size());
  double sum = 0.0;
  for (double& value : beta) sum += value = rng.uniform() < 0.3 ? 0.0 : power(rng, -12, 0);
  sum = std::max(sum, 1e-300);
  double others = 0.0;
  for (std::size_t j = 0; j < beta.size(); ++j) {
    if (j == at.y || beta[j] == 0.0) continue;
    others += beta[j] / sum;
    alpha.push_back({static_cast<std::int32_t>(j), -beta[j] / sum});
  }
  alpha.push_back({static_cast<std::int32_t>(at.y), others});
  sort_by_class(alpha);
  return alpha;
}

TEST(Softmax, ThePointIsTheGradientAndIsWorthTheLoss) {
  Rng rng(1);
  RowScratch scratch;
  SparseRow u;
  for (int trial = 0; trial < 2000; ++trial) {
    const Case at = random_case(rng);
    const double expected = plain::value(at.loss, at.delta, at.s, at.y);
    const VertexValue found = vertex(at.loss, RowMargins(at.delta.data()), at.s.data(), at.m(), at.own(), u, scratch);
    EXPECT_NEAR(found.phi, expected, 1e-13 * (expected + at.loss.temperature));
    const Vector alpha = plain::dense(u, at.m());
    EXPECT_NEAR(found.c_u, plain::worth(at.loss, at.delta, alpha, at.y), 1e-12 * (expected + at.loss.temperature));
    // Fenchel and Young, with equality.
    EXPECT_NEAR(found.c_u - plain::dot(alpha, at.s), expected, 1e-12 * (expected + at.loss.temperature));
    EXPECT_LE(plain::infeasibility({Family::usunier, {1.0}}, alpha, at.y), 1e-15);
    const double along = power(rng, -6, -5) * at.loss.temperature;
    Vector moved = at.s;
    const std::size_t j = rng.below(at.s.size());
    moved[j] += along;
    const double slope = (plain::value(at.loss, at.delta, moved, at.y) - expected) / along;
    EXPECT_NEAR(-alpha[j], slope, 1e-4);
  }
}

// A row whose own class is all but certain keeps its digits.
TEST(Softmax, SmallLossesAreRightToTheLastDigits) {
  Loss loss;
  loss.temperature = 1.0;
  RowScratch scratch;
  SparseRow u;
  for (const double far : {1.0, 10.0, 30.0, 100.0, 600.0}) {
    const Vector s{0.0, -far, -far - 1.0}, delta(3, 0.0);
    const long double expected =
        std::log1p(std::exp(-static_cast<long double>(far)) + std::exp(-static_cast<long double>(far) - 1.0L));
    const double found = vertex(loss, RowMargins(delta.data()), s.data(), 3, 0, u, scratch).phi;
    EXPECT_NEAR(found / static_cast<double>(expected), 1.0, 1e-13) << far;
  }
}

// T log beta_j + q beta_j less what is given is the same number for all classes: where it is not, Newton's method says
// what the step lacks, in units of T.
TEST(Softmax, TheStepIsTheMaximiser) {
  Rng rng(2);
  RowScratch scratch;
  SparseRow next;
  int solved = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    const Case at = random_case(rng);
    const SparseRow alpha = random_alpha(rng, at);
    const double q = rng.uniform() < 0.1 ? 0.0 : at.loss.temperature * power(rng, -9, 7);
    block_step(at.loss, RowMargins(at.delta.data()), at.s.data(), at.m(), at.own(), q, alpha, next, scratch);
    const Vector before = beta_of(alpha, at), beta = beta_of(next, at);
    const double kappa = q / at.loss.temperature;
    double sum = 0.0, largest = 0.0, rates = 0.0, mean = 0.0;
    Vector nu(beta.size()), rate(beta.size(), 0.0);
    for (std::size_t j = 0; j < beta.size(); ++j) {
      EXPECT_GE(beta[j], -1e-15);
      sum += beta[j];
      if (beta[j] < 1e-14) continue;
      const double z = at.delta[j] + at.s[j] - at.s[at.y];
      nu[j] = z / at.loss.temperature - std::log(beta[j]) + kappa * (before[j] - beta[j]);
      rate[j] = beta[j] / (1.0 + kappa * beta[j]);
      rates += rate[j];
      mean += rate[j] * nu[j];
      largest = std::max(largest, std::abs(nu[j]));
    }
    EXPECT_NEAR(sum, 1.0, 1e-14);
    double lacks = 0.0;
    for (std::size_t j = 0; j < beta.size(); ++j) {
      lacks += 0.5 * rate[j] * (nu[j] - mean / rates) * (nu[j] - mean / rates);
    }
    EXPECT_LE(lacks, 1e-13 * (1.0 + largest + kappa)) << "q / T " << kappa;
    ++solved;
  }
  EXPECT_EQ(solved, 5000);
}

TEST(Softmax, TheShareOfTheGapIsTheDivergence) {
  Rng rng(3);
  RowScratch scratch;
  SparseRow best;
  for (int trial = 0; trial < 3000; ++trial) {
    const Case at = random_case(rng);
    const SparseRow alpha = random_alpha(rng, at);
    const Vector dense = plain::dense(alpha, at.m());
    const double phi = plain::value(at.loss, at.delta, at.s, at.y);
    const double expected = phi - plain::worth(at.loss, at.delta, dense, at.y) + plain::dot(dense, at.s);
    const double found =
        gap_share(at.loss, RowMargins(at.delta.data()), at.s.data(), at.m(), at.own(), alpha, best, scratch);
    EXPECT_NEAR(found, expected, 1e-12 * (phi + at.loss.temperature + std::abs(plain::dot(dense, at.s))));
    vertex(at.loss, RowMargins(at.delta.data()), at.s.data(), at.m(), at.own(), best, scratch);
    const SparseRow u = best;
    EXPECT_NEAR(gap_share(at.loss, RowMargins(at.delta.data()), at.s.data(), at.m(), at.own(), u, best, scratch), 0.0,
                1e-13 * at.loss.temperature);
  }
}

// What a certificate counts on.
TEST(Softmax, WhatARowIsWorthIsNotRoundedUp) {
  Rng rng(4);
  RowScratch scratch;
  for (int trial = 0; trial < 5000; ++trial) {
    Case at = random_case(rng);
    std::fill(at.delta.begin(), at.delta.end(), 0.0);
    const SparseRow alpha = random_alpha(rng, at);
    long double sum = 0.0L, exact = 0.0L;
    for (const auto& [j, value] : alpha) {
      if (j == at.own()) continue;
      sum -= value;
      exact += static_cast<long double>(value) * std::log(-static_cast<long double>(value));
    }
    if (sum < 1.0L) exact -= (1.0L - sum) * std::log1p(-sum);
    exact *= at.loss.temperature;
    const double found = worth(at.loss, RowMargins(at.delta.data()), at.own(), alpha, scratch);
    EXPECT_LE(found, exact + 1e-18L * exact);
    EXPECT_GE(found, exact - 1e-13L * std::abs(exact) - 1e-15L * at.loss.temperature);
  }
}

TEST(Softmax, NumbersWithoutMeasureGiveFiniteAnswers) {
  RowScratch scratch;
  SparseRow next, best;
  Loss loss;
  for (const double T : {1e-6, 1.0, 1e6}) {
    loss.temperature = T;
    for (const double size : {0.0, 1e-300, 1.0, 1e30, 1e300}) {
      for (const double q : {0.0, 1e-300, 1e-9, 1e9, 1e300}) {
        const Vector s{size, -size, 0.5 * size, 0.0}, delta(4, 0.0);
        for (std::int64_t y = 0; y < 4; ++y) {
          SparseRow alpha;
          for (int step = 0; step < 3; ++step) {
            block_step(loss, RowMargins(delta.data()), s.data(), 4, y, q, alpha, next, scratch);
            for (const Entry& entry : next) EXPECT_TRUE(std::isfinite(entry.value)) << T << " " << size << " " << q;
            EXPECT_LE(
                plain::infeasibility({Family::usunier, {1.0}}, plain::dense(next, 4), static_cast<std::size_t>(y)),
                1e-15);
            EXPECT_GE(gap_share(loss, RowMargins(delta.data()), s.data(), 4, y, next, best, scratch), 0.0);
            alpha = next;
          }
        }
      }
    }
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
