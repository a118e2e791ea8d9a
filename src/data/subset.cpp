// Some rows of a data set, copied.
#include "core/fail.hpp"
#include "topwolf/dataset.hpp"

#include <algorithm>

namespace topwolf {
namespace {

template <class T>
FeatureStore copy_rows(const DenseView<T>& X, std::span<const std::int64_t> rows) {
  DenseStore<T> out;
  out.rows = static_cast<std::int64_t>(rows.size());
  out.cols = X.cols;
  out.values.reserve(rows.size() * static_cast<std::size_t>(X.cols));
  for (const std::int64_t i : rows) {
    out.values.insert(out.values.end(), X.data + i * X.stride, X.data + i * X.stride + X.cols);
  }
  return out;
}

template <class T>
FeatureStore copy_rows(const CsrView<T>& X, std::span<const std::int64_t> rows) {
  CsrStore<T> out;
  out.rows = static_cast<std::int64_t>(rows.size());
  out.cols = X.cols;
  out.row_begin.push_back(0);
  for (const std::int64_t i : rows) {
    out.column.insert(out.column.end(), X.column + X.row_begin[i], X.column + X.row_begin[i + 1]);
    out.values.insert(out.values.end(), X.value + X.row_begin[i], X.value + X.row_begin[i + 1]);
    out.row_begin.push_back(static_cast<std::int64_t>(out.column.size()));
  }
  return out;
}

}  // namespace

Features rows_of(const Features& X, std::span<const std::int64_t> rows) {
  for (const std::int64_t i : rows) {
    if (i < 0 || i >= X.rows()) {
      fail(ErrorKind::data, "row {} (counted from 0) is asked for, but there are {} rows", i, X.rows());
    }
  }
  return Features(std::visit([&](const auto& view) { return copy_rows(view, rows); }, X.view()));
}

Dataset subset(const Dataset& data, std::span<const std::int64_t> rows) {
  Dataset out;
  out.X = rows_of(data.X, rows);
  for (const std::int64_t i : rows) {
    out.y.push_back(data.y[static_cast<std::size_t>(i)]);
    if (!data.weights.empty()) out.weights.push_back(data.weights[static_cast<std::size_t>(i)]);
  }
  // Classes without a row left stay classes: a fold is the same problem with fewer rows.
  out.classes = data.classes;
  out.index_base = data.index_base;
  out.normalization = data.normalization;
  if (data.margins.given()) out.margins = {rows_of(data.margins.values, rows), data.margins.other};
  out.class_features = data.class_features;
  return out;
}

}  // namespace topwolf
