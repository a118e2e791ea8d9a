#include "data/fingerprint.hpp"

#include <numeric>
#include <vector>

#include "core/hash.hpp"
#include "core/threads.hpp"
#include "data/rows.hpp"

namespace topwolf {
namespace {

template <class T>
void add_values(Hasher& hasher, const T* values, std::int64_t count) {
  hasher.add(values, static_cast<std::size_t>(count) * sizeof(T));
}

// One row as its non-zeros, so that dense and sparse storage of the same numbers agree.
class RowBuffer {
 public:
  void add(std::int64_t column, double value) {
    if (value == 0.0) return;
    column_.push_back(column);
    value_.push_back(value);
  }
  void flush(Hasher& hasher) {
    const auto count = static_cast<std::int64_t>(column_.size());
    add_values(hasher, &count, 1);
    add_values(hasher, column_.data(), count);
    add_values(hasher, value_.data(), count);
    column_.clear();
    value_.clear();
  }

 private:
  std::vector<std::int64_t> column_;
  std::vector<double> value_;
};

template <class View>
void add_features(Hasher& hasher, const View& X) {
  RowBuffer row;
  for (std::int64_t i = 0; i < X.rows; ++i) {
    // In double: the same numbers as float32 and float64 have one fingerprint.
    for_row(X, i, [&](std::int64_t column, double value) { row.add(column, value); });
    row.flush(hasher);
  }
}

// As they are stored: what is not stored is not 0.
template <class T>
void add_margins(Hasher& hasher, const DenseView<T>& view) {
  for (std::int64_t i = 0; i < view.rows; ++i) add_values(hasher, view.data + i * view.stride, view.cols);
}

template <class T>
void add_margins(Hasher& hasher, const CsrView<T>& view) {
  add_values(hasher, view.row_begin, view.rows + 1);
  add_values(hasher, view.column, view.row_begin[view.rows]);
  add_values(hasher, view.value, view.row_begin[view.rows]);
}

}  // namespace

double weight_sum(const Dataset& data) {
  if (data.weights.empty()) return static_cast<double>(data.y.size());
  // A certificate divides by it: what each addition rounds off is kept, so that a billion rows cost no digit.
  long double sum = 0.0L, lost = 0.0L;
  for (const long double weight : data.weights) {
    const long double next = sum + weight, added = next - sum;
    lost += (sum - (next - added)) + (weight - added);
    sum = next;
  }
  return static_cast<double>(sum + lost);
}

std::string fingerprint(const Dataset& data, const WindowBody& also) {
  Hasher hasher;
  // Columns and classes that do not occur leave no other trace.
  const std::int64_t shape[] = {data.X.rows(), data.X.cols(), data.classes.size()};
  add_values(hasher, shape, 3);
  for_windows(data.X, resolve_threads(0), [&](std::int64_t first, const FeatureView& rows) {
    if (also) also(first, rows);
    std::visit([&](const auto& X) { add_features(hasher, X); }, rows);
  });
  add_values(hasher, data.y.data(), static_cast<std::int64_t>(data.y.size()));
  add_values(hasher, data.weights.data(), static_cast<std::int64_t>(data.weights.size()));
  if (data.margins.given()) {
    hasher.add("margins");
    if (data.margins.values.sparse()) add_values(hasher, &data.margins.other, 1);
    std::visit([&](const auto& view) { add_margins(hasher, view); }, data.margins.values.view());
  }
  if (data.class_features.rows() > 0) {
    hasher.add("class features");
    std::visit([&](const auto& phi) { add_features(hasher, phi); }, data.class_features.view());
  }
  // The order of the classes counts: it is that of the rows of W.
  for (const std::string& name : data.classes.names) {
    hasher.add(name);
    hasher.add("\n");
  }
  return hasher.hex();
}

}  // namespace topwolf
