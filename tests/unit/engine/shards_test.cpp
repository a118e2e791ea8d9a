// The rounds of shards (B3), taken apart: what one does, what is taken of it, and what it is worth.
#include <gtest/gtest.h>

#include <numeric>

#include "core/rng.hpp"
#include "engine/shards/shard.hpp"
#include "engine/shards/sharded_engine.hpp"
#include "support/engine_cases.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::EngineCase;
using testing::EngineKind;

const EngineKind kind{"Dense64", testing::Storage::dense64};

const Loss usunier{Family::usunier, {0.5, 0.3, 0.2}, 0.0}, smooth{Family::top_k, Vector(3, 1.0 / 3), 0.2},
    softmax{Family::usunier, {1.0}, 0.0, 0.7};

// Rows [from, from + n) of a problem of dense rows.
Problem part(const Problem& problem, std::int64_t from, std::int64_t n) {
  Problem out = problem;
  const auto& X = std::get<DenseView<double>>(problem.X);
  out.X = DenseView<double>{X.data + from * X.stride, n, X.cols, X.stride};
  out.y = problem.y.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(n));
  if (!problem.omega.empty()) {
    out.omega = problem.omega.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(n));
  }
  out.n = n;
  return out;
}

// Two shards, and the questions of a round.
struct Two {
  explicit Two(const EngineCase& at)
      : problem(at.problem()),
        half(problem.n / 2),
        W(static_cast<std::size_t>(problem.m * problem.D()), 0.0),
        first(0, 0, part(problem, 0, half), make_engine, {.threads = 1}),
        second(1, half, part(problem, half, problem.n - half), make_engine, {.threads = 1}) {
    for (EngineShard* shard : {&first, &second}) {
      shard->answer({.verb = ShardVerb::make_dual, .duals = {0}});
      shard->answer({.verb = ShardVerb::begin, .duals = {7, 0}});
      shard->answer({.verb = ShardVerb::epoch, .duals = {1}, .numbers = {0.0}});
    }
  }
  static ShardAnswer step(EngineShard& shard, const Vector& W, double sigma, double share = 1.0, double gamma = 1.0) {
    return shard.answer({.verb = ShardVerb::step, .duals = {0}, .numbers = {sigma, share}, .W = W, .gamma = gamma});
  }
  double dual() {
    Vector W_A(W.size(), 0.0);
    double c = 0.0, norm2 = 0.0;
    for (EngineShard* shard : {&first, &second}) {
      const ShardAnswer of = shard->answer({.verb = ShardVerb::weights_of, .duals = {0}});
      const ShardAnswer sums = shard->answer({.verb = ShardVerb::sums, .duals = {0}});
      for (std::size_t p = 0; p < W_A.size(); ++p) W_A[p] += of.W[p];
      c += static_cast<double>(sums.sums[0]);
      norm2 += static_cast<double>(sums.sums[1]);
    }
    return -0.5 * problem.lambda * plain::dot(W_A, W_A) + (c - 0.5 * problem.loss.smoothing * norm2) / problem.N;
  }

  const Problem problem;
  const std::int64_t half;
  Vector W;
  EngineShard first, second;
};

// One row after another, by the block step alone, in the order that the shards have.
SparseRows one_by_one(const Problem& problem, std::int64_t half) {
  const testing::ToyRows rows(problem, nullptr);
  Vector W(static_cast<std::size_t>(problem.m * problem.D()), 0.0);
  std::vector<SparseRow> A(static_cast<std::size_t>(problem.n));
  RowScratch scratch;
  for (std::int64_t k = 0; k < 2; ++k) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = k == 0 ? 0 : half; i < (k == 0 ? half : problem.n); ++i) {
      if (problem.weight(i) > 0.0) order.push_back(i);
    }
    Rng rng(7 + static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15u);
    rng.shuffle(order);
    for (const std::int64_t i : order) {
      const Vector s = rows.scores(i, W);
      const double q = problem.factor(i) * rows.dot(i, rows.x.data() + i * rows.D);
      SparseRow next, change;
      SparseRow& alpha = A[static_cast<std::size_t>(i)];
      block_step(problem.loss, problem.margins(i), s.data(), problem.m, problem.label(i), q, alpha, next, scratch);
      mix(1.0, next, -1.0, alpha, change);
      rows.add(i, change, problem.factor(i), W);
      alpha = next;
    }
  }
  SparseRows out;
  for (const SparseRow& alpha : A) {
    for (const auto& [j, value] : alpha) out.column.push_back(j), out.values.push_back(value);
    out.row_begin.push_back(static_cast<std::int64_t>(out.column.size()));
  }
  return out;
}

