// Training with the mean taken off the rows (ledger, C1) against training on rows from which somebody took it off, and
// what has to hold of such a model wherever it goes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/mean.hpp"
#include "support/plain_joint.hpp"
#include "support/plain_problem.hpp"
#include "topwolf/audit.hpp"
#include "topwolf/dual.hpp"
#include "topwolf/topwolf.hpp"
#include "topwolf/verify.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;
using testing::Samples;
using testing::Storage;
using testing::Vector;

// Rows some way from 0; all values are float32 numbers.
Samples samples_at(double offset, std::int64_t n = 70, bool weighted = true) {
  Samples samples = testing::random_samples(n, 6, 5, 31);
  for (std::size_t at = 0; at < samples.X.size(); ++at) {
    if (samples.X[at] != 0.0 && at % 6 < 4) samples.X[at] = static_cast<float>(samples.X[at] + offset);
  }
  for (std::int64_t i = 0; weighted && i < n; ++i) samples.omega.push_back(i % 4 == 0 ? 2.0 : i % 9 == 0 ? 0.0 : 0.75);
  return samples;
}

Vector mean_of(const Samples& samples) {
  return topwolf::mean_of(DenseView<double>{samples.X.data(), samples.n, samples.d, samples.d}, samples.omega,
                          samples.N(), 1);
}

Samples less(Samples samples, const Vector& mean) {
  for (std::size_t at = 0; at < samples.X.size(); ++at) samples.X[at] -= mean[at % mean.size()];
  return samples;
}

TrainOptions centred(double tolerance = 1e-9) {
  TrainOptions options;
  options.center = true;
  options.bias = 1.5;
  options.tolerance = tolerance;
  options.keep_dual = true;
  options.threads = 2;
  return options;
}

TrainOptions plain(TrainOptions options) {
  options.center = false;
  return options;
}

// The optimum that one found is the one that the other found, as far as both prove.
void expect_same_optimum(const Certificate& a, const Certificate& b, double close) {
  EXPECT_LE(a.dual, b.primal * (1.0 + 1e-12));
  EXPECT_LE(b.dual, a.primal * (1.0 + 1e-12));
  EXPECT_NEAR(a.primal, b.primal, close * b.primal);
}

using Way = std::tuple<SolverName, ScoresName, Storage>;
class Centring : public ::testing::TestWithParam<Way> {};

TEST_P(Centring, IsTrainingOnRowsFromWhichTheMeanWasTaken) {
  const auto [solver, scores, storage] = GetParam();
  const Samples samples = samples_at(2.0);
  const bool exact = storage == Storage::dense64 || storage == Storage::csr64;
  const bool slow = solver == SolverName::stdfw || solver == SolverName::pg || solver == SolverName::lsfw;
  for (const char* const name : {"max-hinge", "top-k:3", "weighted-usunier"}) {
    for (const double smoothing : {0.0, 0.2}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(smoothing));
      const double reached = solver == SolverName::apg ? 3e-8 : 1e-9;  // solvers.md
      TrainOptions options = centred(slow ? 0.05 : exact ? reached : 1e-4);
      options.solver = solver;
      options.scores = scores;
      options.loss = parse_loss(name);
      options.loss.smoothing = smoothing;
      options.C = 0.3;
      options.max_iterations = 3000;
      const TrainResult found = train(testing::dataset_of(samples, storage), options);
      TrainOptions by_hand = plain(options);
      by_hand.solver = SolverName::block;
      by_hand.scores = ScoresName::automatic;
      by_hand.tolerance = 1e-10;
      const TrainResult expected =
          train(testing::dataset_of(less(samples, mean_of(samples)), Storage::dense64), by_hand);
      EXPECT_EQ(found.status, Status::converged);
      expect_same_optimum(found.certificate, expected.certificate, slow ? 0.06 : exact ? 4e-8 : 1e-4);
      if (slow || !exact) continue;
      // W is unique, and so are the scores, on rows as they are.
      Vector W = expected.model.W;
      fold(found.model.provenance.mean, options.bias, W);
      for (std::size_t e = 0; e < W.size(); ++e) EXPECT_NEAR(found.model.W[e], W[e], 2e-4) << e;
    }
  }
}

