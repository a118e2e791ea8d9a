// Rows that are made of others: several one after the other, changed as they are read, dense from sparse, in memory.
#include <algorithm>
#include <utility>

#include "core/fail.hpp"
#include "data/row_files.hpp"
#include "data/rows.hpp"

namespace topwolf {
namespace {

class Parts final : public RowSource {
 public:
  explicit Parts(std::vector<SharedRows> parts) : parts_(std::move(parts)) {
    for (const SharedRows& part : parts_) begin_.push_back(begin_.back() + part->rows());
  }
  std::int64_t rows() const override { return begin_.back(); }
  std::int64_t cols() const override { return parts_.front()->cols(); }
  bool sparse() const override { return parts_.front()->sparse(); }
  Precision precision() const override { return parts_.front()->precision(); }
  std::int64_t stored(std::int64_t first, std::int64_t count) const override {
    std::int64_t sum = 0;
    for_parts(first, count,
              [&](const RowSource& part, std::int64_t from, std::int64_t rows) { sum += part.stored(from, rows); });
    return sum;
  }
  void read(std::int64_t first, std::int64_t count, FeatureStore& to, Place place) const override {
    for_parts(first, count, [&](const RowSource& part, std::int64_t from, std::int64_t rows) {
      part.read(from, rows, to, place);
      place.row += rows;
      place.value += part.stored(from, rows);
    });
  }
  void expect(std::int64_t first, std::int64_t count) const override {
    for_parts(first, count,
              [](const RowSource& part, std::int64_t from, std::int64_t rows) { part.expect(from, rows); });
  }

 private:
  template <class Body>
  void for_parts(std::int64_t first, std::int64_t count, const Body& body) const {
    auto at = static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), first) - begin_.begin()) - 1;
    for (; count > 0; ++at) {
      const std::int64_t rows = std::min(count, begin_[at + 1] - first);
      if (rows > 0) body(*parts_[at], first - begin_[at], rows);
      first += rows;
      count -= rows;
    }
  }

  const std::vector<SharedRows> parts_;
  std::vector<std::int64_t> begin_{0};
};

class Changed final : public RowSource {
 public:
  Changed(SharedRows rows, std::int64_t cols, Precision precision, RowChange change)
      : source_(std::move(rows)), cols_(cols), precision_(precision), change_(std::move(change)) {}
  std::int64_t rows() const override { return source_->rows(); }
  std::int64_t cols() const override { return cols_; }
  bool sparse() const override { return source_->sparse(); }
  Precision precision() const override { return precision_; }
  std::int64_t stored(std::int64_t first, std::int64_t count) const override { return source_->stored(first, count); }
  void read(std::int64_t first, std::int64_t count, FeatureStore& to, Place place) const override {
    FeatureStore rows = room_for(first, count);
    source_->read(first, count, rows, {});
    change_(rows);
    std::visit(
        [&]<class Store>(const Store& from) {
          auto& store = std::get<Store>(to);
          std::copy(from.values.begin(), from.values.end(), store.values.begin() + place.value);
          if constexpr (requires { from.row_begin; }) {
            std::copy(from.column.begin(), from.column.end(), store.column.begin() + place.value);
            std::transform(from.row_begin.begin() + 1, from.row_begin.end(), store.row_begin.begin() + place.row + 1,
                           [&](std::int64_t bound) { return place.value + bound; });
          }
        },
        rows);
  }
  void expect(std::int64_t first, std::int64_t count) const override { source_->expect(first, count); }

 private:
  FeatureStore room_for(std::int64_t first, std::int64_t count) const {
    const auto values = static_cast<std::size_t>(source_->stored(first, count));
    const auto room = [&](auto store) -> FeatureStore {
      store.values.resize(values);
      store.rows = count;
      store.cols = source_->cols();
      if constexpr (requires { store.row_begin; }) {
        store.row_begin.resize(static_cast<std::size_t>(count) + 1);
        store.column.resize(values);
      }
      return store;
    };
    const bool wide = source_->precision() == Precision::float64;
    if (sparse()) return wide ? room(CsrStore<double>{}) : room(CsrStore<float>{});
    if (source_->precision() == Precision::float16) return room(DenseStore<Float16>{});
    if (source_->precision() == Precision::bfloat16) return room(DenseStore<BFloat16>{});
    return wide ? room(DenseStore<double>{}) : room(DenseStore<float>{});
  }

  const SharedRows source_;
  const std::int64_t cols_;
  const Precision precision_;
  const RowChange change_;
};

class RowsInMemory final : public RowSource {
 public:
  explicit RowsInMemory(Features X) : X_(std::move(X)) {}
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

class MadeDense final : public RowSource {
 public:
  explicit MadeDense(SharedRows rows) : source_(std::move(rows)) {}
  std::int64_t rows() const override { return source_->rows(); }
  std::int64_t cols() const override { return source_->cols(); }
  bool sparse() const override { return false; }
  Precision precision() const override { return source_->precision(); }
  std::int64_t stored(std::int64_t, std::int64_t count) const override { return count * cols(); }
  void read(std::int64_t first, std::int64_t count, FeatureStore& to, Place place) const override {
    std::visit(
        [&]<class Store>(Store& store) {
          if constexpr (!requires { store.row_begin; } && !is_half(precision_of<typename Store::Value>)) {
            using T = typename Store::Value;
            CsrStore<T> sparse;
            sparse.row_begin.resize(static_cast<std::size_t>(count) + 1);
            sparse.column.resize(static_cast<std::size_t>(source_->stored(first, count)));
            sparse.values.resize(sparse.column.size());
            sparse.rows = count;
            sparse.cols = cols();
            FeatureStore rows(std::move(sparse));
            source_->read(first, count, rows, {});
            const auto begin = store.values.begin() + place.value;
            std::fill(begin, begin + count * cols(), T{0});
            for_stored(std::get<CsrStore<T>>(rows).view(),
                       [&](std::int64_t i, std::int64_t c, T value) { begin[i * cols() + c] = value; });
          }
        },
        to);
  }

 private:
  const SharedRows source_;
};

}  // namespace

SharedRows rows_in_memory(Features X) {
  return std::make_shared<RowsInMemory>(std::move(X));
}

SharedRows one_after_the_other(std::vector<SharedRows> parts) {
  return parts.size() == 1 ? parts.front() : std::make_shared<Parts>(std::move(parts));
}

SharedRows made_dense(SharedRows rows) {
  return std::make_shared<MadeDense>(std::move(rows));
}

SharedRows changed(SharedRows rows, std::int64_t cols, Precision precision, RowChange change) {
  return std::make_shared<Changed>(std::move(rows), cols, precision, std::move(change));
}

}  // namespace topwolf
