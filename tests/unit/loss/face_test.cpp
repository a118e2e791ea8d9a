// The face of the dual set (L7): small steps that keep to the groups stay in Q both ways, and for the Usunier family a
// step between two entries of different groups does not.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/random_rows.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::random_row;

struct Point {
  Loss loss;
  std::int64_t m = 0, y = 0;
  SparseRow alpha;
  Face face;
};

// The projection of a random point, which lies on the boundary more often than not.
Point random_point() {
  const auto row = random_row();
  Point point{row.loss, static_cast<std::int64_t>(row.m()), static_cast<std::int64_t>(row.y), {}, {}};
  RowScratch scratch;
  project(point.loss, row.s.data(), point.m, point.y, point.alpha, scratch);
  find_face(point.loss, point.y, point.alpha, point.face, scratch);
  return point;
}

// How far alpha + step leaves Q.
double distance_outside(const Point& point, const Vector& step) {
  Vector a(static_cast<std::size_t>(point.m), 0.0);
  for (const auto& [j, value] : point.alpha) a[static_cast<std::size_t>(j)] = value;
  for (std::size_t j = 0; j < a.size(); ++j) a[j] += step[j];
  SparseRow inside;
  RowScratch scratch;
  project(point.loss, a.data(), point.m, point.y, inside, scratch);
  for (const auto& [j, value] : inside) a[static_cast<std::size_t>(j)] -= value;
  return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0));
}

Vector between(const Point& point, std::size_t from, std::size_t to, double size) {
  Vector step(static_cast<std::size_t>(point.m), 0.0);
  step[static_cast<std::size_t>(point.alpha[from].column)] = size;
  step[static_cast<std::size_t>(point.alpha[to].column)] = -size;
  return step;
}

RC_GTEST_PROP(Face, StepsInsideAGroupStayInQ, ()) {
  const Point point = random_point();
  for (std::size_t a = 0; a < point.alpha.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (point.face.group[a] < 0 || point.face.group[a] != point.face.group[b]) continue;
      // Entries that are nearly at a bound can move by next to nothing.
      RC_ASSERT(distance_outside(point, between(point, a, b, 1e-12)) <= 1e-13);
      RC_ASSERT(distance_outside(point, between(point, a, b, -1e-12)) <= 1e-13);
    }
  }
}

// A point of the top-k set at which only one zeta is possible: y and other classes have zeta rho, some ranks averaged.
Point point_of_one_zeta() {
  const auto K = *rc::gen::inRange<std::size_t>(2, 7);
  Loss loss{Family::top_k, {}, 0.0};
  for (std::size_t r = 0; r < K; ++r) loss.rho.push_back(*rc::gen::inRange(1, 100) / 100.0);
  std::sort(loss.rho.rbegin(), loss.rho.rend());
  const double zeta = *rc::gen::inRange(5, 95) / 100.0;
  Vector beta = loss.rho;
  const auto from = *rc::gen::inRange<std::size_t>(0, K), to = *rc::gen::inRange<std::size_t>(from, K);
  const double mean = std::accumulate(beta.begin() + static_cast<std::ptrdiff_t>(from),
                                      beta.begin() + static_cast<std::ptrdiff_t>(to) + 1, 0.0) /
                      static_cast<double>(to - from + 1);
  std::fill(beta.begin() + static_cast<std::ptrdiff_t>(from), beta.begin() + static_cast<std::ptrdiff_t>(to) + 1, mean);
  const auto y = *rc::gen::inRange<std::size_t>(0, K);
  Point point{loss, static_cast<std::int64_t>(K) + 2, static_cast<std::int64_t>(y), {}, {}};
  for (std::size_t j = 0; j < K; ++j) {
    const double value = j == y ? zeta * (loss.rho_sum() - beta[j]) : -zeta * beta[j];
    point.alpha.push_back({static_cast<std::int32_t>(j), value});
  }
  RowScratch scratch;
  find_face(point.loss, point.y, point.alpha, point.face, scratch);
  return point;
}

RC_GTEST_PROP(Face, StepsAlongZetaStayInQ, ()) {
  const Point point = point_of_one_zeta();
  RC_PRE(!point.face.along.empty());
  double length2 = 0.0, sum = 0.0;
  for (const double x : point.face.along) length2 += x * x, sum += x;
  RC_ASSERT(length2 > 0.0);
  RC_ASSERT(std::abs(sum) <= 1e-12 * std::sqrt(length2));
  for (const double size : {1e-6, -1e-6}) {
    Vector step(static_cast<std::size_t>(point.m), 0.0);
    for (std::size_t e = 0; e < point.alpha.size(); ++e) {
      step[static_cast<std::size_t>(point.alpha[e].column)] = size * point.face.along[e] / std::sqrt(length2);
    }
    RC_ASSERT(distance_outside(point, step) <= 1e-13);
  }
}

