// What every engine promises (engine/engine.hpp), against naive loops over a tensor of psi.

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "core/tensor_file.hpp"
#include "support/engine_cases.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::EngineCase;
using testing::EngineKind;
using testing::PlainJoint;
using testing::Shape;

struct Setting {
  Loss loss;
  Shape shape;
};

std::vector<Setting> settings() {
  std::vector<Setting> out = {{{Family::usunier, {1.0}, 0.0}, {.bias = 0.0, .weighted = false}},
                              {{Family::top_k, {0.5, 0.3, 0.2}, 0.0}, {.bias = 1.5, .costs = true, .weighted = false}},
                              {{Family::usunier, {0.5, 0.3, 0.2}, 0.2}, {.bias = 0.0}},
                              {{Family::top_k, Vector(4, 0.25), 0.1}, {.bias = 1.0, .costs = true}}};
#ifndef TOPWOLF_TESTS_ON_CUDA  // which refuses them
  out.push_back({testing::loss_of_oracle(testing::three_groups(6), 6), {.bias = 0.5}});
  out.push_back({testing::loss_of_oracle(testing::three_groups(6), 6, 0.1), {.bias = 0.5, .costs = true}});
#endif
  return out;
}

class EngineContract : public ::testing::TestWithParam<std::tuple<EngineKind, Setting>> {
 protected:
  EngineContract()
      : case_(std::get<0>(GetParam()), std::get<1>(GetParam()).loss, std::get<1>(GetParam()).shape),
        plain_(case_.plain()),
        problem_(case_.problem()),
        W_(case_.random_weights(5, 0.3)) {}

  Vector margins(std::int64_t i) const { return plain_.margins(i); }
  double omega(std::int64_t i) const { return plain_.omega[static_cast<std::size_t>(i)]; }
  // A point of Q for every example, neither a vertex nor 0: half of what a pass moves towards.
  std::unique_ptr<Dual> some_dual(Engine& engine) const {
    auto U = engine.make_dual(), zero = engine.make_dual();
    Vector W_U;
    engine.pass(W_, Direction::gradient, zero.get(), U.get(), W_U);
    engine.scale(0.5, *U);
    return U;
  }
  double close() const { return case_.tolerance(); }

  EngineCase case_;
  const PlainJoint& plain_;
  const Problem& problem_;
  const Vector W_;
};

void expect_near(const Vector& a, const Vector& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t p = 0; p < a.size(); ++p) EXPECT_NEAR(a[p], b[p], tolerance * (1.0 + std::abs(b[p]))) << p;
}

void expect_same(const SparseRows& a, const SparseRows& b) {
  EXPECT_EQ(a.row_begin, b.row_begin);
  EXPECT_EQ(a.column, b.column);
  EXPECT_EQ(a.values, b.values);
}

Vector row_of(const SparseRows& A, std::int64_t i, std::int64_t m) {
  return plain::dense(testing::dual_rows(A)[static_cast<std::size_t>(i)], m);
}

// Sums over the examples of <c, alpha> and ||alpha||^2.
DualSums plain_sums(const PlainJoint& plain, const SparseRows& A) {
  DualSums out;
  for (std::int64_t i = 0; i < plain.n; ++i) {
    const Vector alpha = row_of(A, i, plain.m);
    out.c_alpha -= plain.omega[static_cast<std::size_t>(i)] * plain::dot(plain.margins(i), alpha);
    out.alpha_norm2 += plain.omega[static_cast<std::size_t>(i)] * plain::dot(alpha, alpha);
  }
  return out;
}

