// Losses by their oracles (L11, L12), one example at a time: what is found by asking, against closed forms and the
// plainest words; and oracles that are wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/rng.hpp"
#include "loss/oracle.hpp"
#include "support/plain_projection.hpp"
#include "topwolf/error.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using ::testing::HasSubstr;

// An oracle, and the same loss in the words of the plain functions.
struct Pair {
  Loss asked, known;
};

std::vector<Pair> pairs(std::int64_t m, double smoothing) {
  std::vector<Pair> out;
  for (const Loss& known : {Loss{Family::usunier, {1.0}}, Loss{Family::top_k, Vector(3, 1.0 / 3)},
                            Loss{Family::usunier, {0.5, 0.3, 0.2}}, Loss{Family::top_k, {5.0, 3.0, 0.2}}}) {
    out.push_back({testing::loss_of_oracle(std::make_shared<testing::KnownOracle>(known), m, smoothing), known});
    out.back().known.smoothing = smoothing;
  }
  const Loss groups = testing::loss_of_oracle(testing::three_groups(m), m, smoothing);
  out.push_back({groups, groups});
  return out;
}

Vector random_vector(Rng& rng, std::int64_t m, double scale) {
  Vector out;
  for (std::int64_t j = 0; j < m; ++j) out.push_back(rng.uniform() < 0.2 ? 0.0 : scale * rng.normal());
  return out;
}

template <class Check>
void for_cases(double smoothing, const Check& check) {
  Rng rng(7);
  for (int trial = 0; trial < 60; ++trial) {
    const std::int64_t m = 4 + static_cast<std::int64_t>(rng.below(12));
    const auto y = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(m)));
    for (const Pair& pair : pairs(m, smoothing)) {
      const double scale = std::pow(10.0, 4.0 * rng.uniform() - 2.0);
      SCOPED_TRACE(::testing::Message() << "trial " << trial << ", " << pair.asked.oracle->name() << ", m " << m
                                        << ", K " << pair.known.K() << ", scale " << scale);
      check(pair, random_vector(rng, m, scale), y);
    }
  }
}

TEST(Oracle, VertexAndValueAreThoseOfTheLoss) {
  for_cases(0.0, [](const Pair& pair, const Vector& s, std::int64_t y) {
    const auto m = static_cast<std::int64_t>(s.size());
    const auto own = static_cast<std::size_t>(y);
    const Vector delta = plain::unit_margins(s.size(), own);
    RowScratch scratch;
    SparseRow u;
    const VertexValue found = vertex(pair.asked, delta.data(), s.data(), m, y, u, scratch);
    const double expected = plain::value(pair.known, delta, s, own);
    EXPECT_NEAR(found.phi, expected, 1e-12 * (1.0 + expected));
    EXPECT_NEAR(found.c_u, -plain::dot(delta, plain::dense(u, m)), 1e-12);
    EXPECT_LT(plain::infeasibility(pair.known, plain::dense(u, m), own), 1e-14);
    const LossBound bound = loss_bound(pair.asked, delta.data(), s.data(), m, y, u, scratch);
    EXPECT_NEAR(bound.phi, expected, 1e-12 * (1.0 + expected));
    EXPECT_GE(bound.phi + bound.rounding, expected);
    EXPECT_LE(bound.rounding, 1e-12 *
                                  (1.0 + std::abs(*std::max_element(s.begin(), s.end())) +
                                   std::abs(*std::min_element(s.begin(), s.end()))) *
                                  pair.asked.rho_sum());
  });
}

TEST(Oracle, StepsEndAtTheProjection) {
  for_cases(0.0, [](const Pair& pair, const Vector& a, std::int64_t y) {
    const auto m = static_cast<std::int64_t>(a.size());
    const auto own = static_cast<std::size_t>(y);
    RowScratch scratch;
    SparseRow alpha;
    project(pair.asked, a.data(), m, y, alpha, scratch);
    const Vector found = plain::dense(alpha, m), expected = plain::project(pair.known, a, own);
    EXPECT_LT(plain::infeasibility(pair.known, found, own), 1e-13 * pair.asked.rho_sum());
    double size = pair.asked.rho_sum();
    for (const double x : a) size = std::max(size, std::abs(x));
    for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(found[j], expected[j], 1e-7 * size) << j;
    // What nearness is worth: no vertex leads on.
    Vector away(a.size());
    for (std::size_t j = 0; j < a.size(); ++j) away[j] = a[j] - found[j];
    EXPECT_LE(plain::support(pair.known, away, own) - plain::dot(away, found), 1e-13 * size * pair.asked.rho_sum());
    const Membership miss = membership(pair.asked, y, alpha, scratch);
    EXPECT_LT(miss.distance, 1e-12 * pair.asked.rho_sum());
  });
}

