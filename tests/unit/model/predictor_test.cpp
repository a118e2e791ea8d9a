// The predictor against plain double loops, in every storage; and the bits that must not depend on how it is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/rng.hpp"
#include "topwolf/model.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace {

using testing::HasSubstr;
using Vector = std::vector<double>;

enum class Storage { dense32, dense64, csr32, csr64 };
constexpr Storage storages[] = {Storage::dense32, Storage::dense64, Storage::csr32, Storage::csr64};

struct Shape {
  std::int64_t n, d, m;
};

template <class T>
Features stored(const Vector& X, std::int64_t n, std::int64_t d, bool sparse) {
  if (!sparse) return Features(FeatureStore(DenseStore<T>{{X.begin(), X.end()}, n, d}));
  CsrStore<T> store{{0}, {}, {}, n, d};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t f = 0; f < d; ++f) {
      const double x = X[static_cast<std::size_t>(i * d + f)];
      if (x == 0.0) continue;
      store.column.push_back(static_cast<std::int32_t>(f));
      store.values.push_back(static_cast<T>(x));
    }
    store.row_begin.push_back(static_cast<std::int64_t>(store.values.size()));
  }
  return Features(FeatureStore(std::move(store)));
}

Features stored(const Vector& X, std::int64_t n, std::int64_t d, Storage storage) {
  const bool sparse = storage == Storage::csr32 || storage == Storage::csr64;
  return storage == Storage::dense32 || storage == Storage::csr32 ? stored<float>(X, n, d, sparse)
                                                                  : stored<double>(X, n, d, sparse);
}

// float32 values, two in three of them 0.
Vector random_rows(std::int64_t n, std::int64_t d, Rng& rng) {
  Vector X(static_cast<std::size_t>(n * d));
  for (double& x : X) x = rng.uniform() < 0.66 ? 0.0 : static_cast<float>(rng.normal());
  return X;
}

Classifier random_classifier(std::int64_t m, std::int64_t d, double bias, Precision precision, Rng& rng) {
  Classifier out;
  out.d = d;
  out.bias = bias;
  out.precision = precision;
  for (std::int64_t j = 0; j < m; ++j) out.classes.names.push_back(std::to_string(j));
  for (std::int64_t i = 0; i < m * out.D(); ++i) {
    out.W.push_back(precision == Precision::float32 ? static_cast<float>(rng.normal()) : rng.normal());
  }
  return out;
}

// The definition, for rows that are normalised already.
Vector plain_scores(const Classifier& classifier, const Vector& X) {
  const std::int64_t d = classifier.d, n = static_cast<std::int64_t>(X.size()) / std::max<std::int64_t>(d, 1);
  Vector S;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < classifier.m(); ++j) {
      const double* w = classifier.W.data() + j * classifier.D();
      double score = classifier.bias != 0.0 ? classifier.bias * w[classifier.width()] : 0.0;
      for (std::int64_t c = 0; c < classifier.width(); ++c) {
        const std::int64_t f = classifier.columns.empty() ? c : classifier.columns[static_cast<std::size_t>(c)];
        score += w[c] * X[static_cast<std::size_t>(i * d + f)];
      }
      S.push_back(score);
    }
  }
  return S;
}

void expect_near(const Vector& found, const Vector& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-11 * (1.0 + std::abs(expected[i])));
}

// Around the sizes where tiles of classes, blocks of features and panels of rows end.
TEST(Predictor, scores_as_the_definition_says_in_every_storage) {
  Rng rng(1);
  for (const Shape& shape : {Shape{1, 1, 2}, {1, 300, 40}, {7, 128, 32}, {9, 129, 33}, {60, 40, 8}, {250, 17, 70}}) {
    const Vector X = random_rows(shape.n, shape.d, rng);
    for (const double bias : {0.0, 0.5}) {
      for (const Precision precision : {Precision::float32, Precision::float64}) {
        const Classifier classifier = random_classifier(shape.m, shape.d, bias, precision, rng);
        const Vector expected = plain_scores(classifier, X);
        for (const Storage storage : storages) {
          expect_near(Predictor(classifier).scores(stored(X, shape.n, shape.d, storage)), expected);
        }
      }
    }
  }
}