std::vector<Way> ways() {
  std::vector<Way> out;
  for (const Storage storage : testing::all_storages) {
    for (const ScoresName scores : {ScoresName::weights, ScoresName::gram}) {
      out.emplace_back(SolverName::block, scores, storage);
    }
    for (const SolverName solver : {SolverName::apg, SolverName::lsfw, SolverName::stdfw, SolverName::pg}) {
      out.emplace_back(solver, ScoresName::automatic, storage);
    }
  }
  return out;
}

std::string name_of(const ::testing::TestParamInfo<Way>& at) {
  const std::string storages[] = {"Dense32", "Dense64", "Csr32", "Csr64"};
  const auto& [solver, scores, storage] = at.param;
  return std::string(to_string(solver)) + std::string(to_string(scores)) + storages[static_cast<int>(storage)];
}

INSTANTIATE_TEST_SUITE_P(All, Centring, ::testing::ValuesIn(ways()), name_of);

TEST(CentringOf, CostsMarginsAndClassFeaturesIsThatOfTheRows) {
  const Samples samples = samples_at(3.0);
  for (const Storage storage : {Storage::dense64, Storage::csr64}) {
    for (const ScoresName scores : {ScoresName::weights, ScoresName::gram}) {
      for (const int kind : {0, 1, 2}) {
        SCOPED_TRACE(kind);
        Dataset data = testing::dataset_of(samples, storage),
                by_hand = testing::dataset_of(less(samples, mean_of(samples)), Storage::dense64);
        TrainOptions options = centred(1e-8);
        options.scores = scores;
        options.loss = parse_loss("usunier:2");
        Rng rng(5);
        if (kind == 0) {
          for (std::int64_t e = 0; e < 25; ++e)
            options.loss.cost_matrix.push_back(e % 6 == 0 ? 0.0 : 0.2 + rng.uniform());
        }
        if (kind == 1) {
          Vector delta;
          for (std::int64_t e = 0; e < samples.n * 5; ++e)
            delta.push_back(e % 5 == samples.y[static_cast<std::size_t>(e / 5)] ? 0.0 : 0.2 + rng.uniform());
          data.margins = by_hand.margins = {testing::features_of(delta, samples.n, false)};
        }
        if (kind == 2) {
          data.class_features = by_hand.class_features = testing::features_of(testing::random_phi(5, 3, 2), 5, true);
        }
        const TrainResult found = train(data, options), expected = train(by_hand, plain(options));
        EXPECT_EQ(found.status, Status::converged);
        expect_same_optimum(found.certificate, expected.certificate, 2e-8);
        const Verification verified = verify(data, found.model, found.dual);
        EXPECT_TRUE(verified.holds) << verified.finding;
        const double again = objective(data, options, kind == 2 ? found.model.V : found.model.W);
        EXPECT_GE(again, found.certificate.primal);  // of weights that may be another program's: more may be rounded
        EXPECT_NEAR(again, found.certificate.primal, 1e-13 * again);
      }
    }
  }
}

// That is the point of it: with a bias that is regularised at the origin it does.
TEST(CentringOf, RowsDoesNotDependOnWhereTheOriginLies) {
  const TrainOptions options = centred();
  const TrainResult here = train(testing::dataset_of(samples_at(0.0), Storage::dense64), options);
  Samples moved = samples_at(0.0);
  for (std::size_t at = 0; at < moved.X.size(); ++at) moved.X[at] += 64.0 * static_cast<double>(1 + at % 6);
  const Dataset there = testing::dataset_of(moved, Storage::dense64);
  expect_same_optimum(train(there, options).certificate, here.certificate, 1e-8);
  const TrainResult otherwise = train(there, plain(options));
  EXPECT_GT(std::abs(otherwise.certificate.primal - here.certificate.primal), 1e-4 * here.certificate.primal);
}

