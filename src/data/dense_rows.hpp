// Rows of either format as dense rows, one at a time: what dense files are written from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "topwolf/matrix.hpp"

namespace topwolf {

// Calls visit(i, row) with a row of X.cols values.
template <class T, class Visit>
void for_dense_rows(const DenseStore<T>& X, const Visit& visit) {
  const auto cols = static_cast<std::size_t>(X.cols);
  for (std::int64_t i = 0; i < X.rows; ++i) visit(i, std::span<const T>(X.values.data() + i * X.cols, cols));
}

template <class T, class Visit>
void for_dense_rows(const CsrStore<T>& X, const Visit& visit) {
  std::vector<T> row(static_cast<std::size_t>(X.cols));
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const auto begin = static_cast<std::size_t>(X.row_begin[static_cast<std::size_t>(i)]);
    const auto end = static_cast<std::size_t>(X.row_begin[static_cast<std::size_t>(i) + 1]);
    for (std::size_t k = begin; k < end; ++k) row[static_cast<std::size_t>(X.column[k])] = X.values[k];
    visit(i, std::span<const T>(row));
    for (std::size_t k = begin; k < end; ++k) row[static_cast<std::size_t>(X.column[k])] = 0;
  }
}

}  // namespace topwolf
