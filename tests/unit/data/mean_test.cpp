// Rows less their mean against plain loops, dense and sparse.
#include "data/mean.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using Vector = std::vector<double>;

// Numbers far from 0, and zeros; dense and as CSR.
struct Rows {
  std::int64_t n = 40, d = 7;
  Vector x, omega;
  std::vector<std::int64_t> begin{0};
  std::vector<std::int32_t> column;
  Vector value;

  Rows() {
    Rng rng(4);
    for (std::int64_t i = 0; i < n; ++i) {
      omega.push_back(i % 5 == 0 ? 0.0 : 0.5 + rng.uniform());
      for (std::int64_t f = 0; f < d; ++f) {
        x.push_back(rng.uniform() < 0.4 ? 0.0 : 3.0 + rng.normal());
        if (x.back() == 0.0) continue;
        column.push_back(static_cast<std::int32_t>(f));
        value.push_back(x.back());
      }
      begin.push_back(static_cast<std::int64_t>(column.size()));
    }
  }
  FeatureView dense() const { return DenseView<double>{x.data(), n, d, d}; }
  FeatureView csr() const { return CsrView<double>{begin.data(), column.data(), value.data(), n, d}; }
  double N(bool weighted) const {
    double sum = 0.0;
    for (const double w : omega) sum += weighted ? w : 1.0;
    return sum;
  }
  double at(std::int64_t i, std::size_t f) const { return x[static_cast<std::size_t>(i * d) + f]; }
};

TEST(MeanOfRows, IsWeightedAndHasTheSameBitsDenseAndSparse) {
  const Rows rows;
  for (const bool weighted : {false, true}) {
    const auto omega = weighted ? std::span<const double>(rows.omega) : std::span<const double>();
    const Vector mean = mean_of(rows.dense(), omega, rows.N(weighted), 1);
    EXPECT_EQ(mean, mean_of(rows.csr(), omega, rows.N(weighted), 1));
    EXPECT_EQ(mean, mean_of(rows.dense(), omega, rows.N(weighted), 3));
    for (std::size_t f = 0; f < mean.size(); ++f) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < rows.n; ++i)
        sum += (weighted ? rows.omega[static_cast<std::size_t>(i)] : 1.0) * rows.at(i, f);
      EXPECT_NEAR(mean[f], sum / rows.N(weighted), 1e-14);
    }
  }
}

TEST(MeanOfRows, LengthsAndProductsAreThoseOfTheDifferences) {
  const Rows rows;
  const Vector mean = mean_of(rows.dense(), {}, rows.N(false), 1);
  for (const FeatureView& X : {rows.dense(), rows.csr()}) {
    const Vector lengths2 = squared_lengths(X, mean, 0.5, 2), with_mean = products_with(X, mean, 2);
    for (std::int64_t i = 0; i < rows.n; ++i) {
      double length2 = 0.25, product = 0.0;
      for (std::size_t f = 0; f < mean.size(); ++f) {
        length2 += (rows.at(i, f) - mean[f]) * (rows.at(i, f) - mean[f]);
        product += rows.at(i, f) * mean[f];
      }
      EXPECT_NEAR(lengths2[static_cast<std::size_t>(i)], length2, 1e-13 * length2);
      EXPECT_NEAR(with_mean[static_cast<std::size_t>(i)], product, 1e-13 * product);
    }
  }
}

// A bound on rounding is a multiple of the length of a row and that of the mean: what vanishes when it is squared must
// not make it 0, nor may a difference of nearly equal sums.
TEST(MeanOfRows, ALengthIsNotTooShort) {
  const double tiny = 1e-170;
  const std::vector<std::int64_t> begin{0, 1, 1};
  const std::vector<std::int32_t> column{0};
  const CsrView<double> X{begin.data(), column.data(), &tiny, 2, 1};
  const Vector mean{0.5 * tiny};
  EXPECT_GE(std::sqrt(squared_lengths(X, mean, 0.0, 1)[0]), 0.5 * tiny);
  const double far = 1e8;
  const CsrView<double> same{begin.data(), column.data(), &far, 2, 1};
  EXPECT_GE(squared_lengths(same, {far}, 0.0, 1)[0], 0.0);
}

TEST(MeanOfRows, FoldedWeightsHaveTheSameScoresAndSumsTheSameProducts) {
  const Rows rows;
  const double B = 2.0;
  const Vector mean = mean_of(rows.dense(), {}, rows.N(false), 1);
  Rng rng(9);
  Vector W, V;
  for (std::int64_t e = 0; e < 3 * (rows.d + 1); ++e) W.push_back(rng.normal()), V.push_back(rng.normal());
  Vector folded = W, less = V, back;
  fold(mean, B, folded);
  take_off(mean, B, less);
  for (std::int64_t i = 0; i < rows.n; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const std::size_t row = j * (mean.size() + 1);
      double centred = B * W[row + mean.size()], plain = B * folded[row + mean.size()];
      for (std::size_t f = 0; f < mean.size(); ++f) {
        centred += W[row + f] * (rows.at(i, f) - mean[f]);
        plain += folded[row + f] * rows.at(i, f);
      }
      EXPECT_NEAR(plain, centred, 1e-12);
    }
  }
  // <fold(W), V> = <W, take_off(V)>: sums over rows are as adjoint to scores as they were.
  double one = 0.0, other = 0.0;
  for (std::size_t e = 0; e < W.size(); ++e) one += folded[e] * V[e], other += W[e] * less[e];
  EXPECT_NEAR(one, other, 1e-12);
  back = less;
  put_back(mean, B, back);
  for (std::size_t e = 0; e < V.size(); ++e) EXPECT_NEAR(back[e], V[e], 1e-14);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
