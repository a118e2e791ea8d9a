// Rows on the columns that occur.
#include "data/columns.hpp"

#include <gtest/gtest.h>

#include "topwolf/dataset.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

constexpr std::int64_t wide = std::int64_t{1} << 30;

Features rows_of(std::vector<std::vector<std::int32_t>> columns, std::int64_t cols) {
  CsrStore<float> store{{0}, {}, {}, static_cast<std::int64_t>(columns.size()), cols};
  for (const auto& row : columns) {
    for (const std::int32_t c : row) {
      store.column.push_back(c);
      store.values.push_back(static_cast<float>(store.values.size() + 1));
    }
    store.row_begin.push_back(static_cast<std::int64_t>(store.column.size()));
  }
  return Features(FeatureStore(std::move(store)));
}

std::vector<std::int32_t> columns_in(const Features& X) {
  const auto& view = std::get<CsrView<float>>(X.view());
  return {view.column, view.column + view.row_begin[view.rows]};
}

TEST(Columns, that_occur_are_found_by_marks_and_by_sorting) {
  const std::vector<std::vector<std::int32_t>> rows{{5, 9}, {}, {0, 5, 11}};
  const std::vector<std::int32_t> expected{0, 5, 9, 11};
  EXPECT_EQ(occurring_columns(rows_of(rows, 12)), expected);    // fewer than 32 columns a value
  EXPECT_EQ(occurring_columns(rows_of(rows, wide)), expected);  // more
}

TEST(Columns, are_kept_where_few_of_many_occur) {
  const Features X = rows_of({{5, 9}, {wide - 1}}, wide);
  EXPECT_EQ(kept_columns(X, 2), (std::vector<std::int32_t>{5, 9, wide - 1}));
  EXPECT_TRUE(kept_columns(rows_of({{5, 9}}, 1000), 1000).empty());  // 8 MB are not worth it
  EXPECT_EQ(kept_columns(rows_of({{5, 9}}, 1000), 10000).size(), 2u);
  EXPECT_TRUE(kept_columns(rows_of({{0, 1}}, 4), 1 << 24).empty());  // half of them occur
  EXPECT_EQ(kept_columns(rows_of({{}, {}}, wide), 2), std::vector<std::int32_t>{0});
  EXPECT_TRUE(kept_columns(Features(FeatureStore(DenseStore<float>{{1, 0, 0}, 1, 3})), 1 << 30).empty());
}

TEST(Columns, are_numbered_anew_without_a_copy_of_the_values) {
  const Features X = rows_of({{5, 9}, {}, {wide - 1}}, wide);
  const Features narrow = on_columns(X, kept_columns(X, 2));
  EXPECT_EQ(narrow.cols(), 3);
  EXPECT_EQ(columns_in(narrow), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(std::get<CsrView<float>>(narrow.view()).value, std::get<CsrView<float>>(X.view()).value);
}

TEST(Columns, that_are_not_asked_for_are_left_out) {
  const Features narrow = on_columns(rows_of({{1, 5, 9}, {0}, {9, 11}}, 12), {5, 9});
  EXPECT_EQ(columns_in(narrow), (std::vector<std::int32_t>{0, 1, 1}));
  const auto& view = std::get<CsrView<float>>(narrow.view());
  EXPECT_EQ(std::vector<float>(view.value, view.value + 3), (std::vector<float>{2, 3, 5}));
  EXPECT_EQ(std::vector<std::int64_t>(view.row_begin, view.row_begin + 4), (std::vector<std::int64_t>{0, 2, 2, 3}));
  const Features dense(FeatureStore(DenseStore<double>{{1, 2, 3, 4, 5, 6}, 2, 3}));
  const Features picked = on_columns(dense, {0, 2});
  const auto& cells = std::get<DenseView<double>>(picked.view());
  EXPECT_EQ(std::vector<double>(cells.data, cells.data + 4), (std::vector<double>{1, 3, 4, 6}));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
