// Features between a file and a data set.
#include "data/features.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/memory.hpp"
#include "data/rows.hpp"

namespace topwolf {

namespace {

template <class T>
void check_row_begin(const CsrStore<T>& X, const std::string& name) {
  const auto stored = static_cast<std::int64_t>(X.values.size());
  const bool fits = X.rows >= 0 && X.cols >= 0 && X.cols <= most_columns && X.column.size() == X.values.size() &&
                    X.row_begin.size() == static_cast<std::size_t>(X.rows) + 1 && X.row_begin.front() == 0 &&
                    X.row_begin.back() == stored && std::is_sorted(X.row_begin.begin(), X.row_begin.end());
  if (!fits) {
    fail(ErrorKind::data, "{}: the row bounds of the sparse array do not fit its shape ({}, {}) and its {} values",
         name, X.rows, X.cols, stored);
  }
}

template <class T>
void sort_row(CsrStore<T>& X, std::int64_t begin, std::int64_t end) {
  std::vector<std::pair<std::int32_t, T>> pairs;
  for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
    pairs.emplace_back(X.column[k], X.values[k]);
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    X.column[static_cast<std::size_t>(begin) + k] = pairs[k].first;
    X.values[static_cast<std::size_t>(begin) + k] = pairs[k].second;
  }
}

// In place: columns ascend, so that a row's are dropped from one point on.
template <class T>
std::int64_t drop_columns(CsrStore<T>& X, std::int64_t cols) {
  std::int64_t kept = 0;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(X.rows); ++i) {
    const std::int64_t end = X.row_begin[i + 1];
    for (; begin < end && X.column[static_cast<std::size_t>(begin)] < cols; ++begin, ++kept) {
      X.column[static_cast<std::size_t>(kept)] = X.column[static_cast<std::size_t>(begin)];
      X.values[static_cast<std::size_t>(kept)] = X.values[static_cast<std::size_t>(begin)];
    }
    begin = end;
    X.row_begin[i + 1] = kept;
  }
  const std::int64_t dropped = begin - kept;
  X.column.resize(static_cast<std::size_t>(kept));
  X.values.resize(static_cast<std::size_t>(kept));
  return dropped;
}

template <class T>
DenseStore<T> to_dense(const CsrView<T>& X) {
  DenseStore<T> dense{std::vector<T>(static_cast<std::size_t>(X.rows * X.cols)), X.rows, X.cols};
  for_stored(X, [&](std::int64_t i, std::int64_t column, T value) { row_of(dense, i).value[column] = value; });
  return dense;
}

// What share of all cells is stored.
template <class T>
double fill_of(const CsrView<T>& X) {
  const double cells = static_cast<double>(X.rows) * static_cast<double>(X.cols);
  return cells > 0.0 ? static_cast<double>(stored_values(X)) / cells : 0.0;
}

template <class To, class From>
std::vector<To> convert_values(const std::vector<From>& values) {
  std::vector<To> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](From v) { return static_cast<To>(v); });
  return result;
}

template <class To, class From>
FeatureStore convert_store(const DenseStore<From>& X, const std::string& name) {
  DenseStore<To> result{convert_values<To>(X.values), X.rows, X.cols};
  // Checked after the conversion: a double may be finite and too large for a float.
  const auto bad = std::find_if_not(result.values.begin(), result.values.end(), [](To v) { return std::isfinite(v); });
  if (bad != result.values.end()) {
    const std::int64_t k = bad - result.values.begin();
    fail_not_finite(name, k / X.cols, k % X.cols, X.values[static_cast<std::size_t>(k)], precision_of<To>);
  }
  return result;
}

template <class To, class From>
FeatureStore convert_store(CsrStore<From>& X, const std::string& name) {
  if constexpr (is_half(precision_of<To>)) {
    fail(ErrorKind::option, "{}: sparse rows are stored as float32 or float64; {} is for dense ones", name,
         Field{"precision", to_string(precision_of<To>)});
  } else {
    CsrStore<To> result{std::move(X.row_begin), std::move(X.column), convert_values<To>(X.values), X.rows, X.cols};
    check_csr(result, name);
    return result;
  }
}

template <class To>
FeatureStore converted(FeatureStore& X, const std::string& name) {
  return std::visit([&](auto& store) { return convert_store<To>(store, name); }, X);
}

}  // namespace