TEST_P(EngineContract, KnowsItsGeometry) {
  const auto engine = case_.engine();
  EXPECT_EQ(engine->geometry().dimension, plain_.P);
  EXPECT_GE(engine->geometry().coupling, 1.0);
  Curvature expected;
  for (std::int64_t i = 0; i < plain_.n; ++i) {
    double longest2 = 0.0;
    for (std::int64_t j = 0; j < plain_.m; ++j) {
      double length2 = 0.0;
      for (std::int64_t c = 0; c < plain_.P; ++c) length2 += plain_.at(i, j, c) * plain_.at(i, j, c);
      longest2 = std::max(longest2, length2);
    }
    const double q = omega(i) * longest2 / (plain_.lambda * plain_.N());
    expected.largest = std::max(expected.largest, q);
    expected.total += q;
    expected.lengths += omega(i) * std::sqrt(longest2);
  }
  const Curvature found = engine->curvature();
  // Class features may bound a row by its own length times the longest phi: never less than the truth.
  EXPECT_NEAR(found.largest, expected.largest, 1e-12 * expected.largest);
  EXPECT_NEAR(found.total, expected.total, 1e-12 * expected.total);
  if (!problem_.mean) {
    EXPECT_NEAR(found.lengths, expected.lengths, 1e-12 * expected.lengths);
    return;
  }
  // Bounds on rounding are about what is multiplied: rows as they are, and the mean.
  double multiplied = 0.0;
  for (std::int64_t i = 0; i < plain_.n; ++i) {
    double longest = 0.0;
    for (std::int64_t j = 0; j < plain_.m; ++j) {
      double length2 = 0.0, mean2 = 0.0;
      for (std::int64_t c = 0; c < plain_.P; ++c) {
        const double x = case_.of_models().at(i, j, c), mean = x - plain_.at(i, j, c);
        length2 += x * x;
        mean2 += mean * mean;
      }
      longest = std::max(longest, std::sqrt(length2) + std::sqrt(mean2));
    }
    multiplied += omega(i) * longest;
  }
  EXPECT_GE(found.lengths, multiplied * (1.0 - 1e-12));
  EXPECT_LE(found.lengths, 8.0 * multiplied);
}

TEST_P(EngineContract, LossSumIsThatOfTheDefinitionInDouble) {
  const auto engine = case_.engine(2);
  const double expected = case_.of_models().loss_sum(W_);
  const LossSum found = engine->loss_sum(W_);
  EXPECT_NEAR(static_cast<double>(found.sum), expected, 1e-11 * expected);
  EXPECT_GE(found.sum + found.rounding, expected * (1.0 - 1e-14)) << "what rounding may have done is not enough";
  EXPECT_LE(found.rounding, 1e-9 * expected);
}

TEST_P(EngineContract, TheLossLiesBetweenItsBounds) {
  const auto engine = case_.engine(2);
  const double expected = case_.of_models().loss_sum(W_);
  const LossSum found = engine->loss_sum(W_, {.least = true});
  EXPECT_LE(found.least, expected * (1.0 + 1e-14));
  EXPECT_GE(found.least, expected * (1.0 - 1e-9)) << "a bound that says nothing";
  EXPECT_EQ(engine->loss_sum(W_).sum, found.sum);
}

TEST_P(EngineContract, TheLossAtZeroIsNotRoundedDown) {
  const auto engine = case_.engine();
  const double expected = plain_.loss_sum(Vector(W_.size(), 0.0)),
               found = static_cast<double>(engine->loss_sum_at_zero());
  EXPECT_NEAR(found, expected, 1e-12 * expected);
  EXPECT_GE(found, expected * (1.0 - 1e-15 * static_cast<double>(plain_.n)));
}

TEST_P(EngineContract, RanksAreThoseOfThePlainScores) {
  const auto engine = case_.engine(2);
  std::vector<std::int32_t> ranks;
  engine->loss_sum(W_, {.ranks = &ranks});
  ASSERT_EQ(static_cast<std::int64_t>(ranks.size()), plain_.n);
  for (std::int64_t i = 0; i < plain_.n; ++i) {
    const Vector s = case_.of_models().scores(W_, i);
    const auto y = static_cast<std::size_t>(problem_.label(i));
    std::int32_t before = 0;
    for (std::size_t j = 0; j < s.size(); ++j) before += s[j] > s[y] || (s[j] == s[y] && j < y) ? 1 : 0;
    EXPECT_EQ(ranks[static_cast<std::size_t>(i)], before) << i;
  }
}

TEST_P(EngineContract, AScoreThatOverflowsIsNotASmallLoss) {
  EXPECT_TRUE(std::isnan(case_.engine()->loss_sum(Vector(W_.size(), 1e308)).sum));
}

