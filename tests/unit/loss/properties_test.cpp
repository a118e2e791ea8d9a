// What must hold for every loss, whatever the scores: convexity, the subgradient inequality, feasibility and
// optimality of the projection, Fenchel-Young for the envelope, symmetry under renaming of classes.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/rng.hpp"
#include "support/plain_projection.hpp"
#include "support/random_rows.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::numbers;
using testing::random_loss;
using testing::random_row;
using testing::RowCase;

double sized(double x) {
  return 1.0 + std::abs(x);
}

Vector vertex_of(const RowCase& row, const Vector& s, VertexValue* value = nullptr) {
  RowScratch scratch;
  SparseRow u;
  const VertexValue result = vertex(row.loss, row.delta.data(), s.data(), static_cast<std::int64_t>(s.size()),
                                    static_cast<std::int64_t>(row.y), u, scratch);
  if (value) *value = result;
  return plain::dense(u, static_cast<std::int64_t>(s.size()));
}

Vector project_of(const Loss& loss, const Vector& a, std::size_t y) {
  RowScratch scratch;
  SparseRow alpha;
  project(loss, a.data(), static_cast<std::int64_t>(a.size()), static_cast<std::int64_t>(y), alpha, scratch);
  return plain::dense(alpha, static_cast<std::int64_t>(a.size()));
}

double envelope_of(const RowCase& row, const Vector& s, double smoothing, Vector* alpha = nullptr) {
  Loss loss = row.loss;
  loss.smoothing = smoothing;
  RowScratch scratch;
  SparseRow out;
  const double value = envelope(loss, row.delta.data(), s.data(), static_cast<std::int64_t>(s.size()),
                                static_cast<std::int64_t>(row.y), out, scratch);
  if (alpha) *alpha = plain::dense(out, static_cast<std::int64_t>(s.size()));
  return value;
}

Vector minus(const Vector& a, const Vector& b) {
  Vector out(a.size());
  for (std::size_t j = 0; j < a.size(); ++j) out[j] = a[j] - b[j];
  return out;
}

RC_GTEST_PROP(Vertex, GivesTheLossAndIsFeasible, ()) {
  const RowCase row = random_row();
  VertexValue value;
  const Vector u = vertex_of(row, row.s, &value);
  RC_ASSERT(std::abs(value.phi - plain::value(row.loss, row.delta, row.s, row.y)) < 1e-12 * sized(value.phi));
  RC_ASSERT(plain::infeasibility(row.loss, u, row.y) < 1e-12);
  double c_u = 0.0, c_minus_s_u = 0.0;
  for (std::size_t j = 0; j < row.m(); ++j) {
    c_u -= row.delta[j] * u[j];
    c_minus_s_u -= (row.delta[j] + row.s[j]) * u[j];
  }
  RC_ASSERT(std::abs(c_u - value.c_u) < 1e-12 * sized(c_u));
  RC_ASSERT(std::abs(c_minus_s_u - value.phi) < 1e-11 * sized(value.phi));
}

RC_GTEST_PROP(Vertex, IsASubgradientWithTheSignTurned, ()) {
  const RowCase row = random_row();
  const Vector u = vertex_of(row, row.s);
  const Vector other = numbers(row.m(), 2.0);
  const double here = plain::value(row.loss, row.delta, row.s, row.y);
  const double there = plain::value(row.loss, row.delta, other, row.y);
  RC_ASSERT(there >= here - plain::dot(u, minus(other, row.s)) - 1e-11);
}

RC_GTEST_PROP(Vertex, AgreesInSinglePrecision, ()) {
  const RowCase row = random_row();
  const std::vector<float> s32(row.s.begin(), row.s.end());
  RowScratch scratch;
  SparseRow u;
  const VertexValue value = vertex(row.loss, row.delta.data(), s32.data(), static_cast<std::int64_t>(row.m()),
                                   static_cast<std::int64_t>(row.y), u, scratch);
  const Vector widened(s32.begin(), s32.end());
  RC_ASSERT(std::abs(value.phi - plain::value(row.loss, row.delta, widened, row.y)) < 1e-12 * sized(value.phi));
}

