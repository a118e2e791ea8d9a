// The rows of features in either format: the one place that says "for each stored value of row i", and the one place
// that computes with the bias. Refuses to know what the numbers are for.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "topwolf/matrix.hpp"

namespace topwolf {

// ---- One row: `count` values, the k-th of them in column(k), which ascends. Two types, so that a loop over a dense
// row has no index to read.

template <class T>
struct DenseRow {
  T* value;
  std::int64_t count;
  std::int64_t column(std::int64_t k) const { return k; }
};

template <class T>
struct CsrRow {
  T* value;
  std::int64_t count;
  const std::int32_t* columns;
  std::int64_t column(std::int64_t k) const { return columns[k]; }
};

template <class T>
DenseRow<const T> row_of(const DenseView<T>& X, std::int64_t i) {
  return {X.data + i * X.stride, X.cols};
}
template <class T>
CsrRow<const T> row_of(const CsrView<T>& X, std::int64_t i) {
  const std::int64_t begin = X.row_begin[i];
  return {X.value + begin, X.row_begin[i + 1] - begin, X.column + begin};
}
template <class T>
DenseRow<T> row_of(DenseStore<T>& X, std::int64_t i) {
  return {X.values.data() + i * X.cols, X.cols};
}
template <class T>
CsrRow<T> row_of(CsrStore<T>& X, std::int64_t i) {
  const std::int64_t begin = X.row_begin[static_cast<std::size_t>(i)];
  return {X.values.data() + begin, X.row_begin[static_cast<std::size_t>(i) + 1] - begin, X.column.data() + begin};
}

// Calls visit(column, value) for what row i stores; values of a store can be changed.
template <class Matrix, class Visit>
void for_row(Matrix&& X, std::int64_t i, const Visit& visit) {
  const auto row = row_of(X, i);
  for (std::int64_t k = 0; k < row.count; ++k) visit(row.column(k), row.value[k]);
}

// Calls visit(i, column, value) for what is stored, row by row.
template <class Matrix, class Visit>
void for_stored(Matrix&& X, const Visit& visit) {
  for (std::int64_t i = 0; i < X.rows; ++i) {
    for_row(X, i, [&](std::int64_t column, auto& value) { visit(i, column, value); });
  }
}

// How many values are stored, zeros among them included.
template <class T>
std::int64_t stored_values(const DenseView<T>& X) {
  return X.rows * X.cols;
}
template <class T>
std::int64_t stored_values(const CsrView<T>& X) {
  return X.row_begin[X.rows] - X.row_begin[0];
}

// Calls visit(i, row) with all X.cols values of a row: what dense files are written from.
template <class T, class Visit>
void for_dense_rows(const DenseView<T>& X, const Visit& visit) {
  for (std::int64_t i = 0; i < X.rows; ++i) visit(i, std::span(row_of(X, i).value, static_cast<std::size_t>(X.cols)));
}
template <class T, class Visit>
void for_dense_rows(const CsrView<T>& X, const Visit& visit) {
  std::vector<T> row(static_cast<std::size_t>(X.cols));
  for (std::int64_t i = 0; i < X.rows; ++i) {
    for_row(X, i, [&](std::int64_t column, T value) { row[static_cast<std::size_t>(column)] = value; });
    visit(i, std::span<const T>(row));
    for_row(X, i, [&](std::int64_t column, T) { row[static_cast<std::size_t>(column)] = T{0}; });
  }
}

// ---- The constant feature, column d of rows with d columns: stored nowhere and the same in every row. Without one,
// all that is said here is nothing.

class Bias {
 public:
  Bias(double value = 0.0) : value_(value) {}

  double value() const { return value_; }
  bool given() const { return value_ != 0.0; }
  std::int64_t columns() const { return given() ? 1 : 0; }

  // Its part of every inner product <x_i, x_k>, and of every squared length.
  double product() const { return value_ * value_; }

  // Its part of a score; w: its weight, which is not looked at where there is none.
  template <class T>
  double score(const T* w) const {
    return given() ? value_ * static_cast<double>(*w) : 0.0;
  }
  // The same for m classes whose weights of it lie `step` apart, added to s.
  template <class T, class S>
  void add_scores(const T* w, std::int64_t step, std::int64_t m, S* s) const {
    if (!given()) return;
    for (std::int64_t j = 0; j < m; ++j) s[j] += static_cast<S>(score(w + j * step));
  }

  // Its part of a sum of rows, each times its coefficient, in their order; w: as above.
  template <class T>
  void accumulate(std::span<const double> coefficients, T* w) const {
    if (!given()) return;
    for (const double coefficient : coefficients) *w += static_cast<T>(value_ * coefficient);
  }

 private:
  double value_;
};

// The same as for_row, with the constant feature behind the others.
template <class View, class Visit>
void for_row(const View& X, const Bias& bias, std::int64_t i, const Visit& visit) {
  for_row(X, i, [&](std::int64_t column, auto value) { visit(column, static_cast<double>(value)); });
  if (bias.given()) visit(X.cols, bias.value());
}

// ||x_i||^2 of every row in double, with the constant feature.
std::vector<double> squared_lengths(const FeatureView& X, const Bias& bias, int threads);

}  // namespace topwolf
