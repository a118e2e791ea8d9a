// Widening is exact: rows of 16 bits are the same job as the same values in float32, bit for bit, whatever is done with
// them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "core/rng.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

constexpr std::int64_t n = 150, m = 12;

// Of look-alikes, with zeros and subnormal numbers among them.
template <class Half>
std::vector<Half> random_rows(std::int64_t d) {
  Rng rng(static_cast<std::uint64_t>(d));
  std::vector<Half> X;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t f = 0; f < d; ++f) {
      const double x = 0.4 * rng.normal() + (f % m == i % m ? 0.7 : f % 4 == i % 4 ? 0.3 : 0.0);
      X.push_back(Half(rng.uniform() < 0.2 ? 0.0 : rng.uniform() < 0.05 ? 1e-6 * x : x));
    }
  }
  return X;
}

Dataset labelled(Features X) {
  Dataset data;
  data.X = std::move(X);
  for (std::int64_t i = 0; i < n; ++i) data.y.push_back(static_cast<std::int32_t>(i % m));
  for (std::int64_t j = 0; j < m; ++j) data.classes.names.push_back(std::to_string(j));
  return data;
}

struct Pair {
  Dataset half, single;
};

template <class Half>
Pair pair_of(std::int64_t d) {
  std::vector<Half> X = random_rows<Half>(d);
  std::vector<float> wide(X.begin(), X.end());
  return {labelled(Features(FeatureStore(DenseStore<Half>{std::move(X), n, d}))),
          labelled(Features(FeatureStore(DenseStore<float>{std::move(wide), n, d})))};
}

void expect_same(const TrainResult& a, const TrainResult& b) {
  EXPECT_EQ(a.model.W, b.model.W);
  EXPECT_EQ(a.model.V, b.model.V);
  EXPECT_EQ(a.certificate.primal, b.certificate.primal);
  EXPECT_EQ(a.certificate.dual, b.certificate.dual);
  EXPECT_EQ(a.dual.values, b.dual.values);
  EXPECT_EQ(a.dual.column, b.dual.column);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.model.provenance.iterations, b.model.provenance.iterations);
  EXPECT_EQ(a.model.provenance.data_hash, b.model.provenance.data_hash) << "the same numbers are the same data";
  EXPECT_EQ(a.model.precision, Precision::float32);
}

// Solver, scores, class features.
using Way = std::tuple<SolverName, ScoresName, bool>;

class HalfRows : public ::testing::TestWithParam<Way> {};

// One width whose rows begin at cache lines in both, and one where they do not; more rows than a panel of some kinds.
template <class Half>
void check_way(const Way& way) {
  const auto [solver, scores, mapped] = way;
  for (const std::int64_t d : {64, 77}) {
    Pair data = pair_of<Half>(d);
    if (mapped) {
      DenseStore<double> phi{{}, m, 5};
      for (std::int64_t j = 0; j < m; ++j) {
        for (std::int64_t c = 0; c < 5; ++c) phi.values.push_back(c == 0 ? 1.0 : (j + c) % 4 == 0 ? 0.5 : 0.0);
      }
      data.half.class_features = data.single.class_features = Features(FeatureStore(std::move(phi)));
    }
    TrainOptions options;
    options.loss = parse_loss("usunier:3");
    options.solver = solver;
    options.scores = scores;
    options.bias = 1.0;
    options.max_iterations = 40;
    options.keep_dual = true;
    options.threads = 1;
    const TrainResult expected = train(data.single, options);
    ASSERT_GT(expected.certificate.dual, 0.0);
    for (const int threads : {1, 3}) {
      options.threads = threads;
      expect_same(train(data.half, options), expected);
    }
    const Verification found = verify(data.half, expected.model, expected.dual);
    EXPECT_TRUE(found.holds) << found.finding;
    EXPECT_EQ(found.primal, verify(data.single, expected.model, expected.dual).primal);
  }
}

TEST_P(HalfRows, AreTheSameJobAsInFloat32) {
  check_way<Float16>(GetParam());
  check_way<BFloat16>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Ways, HalfRows,
                         ::testing::Values(Way{SolverName::block, ScoresName::weights, false},
                                           Way{SolverName::block, ScoresName::gram, false},
                                           Way{SolverName::block, ScoresName::weights, true},
                                           Way{SolverName::block, ScoresName::gram, true},
                                           Way{SolverName::apg, ScoresName::automatic, false},
                                           Way{SolverName::lsfw, ScoresName::automatic, false},
                                           Way{SolverName::stdfw, ScoresName::automatic, false},
                                           Way{SolverName::pg, ScoresName::automatic, false},
                                           Way{SolverName::lsfw, ScoresName::automatic, true}));