RC_GTEST_PROP(Vertex, UnitMarginsAreTheDefault, ()) {
  RowCase row = random_row();
  row.delta = plain::unit_margins(row.m(), row.y);
  RowScratch scratch;
  SparseRow u;
  vertex(row.loss, nullptr, row.s.data(), static_cast<std::int64_t>(row.m()), static_cast<std::int64_t>(row.y), u,
         scratch);
  RC_ASSERT(plain::dense(u, static_cast<std::int64_t>(row.m())) == vertex_of(row, row.s));
}

RC_GTEST_PROP(Value, IsConvex, ()) {
  const RowCase row = random_row();
  const Vector other = numbers(row.m(), 2.0);
  Vector middle(row.m());
  for (std::size_t j = 0; j < row.m(); ++j) middle[j] = 0.5 * (row.s[j] + other[j]);
  VertexValue a, b, c;
  vertex_of(row, row.s, &a);
  vertex_of(row, other, &b);
  vertex_of(row, middle, &c);
  RC_ASSERT(c.phi <= 0.5 * (a.phi + b.phi) + 1e-12);
  const double left = envelope_of(row, row.s, 0.3), right = envelope_of(row, other, 0.3);
  RC_ASSERT(envelope_of(row, middle, 0.3) <= 0.5 * (left + right) + 1e-12);
}

// alpha = Proj_Q(a) if and only if alpha is in Q and <a - alpha, v - alpha> <= 0 for every v in Q.
RC_GTEST_PROP(Projection, IsFeasibleAndOptimal, ()) {
  const RowCase row = random_row();
  const double size = *rc::gen::element(0.01, 1.0, 30.0);
  const Vector a = numbers(row.m(), size);
  const Vector alpha = project_of(row.loss, a, row.y);
  RC_ASSERT(plain::infeasibility(row.loss, alpha, row.y) < 1e-13);
  const Vector normal = minus(a, alpha);
  RC_ASSERT(plain::support(row.loss, normal, row.y) - plain::dot(normal, alpha) < 1e-12 * (1.0 + size));
}

RC_GTEST_PROP(Projection, AgreesWithThePlainOneWhateverTheGuess, ()) {
  const auto m = *rc::gen::inRange<std::size_t>(2, 80);
  const Loss loss = random_loss(m);
  const auto y = *rc::gen::inRange<std::size_t>(0, m);
  const Vector a = numbers(m, *rc::gen::element(0.01, 1.0, 30.0)), other = numbers(m, 1.0);
  const Vector expected = plain::project(loss, a, y);
  RowScratch scratch;
  SparseRow alpha, guess;
  project(loss, other.data(), static_cast<std::int64_t>(m), static_cast<std::int64_t>(y), guess, scratch);
  for (const RowView before : {RowView(), RowView(guess)}) {
    scratch.key.assign(m, 0.0);
    for (std::size_t j = 0; j < m; ++j) scratch.key[j] = a[y] - a[j];
    project_keys(loss, static_cast<std::int64_t>(y), before, alpha, scratch);
    const Vector found = plain::dense(alpha, static_cast<std::int64_t>(m));
    for (std::size_t j = 0; j < m; ++j) RC_ASSERT(std::abs(found[j] - expected[j]) < 1e-10);
  }
}

// As a device does it: one sorted list, of the keys that are not below the K-th by more than the largest weight.
Vector project_once(const Loss& loss, const Vector& a, std::size_t y) {
  Vector all;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (j != y) all.push_back(a[y] - a[j]);
  }
  std::sort(all.begin(), all.end(), std::greater<>());
  const auto K = static_cast<std::size_t>(loss.K());
  const double least = K <= all.size() ? all[K - 1] - loss.rho.front() : -std::numeric_limits<double>::infinity();
  std::vector<Ranked> ranked;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double b = a[y] - a[j];
    if (j != y && b >= least && (loss.family == Family::top_k || b > 0.0)) {
      ranked.push_back({b, static_cast<std::int32_t>(j)});
    }
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.push_back({});
  std::vector<PooledBlock> blocks(ranked.size());
  SortedKeys keys{ranked.data(), static_cast<std::int64_t>(ranked.size()) - 1, blocks.data(), 0};
  const LossView view = view_of(loss);
  Vector alpha(a.size(), 0.0);
  const auto write = [&](std::int32_t j, double beta) { alpha[static_cast<std::size_t>(j)] = -beta; };
  if (keys.size == 0) return alpha;
  if (loss.family == Family::usunier) {
    pool_adjacent_violators(view, 1.0, keys);
    alpha[y] = write_usunier(keys, find_threshold(view, keys), write);
  } else {
    TopKLine line(view, static_cast<std::int64_t>(y), keys);
    const double zeta = find_zeta(line);
    if (zeta > 0.0) alpha[y] = line.write(zeta, write);
  }
  return alpha;
}