TEST_P(EngineContract, PassGivesTheLossTheDirectionsAndTheirSums) {
  const auto engine = case_.engine(2);
  const auto A = some_dual(*engine), U = engine->make_dual();
  const SparseRows alphas = engine->rows_of(*A);
  const double smoothing = plain_.loss.smoothing;
  for (const Direction direction : {Direction::vertex, Direction::gradient}) {
    Vector W_U, again;
    const PassSums sums = engine->pass(W_, direction, A.get(), U.get(), W_U);
    const SparseRows directions = engine->rows_of(*U);
    EXPECT_NEAR(sums.phi, plain_.loss_sum(W_), close() * sums.phi);
    EXPECT_LT(plain_.infeasibility(directions), 1e-12);
    expect_near(W_U, plain_.weights_of(directions), 1e-11);
    EXPECT_NEAR(sums.c_u, plain_sums(plain_, directions).c_alpha, 1e-11 * (1.0 + std::abs(sums.c_u)));
    engine->weights_of(*U, again);
    expect_near(again, W_U, 1e-12);
    PassSums expected;
    for (std::int64_t i = 0; i < plain_.n; ++i) {
      const Vector alpha = row_of(alphas, i, plain_.m), u = row_of(directions, i, plain_.m), delta = margins(i);
      const auto y = static_cast<std::size_t>(problem_.label(i));
      Vector s = plain_.scores(W_, i), g(s), step(s);
      for (std::size_t j = 0; j < s.size(); ++j) {
        g[j] = -delta[j] - s[j] - smoothing * alpha[j];
        step[j] = u[j] - alpha[j];
      }
      expected.slope += omega(i) * plain::dot(step, g);
      expected.distance2 += omega(i) * plain::dot(step, step);
      const double found = plain::dot(g, u);
      if (direction == Direction::vertex || smoothing == 0.0) {
        if (smoothing == 0.0)
          g = [&] {  // A plays no part
            Vector at(s);
            for (std::size_t j = 0; j < s.size(); ++j) at[j] = -delta[j] - s[j];
            return at;
          }();
        EXPECT_NEAR(plain::dot(g, u), plain::support(plain_.loss, g, y), 10.0 * close() * (1.0 + std::abs(found)));
      }
    }
    if (smoothing == 0.0) continue;
    EXPECT_NEAR(sums.slope, expected.slope, 10.0 * close() * (1.0 + std::abs(expected.slope)));
    EXPECT_NEAR(sums.distance2, expected.distance2, 1e-11 * expected.distance2);
    EXPECT_NEAR(sums.c_alpha, plain_sums(plain_, alphas).c_alpha, 1e-11 * (1.0 + std::abs(sums.c_alpha)));
    EXPECT_NEAR(sums.alpha_norm2, plain_sums(plain_, alphas).alpha_norm2, 1e-11 * sums.alpha_norm2);
  }
}

// From A_mu = 1.4 A (A_old = 0), which is not feasible.
TEST_P(EngineContract, AscendGivesTheProjectedStepAndItsSums) {
  const double q = 3.0, mu = 0.4, smoothing = plain_.loss.smoothing;
  const auto engine = case_.engine(2);
  const auto A = some_dual(*engine), A_old = engine->make_dual(), A_next = engine->make_dual();
  Vector W_next;
  const AscentSums sums = engine->ascend(W_, {*A, *A_old, mu}, q, *A_next, W_next);
  const SparseRows before = engine->rows_of(*A), after = engine->rows_of(*A_next);
  AscentSums expected;
  for (std::int64_t i = 0; i < plain_.n; ++i) {
    const Vector s = plain_.scores(W_, i), delta = margins(i);
    Vector v = row_of(before, i, plain_.m), a(v);
    for (std::size_t j = 0; j < v.size(); ++j) {
      v[j] *= 1.0 + mu;
      a[j] = v[j] + (-delta[j] - s[j] - smoothing * v[j]) / (q + smoothing);
    }
    const Vector next = row_of(after, i, plain_.m);
    expect_near(next, plain::project(plain_.loss, a, static_cast<std::size_t>(problem_.label(i))), 10.0 * close());
    for (std::size_t j = 0; j < v.size(); ++j) {
      expected.c_alpha -= omega(i) * delta[j] * next[j];
      expected.alpha_norm2 += omega(i) * next[j] * next[j];
      expected.distance2 += omega(i) * (next[j] - v[j]) * (next[j] - v[j]);
    }
  }
  EXPECT_NEAR(sums.phi, plain_.loss_sum(W_), close() * sums.phi);
  EXPECT_NEAR(sums.c_alpha, expected.c_alpha, 1e-11 * (1.0 + std::abs(expected.c_alpha)));
  EXPECT_NEAR(sums.alpha_norm2, expected.alpha_norm2, 1e-11 * expected.alpha_norm2);
  EXPECT_NEAR(sums.distance2, expected.distance2, 1e-11 * expected.distance2);
  expect_near(W_next, plain_.weights_of(after), 1e-11);
}