// What rows have in common is thousands of times what tells them apart: it is taken off before anything is rounded.
// What the ascent in float32 finds is nearly the optimum; only the weights, which a model keeps in float32, are not.
TEST(CentringOf, RowsFarFromTheOriginKeepsThePrecisionOfTheirDifferences) {
  Samples far = samples_at(0.0);
  for (double& x : far.X) x = std::round(x * 256.0) / 256.0 + 8192.0;
  const double optimum = train(testing::dataset_of(far, Storage::dense64), centred(1e-8)).certificate.dual;
  for (const auto& [storage, scores] :
       {std::pair(Storage::dense32, ScoresName::weights), std::pair(Storage::dense32, ScoresName::gram),
        std::pair(Storage::csr32, ScoresName::gram)}) {
    TrainOptions options = centred(1e-6);
    options.scores = scores;
    options.max_iterations = 200;
    EXPECT_NEAR(train(testing::dataset_of(far, storage), options).certificate.dual, optimum, 1e-5 * optimum);
  }
}

TEST(CentringOf, WeightedRowsIsThatOfRepeatedRows) {
  Samples twice = samples_at(1.0, 40, false), weighted = twice;
  for (std::int64_t i = 0; i < 40; ++i) weighted.omega.push_back(i % 3 == 0 ? 2.0 : 1.0);
  for (std::int64_t i = 0; i < 40; i += 3) {
    twice.y.push_back(twice.y[static_cast<std::size_t>(i)]);
    for (std::int64_t f = 0; f < 6; ++f) twice.X.push_back(twice.X[static_cast<std::size_t>(i * 6 + f)]);
    ++twice.n;
  }
  const TrainResult a = train(testing::dataset_of(weighted, Storage::csr64), centred()),
                    b = train(testing::dataset_of(twice, Storage::csr64), centred());
  expect_same_optimum(a.certificate, b.certificate, 1e-8);
  for (std::size_t f = 0; f < 6; ++f) EXPECT_NEAR(a.model.provenance.mean[f], b.model.provenance.mean[f], 1e-13);
}

TEST(CentringOf, RowsHasTheSameBitsOnAnyNumberOfThreads) {
  for (const Storage storage : testing::all_storages) {
    TrainOptions options = centred(1e-5);
    options.threads = 1;
    const TrainResult one = train(testing::dataset_of(samples_at(1.0, 700), storage), options);
    options.threads = 3;
    const TrainResult three = train(testing::dataset_of(samples_at(1.0, 700), storage), options);
    EXPECT_EQ(one.model.W, three.model.W);
    EXPECT_EQ(one.certificate, three.certificate);
  }
}

// Between two passes, too.
TEST(CentringOf, RowsLeavesAModelOfRowsAsTheyAre) {
  const Samples samples = samples_at(2.0);
  for (const Storage storage : {Storage::dense64, Storage::csr64}) {
    const Dataset data = testing::dataset_of(samples, storage);
    Vector seen;
    const TrainResult found =
        train(data, centred(), [&](const Progress& progress) { return seen = progress.weights(), true; });
    ASSERT_EQ(seen.size(), found.model.W.size());
    for (std::size_t e = 0; e < seen.size(); ++e) EXPECT_NEAR(seen[e], found.model.W[e], 1e-2);
    const TrainResult by_hand =
        train(testing::dataset_of(less(samples, mean_of(samples)), Storage::dense64), plain(centred()));
    const Vector scores = Predictor(found.model).scores(data.X),
                 expected = Predictor(by_hand.model)
                                .scores(testing::dataset_of(less(samples, mean_of(samples)), Storage::dense64).X);
    for (std::size_t e = 0; e < scores.size(); ++e) EXPECT_NEAR(scores[e], expected[e], 1e-3);
  }
}

