// A file with hashed features may use one column in a thousand. W and the sums over rows are m x D, and would be mostly
// zeros that every pass goes over.
#include "data/columns.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "topwolf/dataset.hpp"

namespace topwolf {
namespace {

// Less than this is not worth a model that older versions cannot read.
constexpr double worth_saving = 64.0 * 1024 * 1024;  // bytes of one W in double

template <class T>
std::vector<std::int32_t> occurring(const DenseView<T>& X) {
  std::vector<std::int32_t> columns(static_cast<std::size_t>(X.cols));
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

// By sorting where a mark for every column would take more memory than the values do.
template <class T>
std::vector<std::int32_t> occurring(const CsrView<T>& X) {
  const std::int64_t stored = X.row_begin[X.rows];
  std::vector<std::int32_t> columns;
  if (stored < X.cols / 32) {
    columns.assign(X.column, X.column + stored);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    columns.shrink_to_fit();
    return columns;
  }
  std::vector<bool> occurs(static_cast<std::size_t>(X.cols), false);
  for (std::int64_t p = 0; p < stored; ++p) occurs[static_cast<std::size_t>(X.column[p])] = true;
  for (std::int64_t c = 0; c < X.cols; ++c) {
    if (occurs[static_cast<std::size_t>(c)]) columns.push_back(static_cast<std::int32_t>(c));
  }
  return columns;
}

template <class T>
Features narrowed(const DenseView<T>& X, const std::vector<std::int32_t>& columns, const Features&) {
  DenseStore<T> out;
  out.rows = X.rows;
  out.cols = static_cast<std::int64_t>(columns.size());
  out.values.reserve(static_cast<std::size_t>(out.rows * out.cols));
  for (std::int64_t i = 0; i < X.rows; ++i) {
    for (const std::int32_t c : columns) out.values.push_back(X.data[i * X.stride + c]);
  }
  return Features(FeatureStore(std::move(out)));
}

// Where X's values go on `columns`; -1: nowhere.
template <class T>
std::vector<std::int32_t> places_of(const CsrView<T>& X, const std::vector<std::int32_t>& columns) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(X.row_begin[X.rows]));
  for (std::int64_t i = 0; i < X.rows; ++i) {
    auto from = columns.begin();  // a row's columns ascend
    for (std::int64_t p = X.row_begin[i]; p < X.row_begin[i + 1]; ++p) {
      from = std::lower_bound(from, columns.end(), X.column[p]);
      const bool found = from != columns.end() && *from == X.column[p];
      places[static_cast<std::size_t>(p)] = found ? static_cast<std::int32_t>(from - columns.begin()) : -1;
    }
  }
  return places;
}

template <class T>
Features narrowed(const CsrView<T>& X, const std::vector<std::int32_t>& columns, const Features& whole) {
  std::vector<std::int32_t> places = places_of(X, columns);
  const auto width = static_cast<std::int64_t>(columns.size());
  if (std::find(places.begin(), places.end(), -1) == places.end()) {
    // Nothing is left out: values and row bounds are shared, and only the columns are new.
    const auto owner = std::make_shared<std::pair<Features, std::vector<std::int32_t>>>(whole, std::move(places));
    return Features(CsrView<T>{X.row_begin, owner->second.data(), X.value, X.rows, width}, owner);
  }
  CsrStore<T> out;
  out.rows = X.rows;
  out.cols = width;
  out.row_begin.push_back(0);
  for (std::int64_t i = 0; i < X.rows; ++i) {
    for (std::int64_t p = X.row_begin[i]; p < X.row_begin[i + 1]; ++p) {
      if (places[static_cast<std::size_t>(p)] < 0) continue;
      out.column.push_back(places[static_cast<std::size_t>(p)]);
      out.values.push_back(X.value[p]);
    }
    out.row_begin.push_back(static_cast<std::int64_t>(out.column.size()));
  }
  return Features(FeatureStore(std::move(out)));
}

}  // namespace

std::vector<std::int32_t> occurring_columns(const Features& X) {
  return std::visit([](const auto& view) { return occurring(view); }, X.view());
}

std::vector<std::int32_t> kept_columns(const Features& X, std::int64_t m) {
  const double width = static_cast<double>(X.cols()), number = static_cast<double>(sizeof(double));
  if (X.source()) return {};  // which occur shows only when all are read
  if (!X.sparse() || number * static_cast<double>(m) * width < worth_saving) return {};
  std::vector<std::int32_t> columns = occurring_columns(X);
  const double left_out = width - static_cast<double>(columns.size());
  if (left_out <= 0.5 * width || number * static_cast<double>(m) * left_out < worth_saving) return {};
  if (columns.empty()) columns.push_back(0);  // empty would say all
  return columns;
}

Features on_columns(const Features& X, const std::vector<std::int32_t>& columns) {
  if (columns.empty()) return X;
  return std::visit([&](const auto& view) { return narrowed(view, columns, X); }, X.view());
}

}  // namespace topwolf