void fail_not_finite(const std::string& name, std::int64_t row, std::int64_t column, double value,
                     Precision precision) {
  if (std::isfinite(value)) {
    fail(ErrorKind::data, "{}: row {}, column {} (counted from 1): the value {} is too large for {}", name, row + 1,
         column + 1, value, to_string(precision));
  }
  fail(ErrorKind::data, "{}: row {}, column {} (counted from 1): the value {} is not finite", name, row + 1, column + 1,
       value);
}

template <class T>
void check_csr(CsrStore<T>& X, const std::string& name) {
  check_row_begin(X, name);
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const std::int64_t begin = X.row_begin[static_cast<std::size_t>(i)];
    const std::int64_t end = X.row_begin[static_cast<std::size_t>(i) + 1];
    const auto first = X.column.begin() + begin;
    const auto last = X.column.begin() + end;
    // Before the bounds are looked at: then the first and the last index tell of all.
    if (!std::is_sorted(first, last)) sort_row(X, begin, end);
    if (begin < end && (*first < 0 || *(last - 1) >= X.cols)) {
      fail(ErrorKind::data, "{}: row {} (counted from 1) has the column index {}, but 0 to {} are allowed", name, i + 1,
           *first < 0 ? *first : *(last - 1), X.cols - 1);
    }
    if (const auto twin = std::adjacent_find(first, last); twin != last) {
      fail(ErrorKind::data, "{}: row {} (counted from 1) has the column index {} twice", name, i + 1, *twin);
    }
    for (std::int64_t k = begin; k < end; ++k) {
      const T value = X.values[static_cast<std::size_t>(k)];
      if (!std::isfinite(value))
        fail_not_finite(name, i, X.column[static_cast<std::size_t>(k)], value, precision_of<T>);
    }
  }
}

template void check_csr(CsrStore<float>&, const std::string&);
template void check_csr(CsrStore<double>&, const std::string&);

std::int64_t fit_columns(FeatureStore& X, std::int64_t cols, const std::string& name) {
  return std::visit(
      [&]<class Store>(Store& store) -> std::int64_t {
        if constexpr (requires { store.row_begin; }) {
          const std::int64_t dropped = store.cols > cols ? drop_columns(store, cols) : 0;
          store.cols = cols;
          return dropped;
        } else {
          if (store.cols == cols) return 0;
          fail(ErrorKind::data, "{}: the rows have {} features, but {} are expected", name, store.cols, cols);
        }
      },
      X);
}

// Two thresholds, because two things are known. A loader knows nothing about the use, and dense must not be larger: an
// index takes as much room as a float32. Training goes over the rows many times, and dense rows are several times
// faster, non-zero by non-zero; there it is memory that sets the limit.
void make_dense_if_full(FeatureStore& X) {
  std::visit(
      [&]<class Store>(Store& store) {
        if constexpr (requires { store.row_begin; }) {
          if (fill_of(store.view()) <= 0.5) return;
          // The values of a full row, ascending, are the dense row: they are moved, not copied.
          const bool nothing_missing = static_cast<std::int64_t>(store.values.size()) == store.rows * store.cols;
          auto dense = nothing_missing
                           ? decltype(to_dense(store.view())){std::move(store.values), store.rows, store.cols}
                           : to_dense(store.view());
          X = FeatureStore(std::move(dense));
        }
      },
      X);
}

Features dense_where_faster(const Features& X) {
  constexpr double dense_enough = 0.25, share_of_memory = 0.25;
  return std::visit(
      [&]<class View>(const View& view) {
        if constexpr (requires { view.row_begin; }) {
          const double bytes =
              sizeof(typename View::Value) * static_cast<double>(view.rows) * static_cast<double>(view.cols);
          if (fill_of(view) >= dense_enough && bytes <= share_of_memory * process_memory().limit) {
            return Features(FeatureStore(to_dense(view)));
          }
        }
        return X;
      },
      X.view());
}

void convert_precision(FeatureStore& X, Precision precision, const std::string& name) {
  if (stored_precision(X) == precision) return;
  switch (precision) {
    case Precision::float32:
      X = converted<float>(X, name);
      break;
    case Precision::float64:
      X = converted<double>(X, name);
      break;
    case Precision::float16:
      X = converted<Float16>(X, name);
      break;
    case Precision::bfloat16:
      X = converted<BFloat16>(X, name);
      break;
  }
}

}  // namespace topwolf
