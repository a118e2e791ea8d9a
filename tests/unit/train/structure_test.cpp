// Margins row by row, class features, taxonomies and any psi: certificates recomputed naively, and what must be the
// same as the plain problem is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/fail.hpp"
#include "support/plain_joint.hpp"
#include "topwolf/topwolf.hpp"
#include "topwolf/verify.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::PlainJoint;
using testing::Samples;
using testing::Storage;

constexpr SolverName all_solvers[] = {SolverName::block, SolverName::apg, SolverName::lsfw, SolverName::stdfw,
                                      SolverName::pg};
constexpr const char* all_losses[] = {"max-hinge", "top-k:3", "usunier:3", "weighted-top-k", "weighted-usunier"};

TrainOptions options_for(const char* loss, SolverName solver, double smoothing = 0.0) {
  TrainOptions options;
  options.loss = parse_loss(loss);
  options.loss.smoothing = smoothing;
  options.solver = solver;
  options.C = 0.3;
  options.keep_dual = true;
  const bool fast = solver == SolverName::block || solver == SolverName::apg;
  options.tolerance = fast ? 1e-7 : 1e-2;
  options.max_iterations = fast ? 100000 : 300;
  return options;
}

// What the result claims is what the definitions say, and it is as close as was asked for.
void expect_certified(const PlainJoint& plain, const Vector& w, const SparseRows& A, const Certificate& claim,
                      Status status, const TrainOptions& options) {
  const double primal = plain.primal(w), dual = plain.dual(A);
  EXPECT_NEAR(claim.primal, primal, 1e-10 * primal);
  EXPECT_LE(claim.dual, dual + 1e-12 * primal);
  EXPECT_LE(plain.infeasibility(A), 1e-12);
  EXPECT_GE(claim.dual, dual - 1e-9 * primal);
  if (options.solver != SolverName::block && options.solver != SolverName::apg) return;
  EXPECT_EQ(status, Status::converged);
  EXPECT_LE(primal - dual, *options.tolerance * primal * (1 + 1e-6) + 1e-12);
}

Samples samples_of(std::int64_t m, std::uint64_t seed) {
  Samples samples = testing::random_samples(40, 6, m, seed);
  Rng rng(seed + 100);
  for (std::int64_t i = 0; i < samples.n; ++i) samples.omega.push_back(i % 7 == 3 ? 0.0 : 0.5 + rng.uniform());
  return samples;
}

// ---- Margins

// Random costs, zero for the own class; most of them `other`.
Vector random_margins(const Samples& samples, double other, std::uint64_t seed) {
  Rng rng(seed);
  Vector delta;
  for (std::int64_t i = 0; i < samples.n; ++i) {
    for (std::int64_t j = 0; j < samples.m; ++j) {
      const double cost = rng.uniform() < 0.6 ? other : 2.0 * rng.uniform();
      delta.push_back(samples.y[static_cast<std::size_t>(i)] == j ? 0.0 : cost);
    }
  }
  return delta;
}

Margins sparse_margins(const Samples& samples, const Vector& delta, double other) {
  CsrStore<double> store{{0}, {}, {}, samples.n, samples.m};
  for (std::int64_t i = 0; i < samples.n; ++i) {
    for (std::int64_t j = 0; j < samples.m; ++j) {
      const double cost = delta[static_cast<std::size_t>(i * samples.m + j)];
      if (cost == other || samples.y[static_cast<std::size_t>(i)] == j) continue;
      store.column.push_back(static_cast<std::int32_t>(j));
      store.values.push_back(cost);
    }
    store.row_begin.push_back(static_cast<std::int64_t>(store.column.size()));
  }
  return {Features(FeatureStore(std::move(store))), other};
}

class MarginTest : public ::testing::TestWithParam<SolverName> {};