TEST(ShardRounds, OneAfterAnotherIsExactBlockAscent) {
  for (const Loss& loss : {usunier, smooth, softmax}) {
    const EngineCase at(kind, loss, {.n = 48});
    Two two(at);
    for (EngineShard* shard : {&two.first, &two.second}) {
      const ShardAnswer round = Two::step(*shard, two.W, 1.0);
      for (std::size_t p = 0; p < two.W.size(); ++p) two.W[p] += round.W[p];
    }
    ShardAnswer A = two.first.answer({.verb = ShardVerb::rows_of, .duals = {0}});
    add(two.second.answer({.verb = ShardVerb::rows_of, .duals = {0}}), A);
    const SparseRows expected = one_by_one(at.problem(), two.half);
    const double tolerance = loss.entropic() ? 1e-8 : 1e-12;
    const auto found = testing::dual_rows(A.rows), plain = testing::dual_rows(expected);
    for (std::int64_t i = 0; i < at.problem().n; ++i) {
      const Vector a = plain::dense(found[static_cast<std::size_t>(i)], at.problem().m);
      const Vector b = plain::dense(plain[static_cast<std::size_t>(i)], at.problem().m);
      for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], tolerance) << i << " " << j;
    }
  }
}

// The slope is that at the common weights: with the scores that the shards themselves saw, it would be another.
TEST(ShardRounds, SlopeAndCurvatureAreThoseOfTheDual) {
  for (const Loss& loss : {usunier, smooth}) {
    const EngineCase at(kind, loss, {.n = 48});
    Two two(at);
    const Problem& problem = at.problem();
    for (int round = 0; round < 3; ++round) {
      const double before = two.dual();
      for (EngineShard* shard : {&two.first, &two.second}) {
        shard->answer({.verb = ShardVerb::epoch, .duals = {round + 1}, .numbers = {1.0}});
      }
      const ShardAnswer one = Two::step(two.first, two.W, 1.3, 0.4), other = Two::step(two.second, two.W, 1.3, 0.4);
      ShardAnswer both = one;
      add(other, both);
      const double lambda_N = problem.lambda * problem.N;
      const double slope = static_cast<double>(both.sums[0]) - lambda_N * plain::dot(two.W, both.W);
      const double curvature =
          lambda_N * plain::dot(both.W, both.W) + loss.smoothing * static_cast<double>(both.sums[1]);
      const double gamma = round == 0 ? 1.0 : 0.35;
      for (EngineShard* shard : {&two.first, &two.second}) {
        shard->answer({.verb = ShardVerb::take, .gamma = gamma});
      }
      EXPECT_NEAR(two.dual() - before, gamma * (slope - 0.5 * gamma * curvature) / problem.N, 1e-12);
      EXPECT_GT(slope, 0.0);
      for (std::size_t p = 0; p < two.W.size(); ++p) two.W[p] += gamma * both.W[p];
    }
  }
}

