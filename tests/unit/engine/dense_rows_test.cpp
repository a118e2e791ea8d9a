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
  const DenseRows<float> plain({x.data(), 3, 16, 16}), aside({x.data() + 1, 2, 16, 16}), narrow({x.data(), 3, 15, 15}),
      less({x.data(), 3, 16, 16}, mean.data());
  EXPECT_TRUE(plain.in_place<float>());
  EXPECT_FALSE(aside.in_place<float>()) << "not at a cache line";
  EXPECT_TRUE(aside.as_stored<float>());
  EXPECT_FALSE(narrow.in_place<float>()) << "its second row is not";
  EXPECT_FALSE(plain.as_stored<double>());
  EXPECT_FALSE(less.as_stored<float>());
  EXPECT_EQ(plain.stored() + plain.stride(), x.data() + 16);
}

TEST(DenseRows, AreCopiedLessTheirMean) {
  const auto x = some_rows();
  std::vector<double> mean(16);
  for (std::size_t c = 0; c < mean.size(); ++c) mean[c] = 99.0 + 0.1 * static_cast<double>(c);
  const DenseRows<float> rows({x.data(), 3, 16, 16}, mean.data()), plain({x.data(), 3, 16, 16});
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

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