TEST(Oracle, ARowIsMeasuredAndPutInside) {
  for_cases(0.0, [](const Pair& pair, const Vector& a, std::int64_t y) {
    const auto m = static_cast<std::int64_t>(a.size());
    const auto own = static_cast<std::size_t>(y);
    RowScratch scratch;
    SparseRow alpha;
    project(pair.known.oracle ? pair.asked : pair.known, a.data(), m, y, alpha, scratch);
    SparseRow inside = alpha;
    EXPECT_LT(put_inside(pair.asked, y, inside, scratch), 1e-11);
    EXPECT_EQ(plain::dense(inside, m), plain::dense(alpha, m)) << "what is inside stays";
    if (alpha.empty()) return;
    for (Entry& entry : alpha) entry.value *= 30.0;
    const double outside = plain::infeasibility(pair.known, plain::dense(alpha, m), own);
    if (!(outside > 1e-3 * pair.asked.rho_sum())) return;
    EXPECT_GT(put_inside(pair.asked, y, alpha, scratch), 1e-4);
    EXPECT_LT(plain::infeasibility(pair.known, plain::dense(alpha, m), own), 1e-13 * pair.asked.rho_sum());
  });
}

TEST(Oracle, EnvelopesAreThoseOfTheLoss) {
  for (const double smoothing : {1e-3, 0.1, 10.0}) {
    for_cases(smoothing, [&](const Pair& pair, const Vector& s, std::int64_t y) {
      const auto m = static_cast<std::int64_t>(s.size());
      const auto own = static_cast<std::size_t>(y);
      const Vector delta = plain::unit_margins(s.size(), own);
      RowScratch scratch;
      SparseRow alpha;
      const double expected = plain::envelope(pair.known, delta, s, own),
                   found = envelope(pair.asked, delta.data(), s.data(), m, y, alpha, scratch);
      EXPECT_NEAR(found, expected, 1e-9 * (1.0 + expected));
      const LossBound bound = loss_bound(pair.asked, delta.data(), s.data(), m, y, alpha, scratch);
      EXPECT_GE(bound.phi + bound.rounding, expected - 1e-9 * (1.0 + expected));
      EXPECT_NEAR(bound.phi, expected, 1e-9 * (1.0 + expected));
      EXPECT_NEAR(gap_share(pair.asked, delta.data(), s.data(), m, y, alpha, alpha, scratch), 0.0,
                  1e-9 * (1.0 + expected));
    });
  }
}

// Whatever point a projection names, what is certified is not below the envelope; and next to it, if the point is
// right.
TEST(Oracle, AnEnvelopeIsBoundedAtAnyPoint) {
  using Project = testing::KnownOracle::Project;
  const Project nothing = [](const Loss&, const Vector& a, std::size_t) { return Vector(a.size(), 0.0); };
  const Project half = [](const Loss& loss, const Vector& a, std::size_t y) {
    Vector alpha = plain::project(loss, a, y);
    for (double& value : alpha) value *= 0.5;
    return alpha;
  };
  Rng rng(12);
  for (int trial = 0; trial < 400; ++trial) {
    const std::int64_t m = 2 + static_cast<std::int64_t>(rng.below(12));
    const std::size_t y = rng.below(static_cast<std::uint64_t>(m));
    const double smoothing = std::pow(10.0, 16.0 * rng.uniform() - 8.0),
                 scale = std::pow(10.0, 10.0 * rng.uniform() - 3.0);
    // In the words of a group hinge, whose envelope is known to all digits: one group is the max hinge.
    const testing::GroupHinge hinge(std::vector<std::size_t>(static_cast<std::size_t>(m), 0), {1.0});
    const Vector s = random_vector(rng, m, scale), delta = plain::unit_margins(s.size(), y);
    std::vector<long double> z(s.size());
    for (std::size_t j = 0; j < s.size(); ++j) z[j] = static_cast<long double>(delta[j]) + s[j] - s[y];
    const long double expected = testing::group_envelope(hinge, z, y, smoothing);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ", m " << m << ", smoothing " << smoothing << ", scale "
                                      << scale);
    for (const Project project : {Project(nullptr), Project(&testing::known_projection), half, nothing}) {
      const Loss loss = testing::loss_of_oracle(std::make_shared<testing::KnownOracle>(Loss{}, project), m, smoothing);
      RowScratch scratch;
      SparseRow best;
      const LossBound bound = loss_bound(loss, delta.data(), s.data(), m, static_cast<std::int64_t>(y), best, scratch);
      EXPECT_GE(static_cast<long double>(bound.phi) + bound.rounding, expected * (1.0L - 1e-18L));
      if (project == nothing || project == half) continue;
      EXPECT_LE(bound.phi, expected + 1e-14 * (expected + scale));
      EXPECT_LE(bound.rounding, 1e-13 * (expected + scale));
    }
  }
}