TEST(Predictor, gives_a_row_the_same_bits_alone_and_among_others_on_any_number_of_threads) {
  Rng rng(2);
  constexpr std::int64_t n = 400, d = 300, m = 70;
  const Vector X = random_rows(n, d, rng);
  for (const Precision precision : {Precision::float32, Precision::float64}) {
    const Predictor predictor(random_classifier(m, d, 1.0, precision, rng));
    const Vector all = predictor.scores(stored(X, n, d, Storage::dense32), 1);
    for (const Storage storage : storages) {
      for (const int threads : {1, 2, 5}) EXPECT_EQ(predictor.scores(stored(X, n, d, storage), threads), all);
      for (const std::int64_t rows : {1, 2, 5, 6, 7, 49}) {
        const Vector first(X.begin(), X.begin() + rows * d);
        const Vector some = predictor.scores(stored(first, rows, d, storage), 3);
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << rows << " rows";
      }
    }
  }
}

TEST(Predictor, normalises_raw_rows_as_the_data_was) {
  Rng rng(3);
  constexpr std::int64_t n = 60, d = 20, m = 5;
  const Vector X = random_rows(n, d, rng);
  for (const NormalizeKind kind : {NormalizeKind::none, NormalizeKind::unit, NormalizeKind::maxabs}) {
    Classifier classifier = random_classifier(m, d, 1.0, Precision::float32, rng);
    FeatureStore store = DenseStore<double>{X, n, d};
    classifier.normalization = fit_normalization(kind, store);
    apply_normalization(classifier.normalization, store);
    const Vector prepared = std::get<DenseStore<double>>(store).values;
    const Vector expected = plain_scores(classifier, prepared);
    for (const Storage storage : {Storage::dense64, Storage::csr64}) {
      expect_near(Predictor(classifier).scores(stored(X, n, d, storage)), expected);
      expect_near(Predictor(classifier, Rows::normalized).scores(stored(prepared, n, d, storage)), expected);
    }
    const Vector wide = Predictor(classifier).scores(stored(X, n, d, Storage::csr32));
    for (std::size_t i = 0; i < wide.size(); ++i) EXPECT_NEAR(wide[i], expected[i], 1e-5);
  }
}

TEST(Predictor, leaves_out_columns_without_weights) {
  Rng rng(4);
  constexpr std::int64_t n = 100, d = 30;
  const Vector X = random_rows(n, d, rng);
  Classifier classifier = random_classifier(3, 4, 1.0, Precision::float32, rng);
  classifier.d = d;
  classifier.columns = {0, 7, 8, 29};
  for (const Storage storage : storages) {
    expect_near(Predictor(classifier).scores(stored(X, n, d, storage)), plain_scores(classifier, X));
  }
  classifier.normalization = {NormalizeKind::maxabs, Vector(d, 2.0)};
  Vector halves = X;
  for (double& x : halves) x /= 2.0;
  for (const Storage storage : storages) {
    expect_near(Predictor(classifier).scores(stored(X, n, d, storage)), plain_scores(classifier, halves));
  }
}

TEST(Predictor, of_class_features_scores_by_phi_times_V) {
  Rng rng(5);
  Classifier classifier = random_classifier(3, 4, 0.0, Precision::float32, rng);
  classifier.class_features = Features(FeatureStore(DenseStore<double>{{1.0, 0.0, 2.0, 0.1, 0.0, -1.0}, 3, 2}));
  classifier.V = {0.25, -1.0, 2.0, 4.0, 1.5, -3.0, 0.5, 1.0};
  classifier.W.clear();
  for (const auto& [a, b] : {std::pair{1.0, 0.0}, {2.0, 0.1}, {0.0, -1.0}}) {
    for (std::size_t f = 0; f < 4; ++f) classifier.W.push_back(a * classifier.V[f] + b * classifier.V[4 + f]);
  }
  const Vector X = random_rows(5, 4, rng);
  for (const Storage storage : storages) {
    expect_near(Predictor(classifier).scores(stored(X, 5, 4, storage)), plain_scores(classifier, X));
  }
}