RC_GTEST_PROP(Projection, OneListIsEnough, ()) {
  const auto m = *rc::gen::inRange<std::size_t>(2, 80);
  const Loss loss = random_loss(m);
  const auto y = *rc::gen::inRange<std::size_t>(0, m);
  const Vector a = numbers(m, *rc::gen::element(0.01, 1.0, 30.0));
  const Vector expected = plain::project(loss, a, y), found = project_once(loss, a, y);
  for (std::size_t j = 0; j < m; ++j) RC_ASSERT(std::abs(found[j] - expected[j]) < 1e-10);
}

RC_GTEST_PROP(Projection, StaysFeasibleWhenTheInputIsHuge, ()) {
  const RowCase row = random_row();
  Vector a = numbers(row.m(), 1.0);
  for (double& x : a) x *= *rc::gen::element(1e9, 1e9, 1.0);
  const Vector alpha = project_of(row.loss, a, row.y);
  RC_ASSERT(plain::infeasibility(row.loss, alpha, row.y) < 1e-13);
}

RC_GTEST_PROP(Projection, LeavesAPointOfTheSetAlone, ()) {
  const RowCase row = random_row();
  const Vector u = vertex_of(row, row.s);
  const Vector v = vertex_of(row, numbers(row.m(), 2.0));
  Vector mix(row.m());
  for (std::size_t j = 0; j < row.m(); ++j) mix[j] = 0.3 * u[j] + 0.7 * v[j];
  const Vector alpha = project_of(row.loss, mix, row.y);
  for (std::size_t j = 0; j < row.m(); ++j) RC_ASSERT(std::abs(alpha[j] - mix[j]) < 1e-13);
}

RC_GTEST_PROP(Projection, FollowsARenamingOfTheClasses, ()) {
  const RowCase row = random_row();
  const Vector a = numbers(row.m(), 2.0);
  std::vector<std::size_t> order(row.m());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto turn = *rc::gen::inRange<std::size_t>(0, row.m());
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(turn), order.end());
  Vector renamed(row.m());
  std::size_t y = 0;
  for (std::size_t j = 0; j < row.m(); ++j) {
    renamed[j] = a[order[j]];
    if (order[j] == row.y) y = j;
  }
  const Vector alpha = project_of(row.loss, a, row.y), other = project_of(row.loss, renamed, y);
  for (std::size_t j = 0; j < row.m(); ++j) RC_ASSERT(std::abs(other[j] - alpha[order[j]]) < 1e-13);
}

RC_GTEST_PROP(Envelope, FenchelYoungHoldsWithEqualityAtItsGradient, ()) {
  const RowCase row = random_row();
  const double smoothing = *rc::gen::element(1e-3, 0.1, 1.0, 10.0);
  Vector best;
  const double value = envelope_of(row, row.s, smoothing, &best);
  RC_ASSERT(plain::infeasibility(row.loss, best, row.y) < 1e-13);
  const auto conjugate = [&](const Vector& alpha) {
    double sum = 0.0;
    for (std::size_t j = 0; j < row.m(); ++j) sum -= (row.delta[j] + row.s[j]) * alpha[j];
    return sum - 0.5 * smoothing * plain::dot(alpha, alpha);
  };
  RC_ASSERT(std::abs(conjugate(best) - value) < 1e-12 * sized(value));
  const Vector feasible = vertex_of(row, numbers(row.m(), 2.0));
  RC_ASSERT(conjugate(feasible) <= value + 1e-12);
}

RC_GTEST_PROP(Envelope, LiesBelowTheLossByAtMostTheSmoothing, ()) {
  const RowCase row = random_row();
  const double loss = plain::value(row.loss, row.delta, row.s, row.y);
  double last = -1.0;
  for (double smoothing : {1.0, 0.1, 0.01, 1e-6}) {
    const double value = envelope_of(row, row.s, smoothing);
    RC_ASSERT(value <= loss + 1e-12);
    RC_ASSERT(value >= last - 1e-12);
    last = value;
  }
  const double R = std::accumulate(row.loss.rho.begin(), row.loss.rho.end(), 0.0);
  RC_ASSERT(loss - last <= 1e-6 * R * R + 1e-12);
}