TEST(Oracle, AProjectionThatIsGivenIsTaken) {
  const Loss known{Family::top_k, Vector(3, 1.0 / 3)};
  const Loss asked = testing::loss_of_oracle(std::make_shared<testing::KnownOracle>(known, &plain::project), 8);
  Rng rng(2);
  RowScratch scratch;
  SparseRow alpha;
  for (int trial = 0; trial < 20; ++trial) {
    const Vector a = random_vector(rng, 8, 2.0);
    project(asked, a.data(), 8, trial % 8, alpha, scratch);
    const Vector expected = plain::project(known, a, static_cast<std::size_t>(trial % 8)),
                 found = plain::dense(alpha, 8);
    for (std::size_t j = 0; j < 8; ++j) EXPECT_NEAR(found[j], expected[j], 1e-14);
  }
}

// ---- Oracles that are wrong

class Made final : public LossOracle {
 public:
  std::string name() const override { return "made"; }
  double reach() const override { return reach_; }
  double value(std::span<const double> z, std::int64_t y) const override { return value_(z, y); }
  void vertex(std::span<const double> z, std::int64_t y, std::span<double> u) const override { vertex_(z, y, u); }
  bool project(std::span<const double> a, std::int64_t y, std::span<double> alpha) const override {
    return project_ && (project_(a, y, alpha), true);
  }
  double reach_ = 1.0;
  const testing::KnownOracle hinge_{Loss{}};
  using Vertex = std::function<void(std::span<const double>, std::int64_t, std::span<double>)>;
  std::function<double(std::span<const double>, std::int64_t)> value_ = [this](auto z, auto y) {
    return hinge_.value(z, y);
  };
  Vertex vertex_ = [this](auto z, auto y, auto u) { hinge_.vertex(z, y, u); };
  Vertex project_;
};

std::string finding(const Made& oracle) {
  try {
    check_oracle(oracle, 5);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::option);
    return error.what();
  }
  return "nothing";
}

TEST(OracleCheck, WhatIsRightPasses) {
  EXPECT_EQ(finding(Made{}), "nothing");
  for (const std::int64_t m : {4, 5, 30}) {
    for (const Pair& pair : pairs(m, 0.0)) EXPECT_NO_THROW(check_oracle(*pair.asked.oracle, m));
  }
  const Loss top_k{Family::top_k, Vector(3, 1.0 / 3)};
  EXPECT_NO_THROW(check_oracle(testing::KnownOracle(top_k, &plain::project), 7));
}

