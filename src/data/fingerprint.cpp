#include "data/fingerprint.hpp"

#include <numeric>

#include "core/hash.hpp"

namespace topwolf {
namespace {

template <class T>
void add_values(Hasher& hasher, const T* values, std::int64_t count) {
  hasher.add(values, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T>
void add_features(Hasher& hasher, const DenseView<T>& X) {
  for (std::int64_t i = 0; i < X.rows; ++i) add_values(hasher, X.data + i * X.stride, X.cols);
}

template <class T>
void add_features(Hasher& hasher, const CsrView<T>& X) {
  add_values(hasher, X.row_begin, X.rows + 1);
  add_values(hasher, X.column, X.row_begin[X.rows]);
  add_values(hasher, X.value, X.row_begin[X.rows]);
}

}  // namespace

double weight_sum(const Dataset& data) {
  if (data.weights.empty()) return static_cast<double>(data.X.rows());
  return std::accumulate(data.weights.begin(), data.weights.end(), 0.0);
}

std::string fingerprint(const Dataset& data) {
  Hasher hasher;
  const std::int64_t shape[] = {data.X.rows(), data.X.cols(), data.classes.size()};
  add_values(hasher, shape, 3);
  std::visit([&](const auto& X) { add_features(hasher, X); }, data.X.view());
  add_values(hasher, data.y.data(), static_cast<std::int64_t>(data.y.size()));
  add_values(hasher, data.weights.data(), static_cast<std::int64_t>(data.weights.size()));
  for (const std::string& name : data.classes.names) {
    hasher.add(name);
    hasher.add("\n");
  }
  return hasher.hex();
}

}  // namespace topwolf