// top-k:2 where y and another class share: nothing moves but zeta.
TEST(Face, OfTheTopKSetCanGrowAndShrinkAsAWhole) {
  RowScratch scratch;
  Face face;
  find_face({Family::top_k, {0.5, 0.5}, 0.0}, 2, SparseRow{{0, -0.3}, {2, 0.3}}, face, scratch);
  ASSERT_EQ(face.along.size(), 2u);
  EXPECT_NEAR(face.along[0], -0.5, 1e-12);
  EXPECT_NEAR(face.along[1], 0.5, 1e-12);
  EXPECT_NE(face.group[0], face.group[1]);
  find_face({Family::top_k, {0.5, 0.5}, 0.0}, 2, SparseRow{{0, -0.5}, {2, 0.5}}, face, scratch);
  EXPECT_TRUE(face.along.empty()) << "zeta is at its bound";
}

RC_GTEST_PROP(Face, StepsBetweenGroupsLeaveTheUsunierSet, ()) {
  const Point point = random_point();
  RC_PRE(point.loss.family == Family::usunier);
  constexpr double size = 1e-4;
  for (std::size_t a = 0; a < point.alpha.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (point.face.group[a] >= 0 && point.face.group[a] == point.face.group[b]) continue;
      const double out = std::max(distance_outside(point, between(point, a, b, size)),
                                  distance_outside(point, between(point, a, b, -size)));
      RC_ASSERT(out > 1e-3 * size);
    }
  }
}

TEST(Face, TheInsideOfTheSimplexIsOneGroup) {
  RowScratch scratch;
  Face face;
  const SparseRow inside{{0, -0.25}, {2, 0.5}, {3, -0.25}};
  for (const Family family : {Family::usunier, Family::top_k}) {
    find_face({family, {1.0}, 0.0}, 2, inside, face, scratch);
    EXPECT_EQ(face.group, (std::vector<std::int32_t>{0, 0, 0}));
  }
  const SparseRow full{{0, -0.75}, {2, 1.0}, {3, -0.25}};
  for (const Family family : {Family::usunier, Family::top_k}) {
    find_face({family, {1.0}, 0.0}, 2, full, face, scratch);
    EXPECT_EQ(face.group, (std::vector<std::int32_t>{0, -1, 0})) << "alpha_y is at its bound";
  }
  const SparseRow corner{{0, -1.0}, {2, 1.0}};
  find_face({Family::usunier, {1.0}, 0.0}, 2, corner, face, scratch);
  EXPECT_EQ(face.group, (std::vector<std::int32_t>{-1, -1}));
}

TEST(Face, ABoundOnTheLargestSplitsTheList) {
  RowScratch scratch;
  Face face;
  // usunier:2: beta_1 <= 1/2 is met by class 0; classes 1 and 3 move against y.
  const SparseRow alpha{{0, -0.5}, {1, -0.2}, {2, 0.8}, {3, -0.1}};
  find_face({Family::usunier, {0.5, 0.5}, 0.0}, 2, alpha, face, scratch);
  EXPECT_EQ(face.group, (std::vector<std::int32_t>{-1, 0, 0, 0}));
}

RC_GTEST_PROP(ProjectWithin, IsTheProjectionAmongPointsThatVanishElsewhere, ()) {
  const auto row = random_row();
  const auto m = static_cast<std::int64_t>(row.m()), y = static_cast<std::int64_t>(row.y);
  SparseRow everywhere, all, some;
  RowScratch scratch;
  for (std::size_t j = 0; j < row.m(); ++j) everywhere.push_back({static_cast<std::int32_t>(j), row.s[j]});
  project(row.loss, row.s.data(), m, y, all, scratch);
  project_within(row.loss, everywhere, y, some, scratch);
  RC_ASSERT(some.size() == all.size());
  for (std::size_t e = 0; e < all.size(); ++e) {
    RC_ASSERT(some[e].column == all[e].column);
    RC_ASSERT(some[e].value == all[e].value);
  }
  // A point of Q is its own projection among those with its entries.
  project_within(row.loss, all, y, some, scratch);
  RC_ASSERT(some.size() == all.size());
  for (std::size_t e = 0; e < all.size(); ++e) RC_ASSERT(std::abs(some[e].value - all[e].value) <= 1e-12);
}

TEST(ProjectWithin, AllowsFewerEntriesThanWeights) {
  RowScratch scratch;
  SparseRow alpha;
  const SparseRow few{{3, -0.02}, {40, 0.05}, {77, -0.03}};
  project_within({Family::usunier, std::vector<double>(30, 1.0 / 30), 0.0}, few, 40, alpha, scratch);
  ASSERT_EQ(alpha.size(), few.size());
  for (std::size_t e = 0; e < few.size(); ++e) EXPECT_NEAR(alpha[e].value, few[e].value, 1e-15);
}

TEST(Projection, EndsWhateverTheKeys) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  RowScratch scratch;
  SparseRow alpha;
  for (const Family family : {Family::usunier, Family::top_k}) {
    for (const double odd : {-infinite, infinite, std::nan("")}) {
      const std::vector<double> a{0.0, odd, odd, 1.0, odd};
      for (const std::int64_t y : {0, 1}) project({family, {0.5, 0.3, 0.2}, 0.0}, a.data(), 5, y, alpha, scratch);
    }
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