TEST(OracleCheck, WhatIsWrongGetsASentence) {
  const auto with = [](const std::function<void(Made&)>& spoil) {
    Made oracle;
    spoil(oracle);
    return finding(oracle);
  };
  EXPECT_THAT(with([](Made& o) { o.reach_ = 0.0; }), HasSubstr("the reach of the loss made is 0"));
  EXPECT_THAT(with([](Made& o) { o.reach_ = 0.5; }), HasSubstr("further than its reach of 0.5"));
  EXPECT_THAT(with([](Made& o) { o.value_ = [](auto, auto) { return NAN; }; }), HasSubstr("its value is no number"));
  EXPECT_THAT(with([](Made& o) { o.value_ = [](auto, auto) { return -1.0; }; }),
              HasSubstr("0 must be among its directions"));
  EXPECT_THAT(with([](Made& o) { o.value_ = [&o](auto z, auto y) { return 0.9 * o.hinge_.value(z, y); }; }),
              HasSubstr("but its vertex there is worth"));
  // Off by more than a certificate counts for it, though by less than anybody would see.
  EXPECT_THAT(with([](Made& o) { o.value_ = [&o](auto z, auto y) { return (1 - 5e-10) * o.hinge_.value(z, y); }; }),
              HasSubstr("but its vertex there is worth"));
  EXPECT_THAT(with([](Made& o) { o.vertex_ = [](auto, auto y, auto u) { u[static_cast<std::size_t>(y)] = 1.0; }; }),
              HasSubstr("sums to 1, not to 0"));
  EXPECT_THAT(with([](Made& o) {
                o.vertex_ = [](auto, auto y, auto u) {
                  u[static_cast<std::size_t>(y)] = -0.5, u[y == 0 ? 1 : 0] = 0.5;
                };
              }),
              HasSubstr("above 0 for class"));
  EXPECT_THAT(with([](Made& o) { o.vertex_ = [](auto, auto, auto u) { u[0] = INFINITY; }; }), HasSubstr("has inf"));
  // The last class above 0 instead of the largest: each answer agrees with itself.
  EXPECT_THAT(with([](Made& o) {
                o.vertex_ = [](auto z, auto y, auto u) {
                  for (std::size_t j = z.size(); j-- > 0;) {
                    if (!(z[j] > 0.0)) continue;
                    u[j] -= 1.0, u[static_cast<std::size_t>(y)] += 1.0;
                    return;
                  }
                };
                o.value_ = [](auto z, auto) {
                  for (std::size_t j = z.size(); j-- > 0;) {
                    if (z[j] > 0.0) return z[j];
                  }
                  return 0.0;
                };
              }),
              HasSubstr("a vertex that it named elsewhere is worth"));
  EXPECT_THAT(with([](Made& o) { o.project_ = [](auto, auto, auto) {}; }), HasSubstr("is not the nearest point"));
  EXPECT_THAT(with([](Made& o) {
                o.project_ = [](auto a, auto, auto alpha) { std::copy(a.begin(), a.end(), alpha.begin()); };
              }),
              HasSubstr("is outside of its set"));
}

// Right for one example, and with the weight of the first one's class for all that are asked about at once.
class Mixed final : public LossOracle {
 public:
  std::string name() const override { return "mixed"; }
  double value(std::span<const double> z, std::int64_t y) const override { return weight(y) * hinge_.value(z, y); }
  void vertex(std::span<const double> z, std::int64_t y, std::span<double> u) const override {
    hinge_.vertex(z, y, u);
    for (double& x : u) x *= weight(y);
  }
  void values(std::span<const double> Z, std::span<const std::int64_t> y, std::span<double> out) const override {
    LossOracle::values(Z, y, out);
    for (std::size_t row = 0; row < y.size(); ++row) out[row] *= weight(y.front()) / weight(y[row]);
  }

 private:
  static double weight(std::int64_t y) { return y == 0 ? 0.2 : 1.0; }
  const testing::KnownOracle hinge_{Loss{}};
};

TEST(OracleCheck, ManyExamplesAtOnceAreAnsweredAsEachAlone) {
  try {
    check_oracle(Mixed(), 4);
    FAIL() << "passed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("examples at once it says"));
  }
}

TEST(OracleCheck, WhatGoesWrongLaterGetsASentenceToo) {
  Made oracle;
  Loss loss = testing::loss_of_oracle(std::shared_ptr<const LossOracle>(std::shared_ptr<void>(), &oracle), 3);
  oracle.vertex_ = [](auto, auto, auto u) { u[1] = NAN; };
  RowScratch scratch;
  SparseRow u;
  const double s[] = {1.0, 2.0, 3.0};
  EXPECT_THROW(vertex(loss, RowMargins(), s, 3, 0, u, scratch), Error);
  oracle.value_ = [](auto, auto) { return NAN; };
  EXPECT_THROW(loss_bound(loss, RowMargins(), s, 3, 0, u, scratch), Error);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
