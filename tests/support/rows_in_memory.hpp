// A source of rows that are in memory after all, and the engine that has them in windows of a few rows.
#pragma once

#include <algorithm>
#include <memory>

#include "data/mean.hpp"
#include "engine/factory.hpp"

namespace topwolf::testing {

class RowsInMemory final : public RowSource {
 public:
  explicit RowsInMemory(const FeatureView& X) : X_(X) {}
  std::int64_t rows() const override { return X_.rows(); }
  std::int64_t cols() const override { return X_.cols(); }
  bool sparse() const override { return X_.sparse(); }
  Precision precision() const override { return X_.precision(); }
  std::int64_t stored(std::int64_t first, std::int64_t count) const override {
    return std::visit(
        [&](const auto& X) {
          if constexpr (requires { X.row_begin; }) {
            return X.row_begin[first + count] - X.row_begin[first];
          } else {
            return count * X.cols;
          }
        },
        X_.view());
  }
  void read(std::int64_t first, std::int64_t count, FeatureStore& to, Place place) const override {
    std::visit([&](const auto& X) { copy(X, first, count, to, place); }, X_.view());
  }

 private:
  template <class T>
  static void copy(const DenseView<T>& X, std::int64_t first, std::int64_t count, FeatureStore& to, Place place) {
    auto& values = std::get<DenseStore<T>>(to).values;
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(X.data + (first + i) * X.stride, X.cols, values.begin() + place.value + i * X.cols);
    }
  }
  template <class T>
  static void copy(const CsrView<T>& X, std::int64_t first, std::int64_t count, FeatureStore& to, Place place) {
    auto& store = std::get<CsrStore<T>>(to);
    const std::int64_t begin = X.row_begin[first], stored = X.row_begin[first + count] - begin;
    std::copy_n(X.column + begin, stored, store.column.begin() + place.value);
    std::copy_n(X.value + begin, stored, store.values.begin() + place.value);
    for (std::int64_t i = 1; i <= count; ++i) {
      store.row_begin[static_cast<std::size_t>(place.row + i)] = place.value + X.row_begin[first + i] - begin;
    }
  }

  const Features X_;
};

// Extents of about four rows, windows of about four extents, for the rows that the contract's problems have.
inline std::unique_ptr<Engine> make_windows_of_few(const Problem& problem, const EngineOptions& options) {
  const auto source = std::make_shared<RowsInMemory>(problem.X);
  const double row = bytes_in_memory(*source) / static_cast<double>(problem.n);
  const WindowedRows rows{source, {16.5 * row, 4.1 * row}};
  Problem without = problem;
  without.X = Features(source).kind();
  EngineOptions windowed = options;
  windowed.windows = &rows;
  windowed.lengths2 = share(problem.mean ? squared_lengths(problem.X, *problem.mean, problem.bias, 1)
                                         : squared_lengths(problem.X, problem.bias, 1));
  return make_engine(without, windowed);
}

}  // namespace topwolf::testing