TEST(CentringOf, ASweepIsThatOfEveryPoint) {
  for (const Storage storage : {Storage::dense64, Storage::csr64}) {
    for (const ScoresName scores : {ScoresName::weights, ScoresName::gram}) {
      const Dataset data = testing::dataset_of(samples_at(2.0), storage);
      SweepOptions options;
      options.train = centred(1e-7);
      options.train.scores = scores;
      options.C = {0.05, 0.5, 5.0};
      for (const SweepPoint& point : sweep(data, options).points) {
        TrainOptions alone = options.train;
        alone.C = point.C;
        EXPECT_EQ(point.status, Status::converged);
        expect_same_optimum(point.certificate, train(data, alone).certificate, 3e-7);
      }
    }
  }
}

// A fold is less the mean of all rows, of which it needs no label.
TEST(CentringOf, FoldsIsThatOfAllRows) {
  const Samples samples = samples_at(2.0);
  const Vector mean = mean_of(samples);
  for (const Storage storage : {Storage::dense64, Storage::csr64}) {
    const Dataset data = testing::dataset_of(samples, storage);
    CvOptions options;
    options.train = centred(1e-8);
    options.losses = {parse_loss("max-hinge")};
    options.C = {0.2};
    options.folds = stratified_folds(samples.y, samples.m, 3, 5);
    std::vector<Vector> found(3);
    options.judge = [&](std::size_t fold, const LossSpec&, const Vector& W) { return found[fold] = W, 0.5; };
    const CvResult result = cross_validate(data, options);
    for (std::size_t fold = 0; fold < 3; ++fold) {
      Dataset by_hand = testing::dataset_of(less(samples, mean), Storage::dense64);
      by_hand.weights.assign(by_hand.y.size(), 0.0);
      for (const std::int64_t i : options.folds[fold].training) {
        by_hand.weights[static_cast<std::size_t>(i)] = samples.weight(i);
      }
      TrainOptions alone = plain(options.train);
      alone.C = 0.2;
      Vector W = train(by_hand, alone).model.W;
      topwolf::fold(mean, alone.bias, W);
      for (std::size_t e = 0; e < W.size(); ++e) EXPECT_NEAR(found[fold][e], W[e], 1e-3);
    }
    EXPECT_EQ(result.refitted->model.provenance.mean, mean);
  }
}

TEST(CentringOf, AJobThatIsResumedEndsWithTheSameBits) {
  for (const Storage storage : {Storage::dense32, Storage::csr32}) {
    for (const ScoresName scores : {ScoresName::weights, ScoresName::gram}) {
      const Dataset data = testing::dataset_of(samples_at(1.0), storage);
      const TempFolder folder;
      TrainOptions options = centred(1e-6);
      options.scores = scores;
      options.C = 20.0;
      options.max_iterations = 100;
      const TrainResult whole = train(data, options);
      ASSERT_GT(whole.iterations, 8);
      options.checkpoints.path = folder.file("c");
      std::int64_t left = 7;
      TrainResult result = train(data, options, [&](const Progress&) { return --left > 0; });
      EXPECT_EQ(result.status, Status::interrupted);
      options.checkpoints.resume = options.checkpoints.path;
      TrainOptions other = plain(options);
      EXPECT_THAT(error_of(ErrorKind::data, [&] { train(data, other); }), HasSubstr("the centring"));
      result = train(data, options);
      EXPECT_EQ(result.model.W, whole.model.W);
      EXPECT_EQ(result.certificate, whole.certificate);
    }
  }
}

TEST(CentringOf, AStartIsWorthWhatItIs) {
  const Dataset data = testing::dataset_of(samples_at(2.0), Storage::csr64);
  const TrainResult first = train(data, centred(1e-8));
  TrainOptions again = centred(1e-6);
  again.start = first.dual;
  again.C = 1.1;
  EXPECT_LE(train(data, again).iterations, first.iterations);
}

