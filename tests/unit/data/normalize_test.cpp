// Rows of length 1 and columns of magnitude 1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using Rows = std::vector<std::vector<double>>;

FeatureStore dense() {
  return DenseStore<double>{{3, -4, 0, 0, 0, 0, 0, 8, 0}, 3, 3};
}

FeatureStore sparse() {
  return CsrStore<double>{{0, 2, 2, 3}, {0, 1, 1}, {3, -4, 8}, 3, 3};
}

TEST(Normalize, unit_gives_every_row_but_zero_rows_the_length_one) {
  for (FeatureStore X : {dense(), sparse()}) {
    apply_normalization(fit_normalization(NormalizeKind::unit, X), X);
    const Rows rows = dense_rows(X);
    EXPECT_THAT(rows[0], ElementsAre(DoubleEq(0.6), DoubleEq(-0.8), 0));
    EXPECT_THAT(rows[1], ElementsAre(0, 0, 0));
    EXPECT_THAT(rows[2], ElementsAre(0, 1, 0));
  }
}

TEST(Normalize, unit_survives_values_whose_squares_do_not) {
  FeatureStore X = DenseStore<double>{{1e300, 1e300, 3e-300, 4e-300}, 2, 2};
  apply_normalization({NormalizeKind::unit, {}}, X);
  EXPECT_DOUBLE_EQ(dense_rows(X)[0][0], std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(dense_rows(X)[1][1], 0.8);
}

TEST(Normalize, maxabs_divides_columns_by_their_largest_magnitude) {
  for (FeatureStore X : {dense(), sparse()}) {
    const Normalization fitted = fit_normalization(NormalizeKind::maxabs, X);
    EXPECT_THAT(fitted.scale, ElementsAre(3, 8, 0));
    apply_normalization(fitted, X);
    EXPECT_EQ(dense_rows(X), (Rows{{1, -0.5, 0}, {0, 0, 0}, {0, 1, 0}}));
  }
}

TEST(Normalize, maxabs_leaves_columns_alone_that_it_has_not_seen) {
  FeatureStore X = DenseStore<float>{{4, 5, 6}, 1, 3};
  apply_normalization({NormalizeKind::maxabs, {2, 0}}, X);
  EXPECT_EQ(dense_rows(X), (Rows{{2, 5, 6}}));
  FeatureStore narrow = DenseStore<float>{{4}, 1, 1};
  apply_normalization({NormalizeKind::maxabs, {2, 3, 4}}, narrow);
  EXPECT_EQ(dense_rows(narrow), (Rows{{2}}));
}

TEST(Normalize, none_changes_nothing) {
  FeatureStore X = dense();
  apply_normalization(fit_normalization(NormalizeKind::none, X), X);
  EXPECT_EQ(dense_rows(X), dense_rows(dense()));
}

// A half holds no row of unit length: the copy that is asked for is in float32, as if the rows had come so.
TEST(Normalize, WidensHalves) {
  const std::vector<Float16> half{Float16(3.0), Float16(-4.0), Float16(0.1), Float16(7.0)};
  for (const auto kind : {NormalizeKind::unit, NormalizeKind::maxabs}) {
    FeatureStore X = DenseStore<Float16>{half, 2, 2}, wide = DenseStore<float>{{half.begin(), half.end()}, 2, 2};
    const Normalization normalization = fit_normalization(kind, X);
    EXPECT_EQ(normalization.scale, fit_normalization(kind, wide).scale);
    apply_normalization(normalization, X);
    apply_normalization(normalization, wide);
    EXPECT_EQ(std::get<DenseStore<float>>(X).values, std::get<DenseStore<float>>(wide).values);
  }
  FeatureStore X = DenseStore<Float16>{half, 2, 2};
  apply_normalization({}, X);
  EXPECT_EQ(stored_precision(X), Precision::float16) << "nothing was asked for";
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