TEST(ShardRounds, AnEntropyGainsMoreThanALineSays) {
  const EngineCase at(kind, softmax, {.n = 48});
  Two two(at);
  const Problem& problem = at.problem();
  const double before = two.dual(), gamma = 0.4;
  ShardAnswer both = Two::step(two.first, two.W, 1.0);
  add(Two::step(two.second, two.W, 1.0), both);
  ShardAnswer more = two.first.answer({.verb = ShardVerb::take, .gamma = gamma});
  add(two.second.answer({.verb = ShardVerb::take, .gamma = gamma}), more);
  const double line = gamma * static_cast<double>(both.sums[0]) -
                      0.5 * gamma * gamma * problem.lambda * problem.N * plain::dot(both.W, both.W);
  EXPECT_GT(static_cast<double>(more.sums[0]), 0.0);
  EXPECT_NEAR(two.dual() - before, (line + static_cast<double>(more.sums[0])) / problem.N, 1e-12);
}

// A round that is not taken has not happened; one that is taken whole leaves rows where they were put.
TEST(ShardRounds, NothingHappensUntilARoundIsTaken) {
  const EngineCase at(kind, usunier, {.n = 48});
  Two two(at);
  const auto rows = [&](double gamma) {
    return two.first.answer({.verb = ShardVerb::rows_of, .duals = {0}, .gamma = gamma}).rows.values;
  };
  Two::step(two.first, two.W, 1.0, 0.5);
  const std::vector<double> half = rows(1.0);
  EXPECT_FALSE(half.empty());
  Two::step(two.first, two.W, 1.0, 0.5);
  EXPECT_EQ(rows(0.0), half);
  EXPECT_EQ(rows(1.0), half) << "it is settled once";
  two.first.answer({.verb = ShardVerb::epoch, .duals = {2}, .numbers = {1.0}});
  Two::step(two.first, two.W, 1.0);
  two.first.answer({.verb = ShardVerb::forget, .duals = {0}});
  EXPECT_EQ(rows(1.0), half);
}

TEST(ShardTree, DependsOnTheNumbersAlone) {
  for (std::int64_t count = 1; count < 40; ++count) {
    std::vector<ShardAnswer> by_width(static_cast<std::size_t>(count));
    const auto of = [](std::int64_t k) {
      ShardAnswer out;
      out.W = {1.0 / static_cast<double>(k + 1), 1e17 / static_cast<double>(k * k + 1)};
      out.ranks = {static_cast<std::int32_t>(k)};
      return out;
    };
    for (std::int64_t k = 0; k < count; ++k) by_width[static_cast<std::size_t>(k)] = of(k);
    for (std::int64_t width = 1; width < count; width *= 2) {
      for (std::int64_t k = 0; k + width < count; k += 2 * width) {
        add(by_width[static_cast<std::size_t>(k + width)], by_width[static_cast<std::size_t>(k)]);
      }
    }
    const ShardAnswer tree = add_in_tree(0, count, of);
    EXPECT_EQ(tree.W, by_width[0].W);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    EXPECT_EQ(tree.ranks, numbers);
  }
}

TEST(ShardMessages, ComeBackAsTheyWere) {
  ShardAnswer answer;
  answer.W = {1.0, -2.5};
  answer.sums = {1.0L / 3.0L};
  answer.most = {4.0};
  answer.ranks = {3, 0};
  answer.rows = {{0, 1, 2}, {4, 5}, {0.5, -0.5}};
  answer.states = {"a", std::string("b\0c", 3), ""};
  answer.worst = 0.25;
  answer.worst_row = 17;
  const ShardAnswer back = unpack_answer(pack(answer));
  EXPECT_EQ(back.W, answer.W);
  EXPECT_EQ(back.sums, answer.sums);
  EXPECT_EQ(back.most, answer.most);
  EXPECT_EQ(back.ranks, answer.ranks);
  EXPECT_EQ(back.rows.row_begin, answer.rows.row_begin);
  EXPECT_EQ(back.rows.column, answer.rows.column);
  EXPECT_EQ(back.rows.values, answer.rows.values);
  EXPECT_EQ(back.states, answer.states);
  EXPECT_EQ(back.worst, answer.worst);
  EXPECT_EQ(back.worst_row, answer.worst_row);
  EXPECT_FALSE(back.lost);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