TEST_P(MarginTest, AreCertifiedForEveryLossDenseAndSparse) {
  const Samples samples = samples_of(6, 11);
  const double other = 0.75;
  const Vector delta = random_margins(samples, other, 5);
  for (const char* loss : all_losses) {
    for (const double smoothing : {0.0, 0.1}) {
      for (const bool sparse : {false, true}) {
        SCOPED_TRACE(::testing::Message() << loss << " " << smoothing << " " << sparse);
        Dataset data = testing::dataset_of(samples, Storage::dense64);
        data.margins = sparse ? sparse_margins(samples, delta, other)
                              : Margins{testing::features_of(delta, samples.n, false), 1.0};
        const TrainOptions options = options_for(loss, GetParam(), smoothing);
        const TrainResult result = train(data, options);
        PlainJoint plain = testing::plain_class_features(samples, testing::identity(samples.m));
        plain.delta = delta;
        plain.loss = result.loss;
        plain.lambda = result.lambda;
        expect_certified(plain, result.model.W, result.dual, result.certificate, result.status, options);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, MarginTest, ::testing::ValuesIn(all_solvers),
                         [](const auto& solver) { return std::string(to_string(solver.param)); });

TEST(Margins, OfACostMatrixGiveTheSameBitsAsTheMatrix) {
  const Samples samples = samples_of(5, 3);
  Dataset data = testing::dataset_of(samples, Storage::dense32);
  TrainOptions options = options_for("usunier:2", SolverName::block);
  Rng rng(9);
  for (std::int64_t e = 0; e < 25; ++e) options.loss.cost_matrix.push_back(e % 6 == 0 ? 0.0 : rng.uniform() * 3.0);
  const TrainResult with_matrix = train(data, options);
  Vector delta;
  for (const std::int32_t y : samples.y) {
    const auto row = options.loss.cost_matrix.begin() + y * 5;
    delta.insert(delta.end(), row, row + 5);
  }
  options.loss.cost_matrix.clear();
  data.margins.values = testing::features_of(delta, samples.n, false);
  const TrainResult with_margins = train(data, options);
  EXPECT_EQ(with_matrix.model.W, with_margins.model.W);
  EXPECT_EQ(with_matrix.certificate.primal, with_margins.certificate.primal);
}

TEST(Margins, OfOneAreThePlainProblemToTheLastBit) {
  const Samples samples = samples_of(5, 3);
  Dataset data = testing::dataset_of(samples, Storage::dense32);
  TrainOptions options = options_for("weighted-usunier", SolverName::block);
  const TrainResult plain = train(data, options);
  Vector ones;
  for (std::int64_t i = 0; i < samples.n; ++i) {
    const Vector unit = plain::unit_margins(5, static_cast<std::size_t>(samples.y[static_cast<std::size_t>(i)]));
    ones.insert(ones.end(), unit.begin(), unit.end());
  }
  data.margins = {testing::features_of(ones, samples.n, false), 7.0};
  EXPECT_EQ(train(data, options).model.W, plain.model.W);
  data.margins = sparse_margins(samples, ones, 1.0);  // nothing is stored
  EXPECT_EQ(train(data, options).model.W, plain.model.W);
  data.margins = {};
  options.loss.cost_matrix.assign(25, 1.0);
  for (std::size_t j = 0; j < 5; ++j) options.loss.cost_matrix[6 * j] = 0.0;
  EXPECT_EQ(train(data, options).model.W, plain.model.W);
}

// A default that no class uses must not cost digits.
TEST(Margins, AreExactWhateverTheDefault) {
  const Samples samples = samples_of(5, 3);
  Dataset data = testing::dataset_of(samples, Storage::dense64);
  const Vector delta = random_margins(samples, 0.75, 5);
  data.margins = {testing::features_of(delta, samples.n, false), 1.0};
  const TrainOptions options = options_for("usunier:3", SolverName::block);
  const TrainResult dense = train(data, options);
  data.margins = sparse_margins(samples, delta, 1e17);
  const TrainResult sparse = train(data, options);
  EXPECT_EQ(sparse.model.W, dense.model.W);
  EXPECT_EQ(sparse.certificate.primal, dense.certificate.primal);
}

TEST(Margins, ReachTheGoldenOptimaWithCosts) {
  const Vector cost = testing::golden_costs();
  const auto& problem = testing::golden().at("problem");
  int checked = 0;
  for (const auto& entry : testing::golden().at("optimum")) {
    if (!entry.at("cost_sensitive").get<bool>()) continue;
    const Samples samples = testing::golden_samples(entry.at("weighted").get<bool>());
    Vector delta;
    for (const std::int32_t y : samples.y) {
      delta.insert(delta.end(), cost.begin() + y * samples.m, cost.begin() + (y + 1) * samples.m);
    }
    Dataset data = testing::dataset_of(samples, Storage::dense64);
    data.margins = sparse_margins(samples, delta, 1.0);
    TrainOptions options;
    options.loss = testing::spec_of(entry, problem);
    options.lambda = entry.at("lam").get<double>();
    options.absolute_gap = 1e-8;
    EXPECT_NEAR(train(data, options).certificate.primal, entry.at("objective").get<double>(), 1e-8) << entry.dump();
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

std::string sentence_of(const Dataset& data, const TrainOptions& options = {}) {
  try {
    train(data, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Margins, ThatAreNoneAreRefusedWithTheirPlace) {
  const Samples samples = testing::random_samples(6, 3, 3, 1);
  Dataset data = testing::dataset_of(samples, Storage::dense64);
  const Vector good = random_margins(samples, 1.0, 2);
  const auto with = [&](std::int64_t i, std::int64_t j, double value) {
    Vector bad = good;
    bad[static_cast<std::size_t>(i * 3 + j)] = value;
    data.margins = {testing::features_of(bad, 6, false), 1.0};
    return sentence_of(data);
  };
  const std::int64_t other = (samples.y[4] + 1) % 3;
  EXPECT_THAT(with(4, other, -0.5), ::testing::HasSubstr("row 5, column " + std::to_string(other + 1) + " is -0.5"));
  EXPECT_THAT(with(4, other, NAN), ::testing::HasSubstr("finite"));
  EXPECT_THAT(with(4, samples.y[4], 0.25), ::testing::HasSubstr("its own class must be 0, but row 5"));
  data.margins = {testing::features_of(Vector(15, 0.0), 5, false), 1.0};
  EXPECT_THAT(sentence_of(data), ::testing::HasSubstr("5 rows and 3 columns, but 6 rows with 3 classes"));
  data.margins = {testing::features_of(good, 6, false), 1.0};
  TrainOptions options;
  options.loss.cost_matrix = {0, 1, 1, 1, 0, 1, 1, 1, 0};
  EXPECT_THAT(sentence_of(data, options), ::testing::HasSubstr("give one of them"));
  data.margins = {sparse_margins(samples, good, 1.0).values, -1.0};
  EXPECT_THAT(sentence_of(data), ::testing::HasSubstr("not stored is -1"));
}

// ---- Class features

struct ClassCase {
  SolverName solver;
  ScoresName scores;
};

class ClassFeatureTest : public ::testing::TestWithParam<ClassCase> {};

TEST_P(ClassFeatureTest, AreCertifiedForEveryLossAndStorage) {
  const Samples samples = samples_of(6, 21);
  int turn = 0;
  for (const std::int64_t p : {3, 9}) {
    const Vector phi = testing::random_phi(samples.m, p, 7);
    for (const char* loss : all_losses) {
      const Storage storage = testing::all_storages[turn % 4];
      const double smoothing = turn % 2 == 0 ? 0.0 : 0.1, bias = turn % 3 == 0 ? 0.5 : 0.0;
      SCOPED_TRACE(::testing::Message() << loss << " " << smoothing << " p " << p << " storage " << turn % 4);
      Dataset data = testing::dataset_of(samples, storage);
      data.class_features = testing::features_of(phi, samples.m, turn++ % 2 == 1);
      TrainOptions options = options_for(loss, GetParam().solver, smoothing);
      options.scores = GetParam().scores;
      options.bias = bias;
      if (storage == Storage::dense32 || storage == Storage::csr32)
        *options.tolerance = std::max(*options.tolerance, 1e-5);
      const TrainResult result = train(data, options);
      PlainJoint plain = testing::plain_class_features(samples, phi, bias);
      plain.loss = result.loss;
      plain.lambda = result.lambda;
      expect_certified(plain, result.model.V, result.dual, result.certificate, result.status, options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, ClassFeatureTest,
                         ::testing::Values(ClassCase{SolverName::block, ScoresName::weights},
                                           ClassCase{SolverName::block, ScoresName::gram},
                                           ClassCase{SolverName::apg, ScoresName::automatic},
                                           ClassCase{SolverName::lsfw, ScoresName::automatic},
                                           ClassCase{SolverName::stdfw, ScoresName::automatic},
                                           ClassCase{SolverName::pg, ScoresName::automatic}),
                         [](const auto& test) {
                           const bool block = test.param.solver == SolverName::block;
                           return std::string(to_string(test.param.solver)) +
                                  (block ? "_" + std::string(to_string(test.param.scores)) : "");
                         });

TEST(ClassFeatures, OfTheIdentityGiveTheBitsOfThePlainModel) {
  const Samples samples = samples_of(5, 4);
  for (const Storage storage : {Storage::dense32, Storage::csr64}) {
    for (const SolverName solver : all_solvers) {
      Dataset data = testing::dataset_of(samples, storage);
      const TrainOptions options = options_for("usunier:2", solver);
      const TrainResult plain = train(data, options);
      data.class_features = testing::features_of(testing::identity(5), 5, storage == Storage::csr64);
      const TrainResult mapped = train(data, options);
      EXPECT_EQ(mapped.model.W, plain.model.W);
      EXPECT_EQ(mapped.model.V, plain.model.W);
      EXPECT_EQ(mapped.certificate.dual, plain.certificate.dual);
    }
  }
}

// phi = 2 I is the plain problem with lambda / 4, and takes the general path.
TEST(ClassFeatures, OfAMultipleOfTheIdentityAreThePlainProblemAtAnotherLambda) {
  const Samples samples = samples_of(5, 4);
  Dataset data = testing::dataset_of(samples, Storage::dense64);
  TrainOptions options = options_for("weighted-top-k", SolverName::block);
  options.lambda = 0.4;
  Vector phi = testing::identity(5);
  for (double& value : phi) value *= 2.0;
  const TrainResult plain = [&] {
    TrainOptions quarter = options;
    quarter.lambda = 0.1;
    return train(data, quarter);
  }();
  data.class_features = testing::features_of(phi, 5, false);
  const TrainResult mapped = train(data, options);
  EXPECT_NEAR(mapped.certificate.primal, plain.certificate.primal, 1e-6);
}

TEST(ClassFeatures, AreKeptInTheModelForOtherClasses) {
  const Samples samples = samples_of(4, 8);
  Dataset data = testing::dataset_of(samples, Storage::dense32);
  const Vector phi = testing::random_phi(4, 3, 2);
  data.class_features = testing::features_of(phi, 4, true);
  const Model model = train(data, options_for("max-hinge", SolverName::block)).model;
  Vector other = testing::random_phi(2, 3, 5);
  const Classifier renamed =
      with_classes(model, {LabelType::text, {"new", "newer"}}, testing::features_of(other, 2, false));
  const std::vector<double> S = Predictor(renamed).scores(data.X);
  for (std::int64_t i = 0; i < samples.n; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      double expected = 0.0;
      for (std::int64_t c = 0; c < 3; ++c) {
        for (std::int64_t f = 0; f < samples.d; ++f) {
          expected += other[static_cast<std::size_t>(j * 3 + c)] *
                      model.V[static_cast<std::size_t>(c * samples.d + f)] *
                      samples.X[static_cast<std::size_t>(i * samples.d + f)];
        }
      }
      EXPECT_NEAR(S[static_cast<std::size_t>(i * 2 + j)], expected, 1e-10);
    }
  }
  EXPECT_THROW(with_classes(model, {LabelType::text, {"a"}}, testing::features_of(Vector(4, 1.0), 1, false)), Error);
  data.class_features = {};
  const Model plain = train(data).model;
  EXPECT_THROW(with_classes(plain, {LabelType::text, {"a", "b"}}, testing::features_of(other, 2, false)), Error);
}

TEST(ClassFeatures, PassVerificationAndAudit) {
  const Samples samples = samples_of(5, 8);
  Dataset data = testing::dataset_of(samples, Storage::dense64);
  data.class_features = testing::features_of(testing::random_phi(5, 7, 2), 5, true);
  data.margins = {testing::features_of(random_margins(samples, 1.0, 3), samples.n, false), 1.0};
  const TrainOptions options = options_for("usunier:3", SolverName::block, 0.05);
  const TrainResult result = train(data, options);
  Dataset bare = data;
  bare.class_features = {};  // the model has them
  const Verification found = verify(bare, result.model, result.dual);
  EXPECT_TRUE(found.holds) << found.finding;
  bare.margins = {};
  EXPECT_FALSE(verify(bare, result.model, result.dual).holds);
  const AuditResult audited = audit(data, result.model, audit_options(result.model));
  EXPECT_NEAR(audited.primal, result.certificate.primal, 1e-10);
  EXPECT_LE(audited.most_excess, 2e-4);
}

TEST(ClassFeatures, OfTheWrongShapeAreRefused) {
  Dataset data = testing::dataset_of(testing::random_samples(6, 3, 3, 1), Storage::dense64);
  data.class_features = testing::features_of(Vector(8, 1.0), 2, false);
  EXPECT_THAT(sentence_of(data), ::testing::HasSubstr("features of 2 classes, but 3 classes"));
  data.class_features = testing::features_of({1, 2, NAN}, 3, false);
  EXPECT_THAT(sentence_of(data), ::testing::HasSubstr("class 3 has a feature that is not finite"));
}

// ---- Any psi

PlainJoint random_joint(std::int64_t n, std::int64_t m, std::int64_t P, std::uint64_t seed) {
  Rng rng(seed);
  PlainJoint out{n, m, P, {}, {}, {}, {}, {}, 0.0};
  for (std::int64_t i = 0; i < n; ++i) {
    out.y.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(m))));
    out.omega.push_back(i % 5 == 2 ? 0.0 : 0.5 + rng.uniform());
    for (std::int64_t j = 0; j < m; ++j) {
      out.delta.push_back(j == out.y.back() ? 0.0 : 1.0);
      for (std::int64_t c = 0; c < P; ++c) {
        // One example whose psi is 0, and one whose classes all have the same.
        const double x = rng.uniform() < 0.5 || i == 0 ? 0.0 : rng.normal() + (j == out.y.back() && c == 0 ? 1.0 : 0.0);
        out.psi.push_back(i == 1 ? static_cast<double>(c) : x);
      }
    }
  }
  return out;
}

class JointTest : public ::testing::TestWithParam<SolverName> {};

TEST_P(JointTest, IsCertifiedForEveryLoss) {
  PlainJoint plain = random_joint(30, 5, 8, 3);
  const Samples shape{plain.n, plain.P, plain.m, {}, plain.y, {}};
  const Vector margins = random_margins(shape, 1.0, 4), unit = plain.delta;
  for (const char* loss : all_losses) {
    for (const double smoothing : {0.0, 0.1}) {
      SCOPED_TRACE(::testing::Message() << loss << " " << smoothing);
      const TrainOptions options = options_for(loss, GetParam(), smoothing);
      JointLabels labels{plain.y, plain.omega, {}};
      plain.delta = unit;
      if (smoothing > 0.0) {
        labels.margins = {testing::features_of(margins, plain.n, false), 1.0};
        plain.delta = margins;
      }
      const JointResult result = train_joint(plain, labels, options);
      plain.loss = result.loss;
      plain.lambda = result.lambda;
      expect_certified(plain, result.w, result.dual, result.certificate, result.status, options);
      // The same psi as numbers.
      const JointTensor tensor(testing::features_of(plain.psi, plain.n * plain.m, smoothing > 0.0), plain.m);
      const JointResult same = train_joint(tensor, labels, options);
      EXPECT_NEAR(same.certificate.primal, result.certificate.primal,
                  2.0 * *options.tolerance * result.certificate.primal);
      const std::vector<double> S = joint_scores(tensor, result.w);
      EXPECT_NEAR(S[7], plain.scores(result.w, 1)[2], 1e-12);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, JointTest, ::testing::ValuesIn(all_solvers),
                         [](const auto& solver) { return std::string(to_string(solver.param)); });

TEST(Joint, KroneckerIsThePlainProblem) {
  const Samples samples = samples_of(5, 6);
  const PlainJoint psi = testing::plain_class_features(samples, testing::identity(5));
  const Dataset data = testing::dataset_of(samples, Storage::dense64);
  for (const SolverName solver : all_solvers) {
    for (const char* loss : all_losses) {
      TrainOptions options = options_for(loss, solver);
      options.tolerance = 1e-30;  // so that both make as many iterations
      options.max_iterations = solver == SolverName::block ? 400 : 30;
      const TrainResult fast = train(data, options);
      const JointResult general = train_joint(psi, {samples.y, samples.omega, {}}, options);
      const double scale = fast.certificate.primal;
      // Batch methods make the same steps; block ascent only the same optimum, because its steps are not exact here.
      EXPECT_NEAR(general.certificate.primal, fast.certificate.primal, 1e-8 * scale) << loss;
      EXPECT_NEAR(general.certificate.dual, fast.certificate.dual, 1e-8 * scale) << loss;
    }
  }
}

// Never a step that is too long.
TEST(Joint, BlockAscentNeverLowersTheDual) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    PlainJoint plain = random_joint(40, 6, 5, seed);
    TrainOptions options = options_for(all_losses[seed - 1], SolverName::block, seed % 2 == 0 ? 0.2 : 0.0);
    options.C = 10.0;
    double before = 0.0;
    train_joint(plain, {plain.y, plain.omega, {}}, options, [&](const Progress& progress) {
      EXPECT_GE(progress.iterate_dual, before - 1e-12 * std::abs(before));
      before = progress.iterate_dual;
      return true;
    });
    EXPECT_GT(before, 0.0);
  }
}

TEST(ClassFeatures, BlockAscentNeverLowersTheDual) {
  const Samples samples = samples_of(6, 12);
  for (const ScoresName scores : {ScoresName::weights, ScoresName::gram}) {
    Dataset data = testing::dataset_of(samples, Storage::dense64);
    data.class_features = testing::features_of(testing::random_phi(6, 4, 3), 6, false);
    TrainOptions options = options_for("top-k:3", SolverName::block);
    options.scores = scores;
    options.C = 10.0;
    double before = 0.0;
    train(data, options, [&](const Progress& progress) {
      EXPECT_GE(progress.iterate_dual, before - 1e-12 * std::abs(before));
      before = progress.iterate_dual;
      return true;
    });
    EXPECT_GT(before, 0.0);
  }
}

TEST(Joint, StartsFromADual) {
  PlainJoint plain = random_joint(30, 5, 8, 3);
  TrainOptions options = options_for("usunier:3", SolverName::block);
  const JointLabels labels{plain.y, plain.omega, {}};
  const JointResult first = train_joint(plain, labels, options);
  options.start = first.dual;
  options.tolerance = 1e-6;
  EXPECT_LE(train_joint(plain, labels, options).iterations, 2);
}

// A number that is none, in a feature of the first class alone.
struct OneBadNumber {
  std::int64_t examples() const { return 3; }
  std::int64_t classes() const { return 3; }
  std::int64_t dimension() const { return 3; }
  double at(std::int64_t i, std::int64_t j) const { return i == 1 && j == 0 ? NAN : 1.0 + static_cast<double>(i); }
  void scores(std::int64_t i, std::span<const double> w, std::span<double> s) const {
    for (std::int64_t j = 0; j < 3; ++j) s[static_cast<std::size_t>(j)] = at(i, j) * w[static_cast<std::size_t>(j)];
  }
  void accumulate(std::int64_t i, std::span<const Entry> alpha, std::span<double> sum) const {
    for (const auto& [j, value] : alpha) sum[static_cast<std::size_t>(j)] += value * at(i, j);
  }
};

TEST(Joint, RefusesWhatItCannotDo) {
  PlainJoint plain = random_joint(10, 3, 4, 1);
  const auto sentence = [&](const JointLabels& labels, const TrainOptions& options) -> std::string {
    try {
      train_joint(plain, labels, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  TrainOptions options;
  options.bias = 1.0;
  EXPECT_THAT(sentence({plain.y, {}, {}}, options), ::testing::HasSubstr("constant features"));
  options = {};
  options.scores = ScoresName::gram;
  EXPECT_THAT(sentence({plain.y, {}, {}}, options), ::testing::HasSubstr("come from psi"));
  options = {};
  options.checkpoints.path = "somewhere";
  EXPECT_THAT(sentence({plain.y, {}, {}}, options), ::testing::HasSubstr("checkpoints"));
  EXPECT_THAT(sentence({{0, 1}, {}, {}}, {}), ::testing::HasSubstr("2 labels for 10 rows"));
  OneBadNumber bad;
  EXPECT_THROW(train_joint(bad, {{0, 1, 1}, {}, {}}), Error);
  EXPECT_THROW(JointTensor(testing::features_of(Vector(10, 1.0), 5, false), 3), Error);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