// Weights for the columns that occur alone: so is the mean, and verify finds its way.
TEST(CentringOf, FewColumnsOfManyIsThatOfTheseAlone) {
  const Dataset narrow = testing::dataset_of(samples_at(1.0), Storage::csr32);
  const auto& X = std::get<CsrView<float>>(narrow.X.view());
  const std::int64_t all = 10'000'000, stored = X.row_begin[X.rows];
  CsrStore<float> store{{X.row_begin, X.row_begin + X.rows + 1}, {}, {X.value, X.value + stored}, X.rows, all};
  for (std::int64_t p = 0; p < stored; ++p) store.column.push_back(static_cast<std::int32_t>(1000 * X.column[p] + 77));
  Dataset wide = narrow;
  wide.X = Features(FeatureStore(std::move(store)));
  TrainOptions options = centred(1e-5);
  const TrainResult a = train(narrow, options), b = train(wide, options);
  ASSERT_EQ(b.model.columns.size(), 6u);
  EXPECT_EQ(a.certificate, b.certificate);
  EXPECT_EQ(a.model.provenance.mean, b.model.provenance.mean);
  EXPECT_TRUE(verify(wide, b.model, b.dual).holds);
  const AuditResult judged = audit(wide, b.model, audit_options(b.model));
  EXPECT_LT(judged.most_excess, 2e-4);
  EXPECT_EQ(objective(wide, options, b.model.W), b.certificate.primal);
}

// The only row with a feature weighs so little beside the others that a double has nothing left of its share.
TEST(CentringOf, RowsIsVerifiedWhereAShareVanishes) {
  const std::vector<double> x{0.0, 1e100, 0.0};
  Dataset data;
  data.X = Features::dense(x.data(), 3, 1);
  data.y = {0, 1, 1};
  data.classes.names = {"a", "b"};
  data.weights = {1e77, 1e-308, 2e77};
  const TrainResult found = train(data, centred(1e-3));
  EXPECT_EQ(found.model.provenance.mean, std::vector<double>{0.0});
  const Verification verified = verify(data, found.model, found.dual);
  EXPECT_TRUE(verified.holds) << verified.finding;
}

// Far from 0 a mean that is off by little moves the objective by much.
TEST(CentringOf, RowsFarFromTheOriginTakesTheirOwnMeanAndNoOther) {
  Dataset data = testing::dataset_of(samples_at(1e5), Storage::dense64);
  TrainOptions options = centred(1e-3);
  const TrainResult honest = train(data, options);
  EXPECT_TRUE(verify(data, honest.model, honest.dual).holds);
  Model forged = honest.model;
  for (double& mean : forged.provenance.mean) mean *= 1.0 - 1e-12;
  EXPECT_THAT(verify(data, forged, honest.dual).finding, HasSubstr("the mean of these rows"));
}

// Another program's intercept is divided by B, and the mean is rounded: what they cancel to is not known to the last
// digit, and the bracket says so.
TEST(CentringOf, AnAuditedMatrixBracketsWhatRoundingHides) {
  Rng rng(5);
  for (int trial = 0; trial < 50; ++trial) {
    const std::int64_t n = 20;
    std::vector<double> x;
    for (std::int64_t i = 0; i < n; ++i) x.push_back(1e8 + rng.normal());
    Dataset data;
    data.X = Features::dense(x.data(), n, 1);
    for (std::int64_t i = 0; i < n; ++i) data.y.push_back(static_cast<std::int32_t>(i % 2));
    data.classes = {LabelType::text, {"a", "b"}};
    Model model;
    model.d = 1;
    model.bias = 1.0;
    model.precision = Precision::float64;
    model.classes = data.classes;
    const double w = rng.normal(), intercept = -w * 1e8 + rng.normal();
    model.W = {w, intercept, -w, -intercept};
    TrainOptions options;
    options.center = true;
    options.bias = 1e-6;
    const AuditResult found = audit(data, model, options);
    long double mean = 0.0L, losses = 0.0L;
    for (const long double value : x) mean += value / n;
    const long double constant = (intercept + w * mean) / static_cast<long double>(options.bias);
    for (std::int64_t i = 0; i < n; ++i) {
      const long double lead = 2.0L * (static_cast<long double>(w) * x[static_cast<std::size_t>(i)] + intercept);
      losses += std::max(0.0L, 1.0L + (i % 2 == 0 ? -lead : lead)) / n;
    }
    const long double lambda = 1.0L / n,
                      truth = lambda * (static_cast<long double>(w) * w + constant * constant) + losses;
    EXPECT_LE(found.least_primal, truth * (1.0L + 1e-15L)) << trial;
    EXPECT_GE(found.primal, truth * (1.0L - 1e-15L)) << trial;
  }
}

