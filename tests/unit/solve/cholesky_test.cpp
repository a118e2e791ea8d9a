#include "solve/cholesky.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/rng.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using Vector = std::vector<double>;

// M M^T + I, of sizes on both sides of a block.
Vector positive_definite(std::int64_t size, std::uint64_t seed) {
  Rng rng(seed);
  Vector M(static_cast<std::size_t>(size * size)), H(M.size());
  for (double& value : M) value = rng.normal();
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      double sum = i == j ? 1.0 : 0.0;
      for (std::int64_t k = 0; k < size; ++k) {
        sum += M[static_cast<std::size_t>(i * size + k)] * M[static_cast<std::size_t>(j * size + k)];
      }
      H[static_cast<std::size_t>(i * size + j)] = sum;
    }
  }
  return H;
}

TEST(Cholesky, SolvesWhatItFactorised) {
  for (const std::int64_t size : {1, 2, 31, 32, 33, 64, 65, 150}) {
    const Vector H = positive_definite(size, 3);
    Rng rng(4);
    Vector x(static_cast<std::size_t>(size)), b(x.size(), 0.0);
    for (double& value : x) value = rng.normal();
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j < size; ++j) {
        b[static_cast<std::size_t>(i)] += H[static_cast<std::size_t>(i * size + j)] * x[static_cast<std::size_t>(j)];
      }
    }
    Vector L = H;
    for (std::int64_t i = 0; i < size; ++i) {  // what is above the diagonal is not looked at
      for (std::int64_t j = i + 1; j < size; ++j) L[static_cast<std::size_t>(i * size + j)] = NAN;
    }
    ASSERT_TRUE(factorise(L, size, 2)) << size;
    solve(L, b);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(b[i], x[i], 1e-9) << size;
  }
}

TEST(Cholesky, HasTheSameBitsOnAnyNumberOfThreads) {
  const std::int64_t size = 300;
  Vector one = positive_definite(size, 5), four = one;
  ASSERT_TRUE(factorise(one, size, 1));
  ASSERT_TRUE(factorise(four, size, 4));
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto at = static_cast<std::size_t>(i * size + j);
      ASSERT_EQ(one[at], four[at]);
    }
  }
}

TEST(Cholesky, RefusesWhatIsNotPositiveDefinite) {
  Vector indefinite{1.0, 2.0, 2.0, 1.0}, zero{0.0}, no_number = positive_definite(40, 6);
  no_number[39 * 40 + 3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(factorise(indefinite, 2, 1));
  EXPECT_FALSE(factorise(zero, 1, 1));
  EXPECT_FALSE(factorise(no_number, 40, 1));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
