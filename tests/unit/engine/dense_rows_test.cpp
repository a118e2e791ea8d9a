// Dense rows as products want them.

#include <gtest/gtest.h>

#include <vector>

#include "core/aligned.hpp"
#include "engine/cpu/dense_rows.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

// 3 x 16 floats are three cache lines.
AlignedVector<float> some_rows() {
  AlignedVector<float> x(3 * 16);
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = 100.0F + static_cast<float>(c) / 8.0F;
  return x;
}

TEST(DenseRows, AreUsedWhereTheyLieIfThatIsWhatIsMultiplied) {
  const auto x = some_rows();
  const std::vector<double> mean(16, 100.0);
  using View = DenseView<float>;
  const DenseRows plain(View{x.data(), 3, 16, 16}), aside(View{x.data() + 1, 2, 16, 16}),
      narrow(View{x.data(), 3, 15, 15}), less(View{x.data(), 3, 16, 16}, mean.data());
  EXPECT_TRUE(plain.in_place<float>());
  EXPECT_FALSE(aside.in_place<float>()) << "not at a cache line";
  EXPECT_TRUE(aside.as_stored<float>());
  EXPECT_FALSE(narrow.in_place<float>()) << "its second row is not";
  EXPECT_FALSE(plain.as_stored<double>());
  EXPECT_FALSE(less.as_stored<float>());
  EXPECT_EQ(plain.stored<float>() + plain.stride(), x.data() + 16);
}

TEST(DenseRows, AreCopiedLessTheirMean) {
  const auto x = some_rows();
  std::vector<double> mean(16);
  for (std::size_t c = 0; c < mean.size(); ++c) mean[c] = 99.0 + 0.1 * static_cast<double>(c);
  using View = DenseView<float>;
  const DenseRows rows(View{x.data(), 3, 16, 16}, mean.data()), plain(View{x.data(), 3, 16, 16});
  std::vector<float> single(3, -1.0F);
  rows.copy(1, 5, 7, single.data());
  EXPECT_EQ(single, (std::vector<float>{static_cast<float>(x[21] - mean[5]), static_cast<float>(x[22] - mean[6]), -1}));
  std::vector<double> two(2 * 20, -1.0), raw(16);
  rows.copy_rows(1, 3, 20, two.data());
  plain.copy(2, 0, 16, raw.data());
  for (std::size_t c = 0; c < 16; ++c) {
    EXPECT_EQ(two[c], x[16 + c] - mean[c]);
    EXPECT_EQ(two[20 + c], x[32 + c] - mean[c]);
    EXPECT_EQ(raw[c], x[32 + c]);
  }
  EXPECT_EQ(two[16], -1.0) << "between the rows";
}

TEST(DenseRows, InDoubleAreMadeFloatAfterTheMeanWasTakenOff) {
  const std::vector<double> x{1e9 + 0.25, 1e9 + 3}, mean{1e9, 1e9 + 1};
  std::vector<float> out(2);
  DenseRows(DenseView<double>{x.data(), 1, 2, 2}, mean.data()).copy(0, 0, 2, out.data());
  EXPECT_EQ(out, (std::vector<float>{0.25F, 2.0F}));
  EXPECT_FALSE(DenseRows(DenseView<double>{x.data(), 1, 2, 2})
                   .accumulate_stored(std::vector<std::int64_t>{0}, x.data(), 0, 2, out.data()));
}

// As the float32 numbers that they are, whatever is multiplied, with a mean and without.
TEST(DenseRows, OfHalvesAreCopiedWidened) {
  const auto check = []<class Half>(Half) {
    constexpr std::int64_t d = 600;  // more than a strip
    std::vector<Half> stored;
    std::vector<float> wide;
    std::vector<double> mean;
    for (std::int64_t c = 0; c < 2 * d; ++c) {
      stored.push_back(Half(c % 5 == 0 ? 1e-7 * static_cast<double>(c) : 3.0 + 0.01 * static_cast<double>(c)));
      wide.push_back(stored.back());
      mean.push_back(4.0 + 0.001 * static_cast<double>(c));
    }
    const DenseView<Half> halves{stored.data(), 2, d, d};
    const DenseView<float> floats{wide.data(), 2, d, d};
    for (const double* const less : {static_cast<const double*>(nullptr), static_cast<const double*>(mean.data())}) {
      const DenseRows rows(halves, less), expected(floats, less);
      EXPECT_FALSE(rows.as_stored<float>() || rows.as_stored<double>());
      std::vector<float> single(2 * d), single_expected(2 * d);
      rows.copy_rows(0, 2, d, single.data());
      expected.copy_rows(0, 2, d, single_expected.data());
      EXPECT_EQ(single, single_expected);
      std::vector<double> two(d, -1.0), two_expected(d, -1.0);
      rows.copy(1, 3, d - 2, two.data());
      expected.copy(1, 3, d - 2, two_expected.data());
      EXPECT_EQ(two, two_expected);
      const std::vector<std::int64_t> both{0, 1};
      const std::vector<double> coefficient{0.3, -1.7};
      std::vector<float> sum(100, 1.0F), sum_expected = sum;
      EXPECT_EQ(rows.accumulate_stored(both, coefficient.data(), 37, 137, sum.data()), less == nullptr);
      EXPECT_EQ(expected.accumulate_stored(both, coefficient.data(), 37, 137, sum_expected.data()), less == nullptr);
      EXPECT_EQ(sum, sum_expected);
      EXPECT_EQ(sum[0] == 1.0F, less != nullptr);
    }
  };
  check(Float16());
  check(BFloat16());
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