// Scores that tie often, for a bias alone and whole numbers.
TEST(Predictor, names_the_k_best_first_and_of_equals_the_lower) {
  Rng rng(6);
  for (const std::int64_t m : {2, 5, 33, 64, 100}) {
    constexpr std::int64_t n = 40, d = 3;
    Classifier classifier = random_classifier(m, d, 1.0, Precision::float32, rng);
    for (double& w : classifier.W) w = std::round(w);
    Vector X = random_rows(n, d, rng);
    for (double& x : X) x = std::round(x);
    const Vector S = plain_scores(classifier, X);
    const Predictor predictor(classifier);
    const Features rows = stored(X, n, d, Storage::dense32);
    for (const std::int64_t k : {std::int64_t{1}, std::min<std::int64_t>(m, 3), std::min<std::int64_t>(m, 40), m}) {
      const TopK top = predictor.top_k(rows, k, 2);
      ASSERT_EQ(top.classes.size(), static_cast<std::size_t>(n * k));
      for (std::int64_t i = 0; i < n; ++i) {
        const double* s = S.data() + i * m;
        std::vector<std::int32_t> order(static_cast<std::size_t>(m));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [s](std::int32_t a, std::int32_t b) { return s[a] > s[b]; });
        for (std::int64_t r = 0; r < k; ++r) {
          EXPECT_EQ(top.classes[static_cast<std::size_t>(i * k + r)], order[static_cast<std::size_t>(r)]);
          EXPECT_EQ(top.scores[static_cast<std::size_t>(i * k + r)], s[order[static_cast<std::size_t>(r)]]);
        }
      }
    }
    EXPECT_EQ(predictor.predict(rows), predictor.top_k(rows, 1).classes);
  }
}

TEST(Predictor, ranks_every_class_once_where_scores_are_no_numbers) {
  Classifier classifier;
  classifier.d = 2;
  classifier.precision = Precision::float64;
  classifier.classes.names = {"a", "b", "c", "d"};
  constexpr double huge = std::numeric_limits<double>::max();
  classifier.bias = 2.0;
  classifier.W = {huge, huge, -huge, 1.0, 0.0, 0.0, huge, huge, 0.0, -huge, -huge, 0.0};
  const TopK top = Predictor(classifier).top_k(stored({2.0, 2.0}, 1, 2, Storage::dense64), 4);
  EXPECT_EQ(top.classes, (std::vector<std::int32_t>{2, 1, 3, 0}));
  EXPECT_TRUE(std::isnan(top.scores[3]));
}

TEST(Predictor, has_nothing_to_say_about_no_rows) {
  Rng rng(7);
  const Predictor predictor(random_classifier(4, 3, 1.0, Precision::float32, rng));
  for (const Storage storage : storages) {
    EXPECT_TRUE(predictor.scores(stored({}, 0, 3, storage)).empty());
    EXPECT_TRUE(predictor.top_k(stored({}, 0, 3, storage), 4).classes.empty());
  }
}

TEST(Predictor, of_no_features_knows_the_intercepts) {
  Rng rng(8);
  const Classifier classifier = random_classifier(4, 0, 2.0, Precision::float64, rng);
  Vector expected;
  for (const double w : classifier.W) expected.push_back(2.0 * w);
  EXPECT_EQ(Predictor(classifier).scores(stored({}, 1, 0, Storage::csr64)), expected);
}

TEST(Predictor, refuses_what_does_not_fit) {
  Rng rng(9);
  const Classifier sound = random_classifier(4, 3, 1.0, Precision::float32, rng);
  const Predictor predictor(sound);
  const auto refusal = [&](const auto& call) { return error_of(ErrorKind::data, call); };
  EXPECT_THAT(refusal([&] { predictor.scores(stored(Vector(4), 2, 2, Storage::dense32)); }),
              HasSubstr("the data has 2 features, but the model was trained on 3"));
  const Features row = stored(Vector(3), 1, 3, Storage::dense32);
  EXPECT_THAT(refusal([&] { predictor.top_k(row, 0); }), HasSubstr("k is 0, but with 4 classes"));
  EXPECT_THAT(refusal([&] { predictor.top_k(row, 5); }), HasSubstr("k is 5, but with 4 classes"));
  Classifier damaged = sound;
  damaged.W.pop_back();
  EXPECT_THAT(refusal([&] { Predictor{damaged}; }), HasSubstr("15 weights, where 16 are needed"));
  damaged = sound;
  damaged.W[3] = NAN;
  EXPECT_THAT(refusal([&] { Predictor{damaged}; }), HasSubstr("number 4 of the model's weights is nan"));
}

}  // namespace
}  // namespace topwolf