TEST(Half, RowsOfACallersMatrixAreReadWhereTheyLie) {
  constexpr std::int64_t d = 40, stride = 53;
  const std::vector<Float16> X = random_rows<Float16>(stride);
  std::vector<float> wide;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t f = 0; f < d; ++f) wide.push_back(X[static_cast<std::size_t>(i * stride + f + 3)]);
  }
  const Dataset half = labelled(Features::dense(X.data() + 3, n, d, stride)),
                single = labelled(Features::dense(wide.data(), n, d));
  EXPECT_EQ(half.X.precision(), Precision::float16);
  for (const ScoresName scores : {ScoresName::weights, ScoresName::gram}) {
    TrainOptions options;
    options.scores = scores;
    options.keep_dual = true;
    expect_same(train(half, options), train(single, options));
  }
}

TEST(Half, ScoresErrorsAndAuditsAreThoseOfFloat32) {
  const Pair data = pair_of<Float16>(77);
  TrainOptions options;
  options.bias = 1.0;
  Model model = train(data.single, options).model;
  for (const auto kind : {NormalizeKind::none, NormalizeKind::unit}) {
    model.normalization.kind = kind;  // the predictor's business: a panel at a time
    const Predictor predictor(model);
    for (const int threads : {1, 3}) {
      EXPECT_EQ(predictor.scores(data.half.X, threads), predictor.scores(data.single.X, threads));
    }
    const TopK half = predictor.top_k(data.half.X, 4), single = predictor.top_k(data.single.X, 4);
    EXPECT_EQ(half.classes, single.classes);
    EXPECT_EQ(half.scores, single.scores);
  }
  model.normalization.kind = NormalizeKind::none;
  options.solver = SolverName::lsfw;
  options.max_iterations = 10;
  const AuditResult half = audit(data.half, model, options), single = audit(data.single, model, options);
  EXPECT_EQ(half.primal, single.primal);
  EXPECT_EQ(half.optimum.dual, single.optimum.dual);
}

TEST(Half, FoldsAndPathsAreThoseOfFloat32) {
  const Pair data = pair_of<BFloat16>(40);
  CvOptions cv;
  cv.train.threads = 2;
  cv.losses = {parse_loss("usunier:2")};
  cv.C = {0.1, 10};
  cv.folds = stratified_folds(data.half.y, m, 3, 1);
  const CvResult half = cross_validate(data.half, cv), single = cross_validate(data.single, cv);
  ASSERT_EQ(half.points.size(), single.points.size());
  for (std::size_t p = 0; p < half.points.size(); ++p) EXPECT_EQ(half.points[p].mean, single.points[p].mean);
  const std::vector<std::int64_t> some{5, 0, 77};
  const Features few = rows_of(data.half.X, some);
  EXPECT_EQ(few.precision(), Precision::bfloat16);
  EXPECT_EQ(few.rows(), 3);
}

TEST(Half, IsRefusedWhereANumberIsNotFinite) {
  Pair data = pair_of<Float16>(40);
  std::vector<Float16> X = random_rows<Float16>(40);
  X[123] = Float16(INFINITY);
  EXPECT_THAT([&] { train(labelled(Features::dense(X.data(), n, 40)), TrainOptions()); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("row 4 holds a number that is not finite")));
}

TEST(Half, WeightsAreNeverStoredSo) {
  Pair data = pair_of<Float16>(40);
  Model model = train(data.half, TrainOptions()).model;
  EXPECT_EQ(model.precision, Precision::float32);
  model.precision = Precision::float16;
  EXPECT_THAT([&] { Predictor{model}; },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("float32 and float64 are possible")));
}

// What is planned for is what float32 rows take, less the half of them.
TEST(Half, RowsTakeHalfOfTheMemory) {
  const Pair data = pair_of<Float16>(64);
  const Plan half = plan(data.half, TrainOptions()), single = plan(data.single, TrainOptions());
  EXPECT_EQ(half.data_bytes, static_cast<double>(2 * n * 64));
  EXPECT_EQ(single.data_bytes, static_cast<double>(4 * n * 64));
  EXPECT_EQ(half.choice, single.choice);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