RC_GTEST_PROP(Envelope, ItsGradientIsMinusAlpha, ()) {
  const RowCase row = random_row();
  Vector alpha;
  const double here = envelope_of(row, row.s, 0.5, &alpha);
  const Vector other = numbers(row.m(), 2.0);
  RC_ASSERT(envelope_of(row, other, 0.5) >= here - plain::dot(alpha, minus(other, row.s)) - 1e-11);
}

TEST(Vertex, TiesGoToTheLowerClass) {
  const Loss loss{Family::usunier, {1.0}, 0.0};
  const double s[] = {0, 0, 0, 0};
  RowScratch scratch;
  SparseRow u;
  vertex(loss, nullptr, s, 4, 0, u, scratch);
  EXPECT_EQ(plain::dense(u, 4), (Vector{1, -1, 0, 0}));
  vertex(loss, nullptr, s, 4, 2, u, scratch);
  EXPECT_EQ(plain::dense(u, 4), (Vector{-1, 0, 1, 0}));
}

// Long rows take the paths that short ones do not: whole strips skipped, selection instead of insertion.
TEST(Vertex, LongRowsGiveThePlainValue) {
  for (const std::size_t m : {33u, 64u, 200u, 1001u}) {
    for (const std::size_t K : {1u, 5u, 24u, 25u, 32u}) {
      for (const Family family : {Family::usunier, Family::top_k}) {
        const Loss loss{family, Vector(K, 1.0 / static_cast<double>(K)), 0.0};
        Vector s(m);
        for (std::size_t j = 0; j < m; ++j) s[j] = std::sin(static_cast<double>(j * j + K)) - 0.3;
        const std::size_t y = m / 3;
        RowScratch scratch;
        SparseRow u;
        const VertexValue value =
            vertex(loss, nullptr, s.data(), static_cast<std::int64_t>(m), static_cast<std::int64_t>(y), u, scratch);
        EXPECT_NEAR(value.phi, plain::value(loss, plain::unit_margins(m, y), s, y), 1e-12);
        EXPECT_LE(u.size(), K + 1);
      }
    }
  }
}

// Only entries near the K-th largest are looked at; what is left out must not matter.
TEST(Projection, LongRowsAreFeasibleAndOptimal) {
  Rng rng(11);
  for (const std::size_t m : {31u, 32u, 33u, 200u, 1001u}) {
    for (const std::size_t K : {1u, 2u, 5u, 24u, 25u, 30u}) {
      for (const Family family : {Family::usunier, Family::top_k}) {
        for (const double size : {0.05, 0.5, 3.0, 1e9}) {
          Loss loss{family, Vector(K, 1.0 / static_cast<double>(K)), 0.0};
          if (K > 2) loss.rho[0] = 0.7;
          Vector a(m);
          for (double& x : a) x = size * rng.normal();
          const std::size_t y = rng.below(m);
          if (rng.uniform() < 0.5) a[y] += 2.0 * size;
          const Vector alpha = project_of(loss, a, y);
          EXPECT_LT(plain::infeasibility(loss, alpha, y), 1e-12);
          const Vector normal = minus(a, alpha);
          EXPECT_LT(plain::support(loss, normal, y) - plain::dot(normal, alpha), 1e-12 * (1.0 + size))
              << "m " << m << ", K " << K << ", size " << size;
        }
      }
    }
  }
}

TEST(Families, CoincideForTwoPlacesAndDifferForThree) {
  const Vector s{0.5, 0.4, -3.0, 0.0}, delta = plain::unit_margins(4, 3);
  const auto value = [&](Family family, std::size_t k) {
    return plain::value({family, Vector(k, 1.0 / static_cast<double>(k)), 0.0}, delta, s, 3);
  };
  EXPECT_DOUBLE_EQ(value(Family::usunier, 2), value(Family::top_k, 2));
  const Vector mixed{0.5, -3.0, -3.0, 0.0};
  EXPECT_GT(plain::value({Family::usunier, Vector(3, 1.0 / 3), 0.0}, delta, mixed, 3),
            plain::value({Family::top_k, Vector(3, 1.0 / 3), 0.0}, delta, mixed, 3) + 0.1);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
