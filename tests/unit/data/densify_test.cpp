#include "data/features.hpp"

#include <gtest/gtest.h>

namespace topwolf {
namespace TOPWOLF_FILE {

TEST(Densify, ManyNonZerosBecomeDenseRows) {
  const CsrStore<double> csr{{0, 2, 2, 3}, {0, 2, 1}, {1.5, -2.0, 4.0}, 3, 3};
  const Features X = dense_where_faster(Features(FeatureStore(csr)));
  ASSERT_FALSE(X.sparse());
  const auto& dense = std::get<DenseView<double>>(X.view());
  EXPECT_EQ(std::vector<double>(dense.data, dense.data + 9), (std::vector<double>{1.5, 0, -2, 0, 0, 0, 0, 4, 0}));
}

TEST(Densify, FewNonZerosAndDenseRowsStayAsTheyAre) {
  const CsrStore<float> csr{{0, 1, 2}, {3, 9}, {1.0f, 2.0f}, 2, 10};
  const Features sparse{FeatureStore(csr)};
  EXPECT_TRUE(dense_where_faster(sparse).sparse());
  const Features dense{FeatureStore(DenseStore<float>{{1.0f, 2.0f}, 1, 2})};
  EXPECT_EQ(std::get<DenseView<float>>(dense_where_faster(dense).view()).data,
            std::get<DenseView<float>>(dense.view()).data)
      << "no copy";
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