TEST_P(EngineContract, TheNumberOfThreadsChangesNoBitOfAPass) {
  struct Seen {
    Vector W_U, W_next;
    double phi, c_u, slope;
    long double loss, inside;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  for (const int threads : {1, 2, 5}) {
    const auto engine = case_.engine(threads);
    const auto A = some_dual(*engine), U = engine->make_dual(), next = engine->make_dual();
    Seen now;
    const PassSums sums = engine->pass(W_, Direction::vertex, A.get(), U.get(), now.W_U);
    const AscentSums ascent = engine->ascend(W_, {*A, *U, 0.3}, 2.0, *next, now.W_next);
    now.phi = sums.phi + ascent.phi;
    now.c_u = sums.c_u + ascent.c_alpha;
    now.slope = sums.slope;
    now.loss = engine->loss_sum(W_).sum;
    now.inside = engine->put_inside(*next).c_alpha;
    seen.push_back(now);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST_P(EngineContract, TheNumberOfThreadsChangesNoBitOfAnAscent) {
  std::vector<std::vector<double>> seen;
  for (const int threads : {1, 2, 5}) {
    const auto engine = case_.engine(threads);
    BlockAscent& ascent = engine->block_ascent();
    ascent.begin({.seed = 3}, 0.0);
    const auto A = engine->make_dual();
    double gain = 0.0;
    for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
      if (epoch == 3 && ascent.epochs_per_face_step() > 0) gain += ascent.face_step(*A, [] {});
      ascent.begin_epoch(epoch);
      for (BlockAscent::Step taken; (taken = ascent.step(*A)).rows > 0;) gain += taken.gain;
    }
    seen.push_back(engine->rows_of(*A).values);
    seen.back().push_back(gain);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST_P(EngineContract, RoundsWeightsToWhatItMultiplies) {
  const auto engine = case_.engine();
  Vector W = case_.random_weights(3), once = W;
  engine->round_weights(once);
  EXPECT_EQ(W, once) << "float32 numbers are numbers of either precision";
  for (double& w : W) w /= 3.0;
  once = W;
  engine->round_weights(once);
  expect_near(once, W, 2.0 * engine->geometry().epsilon);
  Vector twice = once;
  engine->round_weights(twice);
  EXPECT_EQ(once, twice);
}

// ---- Duals

TEST_P(EngineContract, ANewDualIsZero) {
  const auto engine = case_.engine();
  const auto A = engine->make_dual();
  const SparseRows rows = engine->rows_of(*A);
  EXPECT_EQ(rows.rows(), plain_.n);
  EXPECT_TRUE(rows.column.empty());
  EXPECT_EQ(engine->sums(*A).c_alpha, 0.0);
  EXPECT_EQ(engine->put_inside(*A).c_alpha, 0.0L);
}

TEST_P(EngineContract, DualsAreMixedScaledAndSummed) {
  const auto engine = case_.engine(2);
  const auto A = some_dual(*engine), B = engine->make_dual();
  Vector W_U;
  engine->pass(case_.random_weights(77), Direction::vertex, A.get(), B.get(), W_U);
  const SparseRows a = engine->rows_of(*A), b = engine->rows_of(*B);
  const DualSums sums = engine->sums(*A), expected = plain_sums(plain_, a);
  EXPECT_NEAR(sums.c_alpha, expected.c_alpha, 1e-12 * (1.0 + std::abs(expected.c_alpha)));
  EXPECT_NEAR(sums.alpha_norm2, expected.alpha_norm2, 1e-12 * expected.alpha_norm2);
  engine->mix(0.25, *A, 0.75, *B);
  const SparseRows mixed = engine->rows_of(*B);
  for (std::int64_t i = 0; i < plain_.n; ++i) {
    const Vector x = row_of(a, i, plain_.m), y = row_of(b, i, plain_.m), z = row_of(mixed, i, plain_.m);
    for (std::size_t j = 0; j < x.size(); ++j) EXPECT_DOUBLE_EQ(z[j], 0.25 * x[j] + 0.75 * y[j]);
  }
  engine->scale(0.5, *B);
  const SparseRows half = engine->rows_of(*B);
  ASSERT_EQ(half.values.size(), mixed.values.size());
  for (std::size_t e = 0; e < half.values.size(); ++e) EXPECT_EQ(half.values[e], 0.5 * mixed.values[e]);
  engine->mix(1.0, *A, 0.0, *B);
  expect_same(engine->rows_of(*B), a);
  engine->scale(0.0, *B);
  EXPECT_TRUE(engine->rows_of(*B).column.empty());
}

TEST_P(EngineContract, AnyRowsAreProjectedIntoTheSet) {
  const auto engine = case_.engine(2);
  Rng rng(8);
  SparseRows rows;
  for (std::int64_t i = 0; i < plain_.n; ++i) {
    for (std::int64_t j = i % 2; j < plain_.m; j += 2) {
      rows.column.push_back(static_cast<std::int32_t>(j));
      rows.values.push_back(rng.normal());
    }
    rows.row_begin.push_back(static_cast<std::int64_t>(rows.column.size()));
  }
  const auto A = engine->make_dual();
  engine->project(rows, *A);
  const SparseRows found = engine->rows_of(*A);
  for (std::int64_t i = 0; i < plain_.n; ++i) {
    if (!(omega(i) > 0.0)) {
      EXPECT_EQ(row_of(found, i, plain_.m), Vector(static_cast<std::size_t>(plain_.m), 0.0));
      continue;
    }
    const auto y = static_cast<std::size_t>(problem_.label(i));
    expect_near(row_of(found, i, plain_.m), plain::project(plain_.loss, row_of(rows, i, plain_.m), y), 1e-9);
  }
  engine->project(found, *A);
  const SparseRows again = engine->rows_of(*A);
  for (std::int64_t i = 0; i < plain_.n; ++i) {
    expect_near(row_of(again, i, plain_.m), row_of(found, i, plain_.m), 1e-12);
  }
}

TEST_P(EngineContract, WhatIsInsideStaysAndWhatIsOutsideIsPutInside) {
  const auto engine = case_.engine();
  const auto A = some_dual(*engine);
  const SparseRows before = engine->rows_of(*A);
  const InsideSums sums = engine->put_inside(*A);
  expect_same(engine->rows_of(*A), before);
  EXPECT_LT(sums.worst_miss, 1e-12);
  const DualSums expected = plain_sums(plain_, before);
  EXPECT_NEAR(static_cast<double>(sums.c_alpha), expected.c_alpha, 1e-12 * (1.0 + std::abs(expected.c_alpha)));
  EXPECT_NEAR(static_cast<double>(sums.alpha_norm2), expected.alpha_norm2, 1e-12 * expected.alpha_norm2);
  engine->scale(50.0, *A);
  const InsideSums outside = engine->put_inside(*A);
  EXPECT_GT(outside.worst_miss, 1.0);
  EXPECT_GE(outside.worst_row, 0);
  EXPECT_LT(outside.worst_row, plain_.n);
  EXPECT_LT(plain_.infeasibility(engine->rows_of(*A)), 1e-8);
}

TEST_P(EngineContract, ADualComesBackFromAStateBitForBit) {
  const auto engine = case_.engine(), other = case_.engine();
  const auto A = some_dual(*engine), B = some_dual(*other);
  engine->scale(1.0 / 3.0, *A);
  State state;
  engine->exchange(state, "A", *A);
  state.put_back();
  other->exchange(state, "A", *B);
  expect_same(other->rows_of(*B), engine->rows_of(*A));
}

// ---- The problem, and stopping

TEST_P(EngineContract, AnotherProblemOnTheSameRowsIsAsGoodAsAnotherEngine) {
  Problem other = problem_;
  Vector omega(static_cast<std::size_t>(plain_.n), 1.0);
  omega[3] = 0.0;
  other.omega = omega;
  other.N = static_cast<double>(plain_.n) - 1.0;
  other.lambda *= 7.0;
  other.loss = {Family::usunier, {0.6, 0.4}, 0.05};
  const auto changed = case_.engine();
  BlockAscent& used = changed->block_ascent();
  used.begin({}, 0.0);
  const auto scratch = changed->make_dual();
  used.begin_epoch(1);
  while (used.step(*scratch).rows > 0) {
  }
  changed->set_problem(other);
  EXPECT_EQ(changed->problem().lambda, other.lambda);
  auto fresh = case_.engine();
  fresh->set_problem(other);
  const auto observe = [&](Engine& engine) {
    const auto A = some_dual(engine), U = engine.make_dual();
    Vector seen;
    const PassSums sums = engine.pass(W_, Direction::vertex, A.get(), U.get(), seen);
    seen.insert(seen.end(),
                {sums.phi, sums.slope, static_cast<double>(engine.loss_sum(W_).sum),
                 static_cast<double>(engine.loss_sum_at_zero()), engine.curvature().total, engine.sums(*A).c_alpha});
    BlockAscent& ascent = engine.block_ascent();
    ascent.begin({.seed = 4}, 0.0);
    const auto B = engine.make_dual();
    for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
      ascent.begin_epoch(epoch);
      for (auto step = ascent.step(*B); step.rows > 0; step = ascent.step(*B)) seen.push_back(step.gain);
    }
    return seen;
  };
  EXPECT_EQ(observe(*changed), observe(*fresh));
}

TEST_P(EngineContract, APassStopsWhereItIsAsked) {
  const auto engine = case_.engine();
  const auto A = some_dual(*engine), U = engine->make_dual();
  Vector W_U;
  engine->set_should_stop([] { return true; });
  EXPECT_THROW(engine->pass(W_, Direction::vertex, A.get(), U.get(), W_U), Stopped);
  EXPECT_THROW(engine->ascend(W_, {*A, *A, 0.0}, 1.0, *U, W_U), Stopped);
  EXPECT_THROW(engine->stop_if_asked(), Stopped);
  EXPECT_NO_THROW(engine->loss_sum(W_)) << "a certificate is finished";
  EXPECT_NO_THROW(engine->weights_of(*A, W_U));
  engine->set_should_stop({});
  EXPECT_NO_THROW(engine->pass(W_, Direction::vertex, A.get(), U.get(), W_U));
}

// ---- Block ascent

TEST_P(EngineContract, BlockAscentGainsWhatItSays) {
  const auto engine = case_.engine(2);
  BlockAscent& ascent = engine->block_ascent();
  ascent.begin({.seed = 3}, 0.0);
  const auto A = engine->make_dual();
  EXPECT_EQ(ascent.gap(), std::numeric_limits<double>::infinity());
  double dual = 0.0;
  std::int64_t of_weight = 0;
  for (std::int64_t i = 0; i < plain_.n; ++i) of_weight += omega(i) > 0.0 ? 1 : 0;
  for (std::int64_t epoch = 1; epoch <= 12; ++epoch) {
    const std::int64_t between = ascent.epochs_per_face_step();
    if (between > 0 && epoch % between == 0) {
      const double gain = ascent.face_step(*A, [] {});
      EXPECT_GE(gain, 0.0);
      dual += gain;
    }
    const BlockAscent::Epoch chosen = ascent.begin_epoch(epoch);
    EXPECT_EQ(chosen.rows + chosen.resting, of_weight);
    std::int64_t visited = 0;
    for (auto step = ascent.step(*A); step.rows > 0; step = ascent.step(*A)) {
      EXPECT_GE(step.gain, -1e-6 * (1.0 + dual));
      visited += step.rows;
      dual += step.gain;
    }
    EXPECT_EQ(visited, chosen.rows);
    EXPECT_NEAR(dual, plain_.dual(engine->rows_of(*A)), 100.0 * close()) << "epoch " << epoch;
    EXPECT_LT(plain_.infeasibility(engine->rows_of(*A)), 1e-12);
  }
  EXPECT_GT(dual, 0.0);
  EXPECT_TRUE(std::isfinite(ascent.gap()));
}

// The shares that a pass at W(A) sees add up to the gap, and then nobody rests.
TEST_P(EngineContract, BlockAscentSeesTheGap) {
  const auto engine = case_.engine();
  BlockAscent& ascent = engine->block_ascent();
  ascent.begin({}, 0.0);
  const auto A = some_dual(*engine);
  Vector W;
  engine->weights_of(*A, W);
  engine->loss_sum(case_.as_model(W), {.A = A.get(), .ascent = &ascent});
  const double gap = plain_.primal(W) - plain_.dual(engine->rows_of(*A));
  EXPECT_NEAR(ascent.gap(), gap, 1e-9 * (1.0 + gap));
  ascent.begin_epoch(1);
  while (ascent.step(*A).rows > 0) {
  }
  ascent.wake();
  EXPECT_EQ(ascent.begin_epoch(2).resting, 0);
}

// After reset() the steps are those from the scores of A, and scores that were scaled are those of the scaled A.
TEST_P(EngineContract, BlockAscentBeginsAnywhere) {
  const auto engine = case_.engine();
  BlockAscent& ascent = engine->block_ascent();
  const auto A = some_dual(*engine);
  Vector W;
  engine->weights_of(*A, W);
  ascent.begin({}, 0.0);
  ascent.reset(W, *A);
  const double at = plain_.dual(engine->rows_of(*A));
  double gain = 0.0;
  ascent.begin_epoch(1);
  for (auto step = ascent.step(*A); step.rows > 0; step = ascent.step(*A)) gain += step.gain;
  EXPECT_NEAR(at + gain, plain_.dual(engine->rows_of(*A)), 100.0 * close());
  engine->scale(0.5, *A);
  ascent.begin({}, 0.5);
  const double halved = plain_.dual(engine->rows_of(*A));
  gain = 0.0;
  ascent.begin_epoch(1);
  for (auto step = ascent.step(*A); step.rows > 0; step = ascent.step(*A)) gain += step.gain;
  EXPECT_NEAR(halved + gain, plain_.dual(engine->rows_of(*A)), 100.0 * close());
}

TEST_P(EngineContract, BlockAscentGoesOnElsewhereInTheMiddleOfAnEpoch) {
  const auto engine = case_.engine(), other = case_.engine();
  BlockAscent &here = engine->block_ascent(), &there = other->block_ascent();
  here.begin({.seed = 6}, 0.0);
  there.begin({.seed = 99}, 0.0);
  const auto A = engine->make_dual(), B = other->make_dual();
  here.begin_epoch(1);
  here.step(*A);
  State state;
  engine->exchange(state, "A", *A);
  here.exchange(state);
  state.put_back();
  other->exchange(state, "A", *B);
  there.exchange(state);
  for (std::int64_t epoch = 1; epoch <= 4; ++epoch) {
    if (epoch > 1) {
      here.begin_epoch(epoch);
      there.begin_epoch(epoch);
    }
    for (bool over = false; !over;) {
      const BlockAscent::Step a = here.step(*A), b = there.step(*B);
      EXPECT_EQ(a.rows, b.rows);
      EXPECT_EQ(a.gain, b.gain);
      over = a.rows == 0;
    }
  }
  expect_same(engine->rows_of(*A), other->rows_of(*B));
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<EngineKind, Setting>>& at) {
  return std::string(std::get<0>(at.param).name) + testing::name_of(std::get<1>(at.param).loss);
}

INSTANTIATE_TEST_SUITE_P(All, EngineContract,
                         ::testing::Combine(::testing::ValuesIn(testing::engine_kinds()),
                                            ::testing::ValuesIn(settings())),
                         name_of);

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