TEST(CentringOf, RowsIsVerifiedAndForgeriesAreNot) {
  const Dataset data = testing::dataset_of(samples_at(2.0), Storage::dense32);
  const TrainResult honest = train(data, centred(1e-4));
  const Verification found = verify(data, honest.model, honest.dual);
  EXPECT_TRUE(found.holds) << found.finding;
  EXPECT_THAT(found.finding, HasSubstr("regularised at the mean"));
  Model forged = honest.model;
  forged.provenance.mean[2] += 1e-3;
  EXPECT_THAT(verify(data, forged, honest.dual).finding, HasSubstr("the mean of these rows"));
  forged.provenance.mean[2] = std::nan("");
  EXPECT_FALSE(verify(data, forged, honest.dual).holds);
  forged.provenance.mean.clear();  // then it would be the plain problem's
  EXPECT_FALSE(verify(data, forged, honest.dual).holds);
  forged = honest.model;
  forged.provenance.mean.pop_back();
  EXPECT_THAT(error_of(ErrorKind::data, [&] { verify(data, forged, honest.dual); }), HasSubstr("a mean of 5 numbers"));
  forged = honest.model;
  forged.provenance.claim->certificate.primal *= 1.0 - 1e-6;
  EXPECT_FALSE(verify(data, forged, honest.dual).holds);
  forged = honest.model;
  forged.provenance.claim->certificate.dual *= 1.0 + 1e-6;
  EXPECT_FALSE(verify(data, forged, honest.dual).holds);
  TrainOptions uncentred = plain(centred(1e-4));
  forged = train(data, uncentred).model;  // a claim about the other objective
  forged.provenance.mean = honest.model.provenance.mean;
  EXPECT_FALSE(verify(data, forged, honest.dual).holds);
}

TEST(CentringOf, RowsIsAuditedAsWhatItWas) {
  const Dataset data = testing::dataset_of(samples_at(2.0), Storage::dense64);
  const TrainResult found = train(data, centred(1e-3));
  const TrainOptions own = audit_options(found.model);
  EXPECT_TRUE(own.center);
  EXPECT_LT(audit(data, found.model, own).most_excess, 1.1e-3);
  EXPECT_GT(audit(data, found.model, plain(own)).least_excess, 1e-3) << "regularised at the origin it is no optimum";
}

TEST(CentringOf, AnythingElseIsRefusedInOneSentence) {
  const Dataset data = testing::dataset_of(samples_at(1.0), Storage::dense32);
  TrainOptions options = centred();
  options.bias = 0.0;
  EXPECT_THAT(error_of(ErrorKind::option, [&] { train(data, options); }), HasSubstr("give it a value, such as 1"));
  Dataset long_rows;
  const Vector x{1.2e154, -1.2e154};
  long_rows.X = Features::dense(x.data(), 2, 1);
  long_rows.y = {0, 1};
  long_rows.classes.names = {"a", "b"};
  long_rows.weights = {1.0, 1e-6};
  EXPECT_THAT(error_of(ErrorKind::data, [&] { train(long_rows, centred()); }),
              HasSubstr("row 2 less the mean of the rows is too long"));
  const testing::PlainJoint psi = testing::plain_class_features(samples_at(1.0), testing::identity(5));
  EXPECT_THAT(error_of(ErrorKind::option,
                       [&] {
                         TrainOptions joint = centred();
                         joint.bias = 0.0;
                         train_joint(JointMapOf<testing::PlainJoint>(psi), {psi.y, {}, {}}, joint);
                       }),
              HasSubstr("no rows to take a mean of"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
