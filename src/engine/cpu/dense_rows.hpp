// Dense rows as products want them: numbers of the type that is multiplied, less the mean of the rows where there is
// one. Rows that are stored so are used where they lie; others are copied, a few at a time, and this is where. So what
// rows are stored as, and what is taken off them, is known in this place alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <variant>

#include "core/aligned.hpp"
#include "kernels/typed.hpp"
#include "topwolf/matrix.hpp"

namespace topwolf {

class DenseRows {
 public:
  // mean: d numbers that outlive this; null: none. Of any type: one class for all, so that what multiplies is compiled
  // for float and double alone.
  template <class T>
  DenseRows(const DenseView<T>& X, const double* mean = nullptr) : X_(X), mean_(mean) {}

  std::int64_t rows() const {
    return std::visit([](const auto& X) { return X.rows; }, X_);
  }
  std::int64_t cols() const {
    return std::visit([](const auto& X) { return X.cols; }, X_);
  }

  // Whether what is stored is what is multiplied, in numbers of R: then row i lies at stored() + i * stride().
  template <class R>
  bool as_stored() const {
    return std::holds_alternative<DenseView<R>>(X_) && !mean_;
  }
  // And whether all rows begin at cache lines, where products are fastest.
  template <class R>
  bool in_place() const {
    return as_stored<R>() && at_cache_line(stored<R>(), stride() * static_cast<std::int64_t>(sizeof(R)));
  }
  template <class R>
  const R* stored() const {
    return std::get<DenseView<R>>(X_).data;
  }
  std::int64_t stride() const {
    return std::visit([](const auto& X) { return X.stride; }, X_);
  }

  // The columns [from, to) of row i, to `out`.
  template <class R>
  void copy(std::int64_t i, std::int64_t from, std::int64_t to, R* out) const {
    std::visit([&](const auto& X) { copy_numbers_less(X.data + i * X.stride + from, from, to, out); }, X_);
  }

  // The rows [begin, end), whole, `pitch` apart.
  template <class R>
  void copy_rows(std::int64_t begin, std::int64_t end, std::int64_t pitch, R* out) const {
    for (std::int64_t i = begin; i < end; ++i) copy(i, 0, cols(), out + (i - begin) * pitch);
  }

  // out += the sum of the rows, each times its coefficient, on the columns [from, to), read where they lie. False where
  // that cannot be: there is a mean to take off, or what is stored is wider than R. Nothing is done then.
  template <class R>
  bool accumulate_stored(std::span<const std::int64_t> rows, const double* coefficient, std::int64_t from,
                         std::int64_t to, R* out) const {
    if (mean_) return false;
    return std::visit(
        [&]<class T>(const DenseView<T>& X) {
          if constexpr (sizeof(R) >= sizeof(T)) {
            accumulate(X.data + from, X.stride, rows.data(), coefficient, static_cast<std::int64_t>(rows.size()),
                       to - from, out);
          }
          return sizeof(R) >= sizeof(T);
        },
        X_);
  }

 private:
  template <class T, class R>
  void copy_numbers_less(const T* x, std::int64_t from, std::int64_t to, R* out) const {
    if (!mean_) return copy_numbers(x, to - from, out);
    if constexpr (is_half(precision_of<T>)) {
      constexpr std::int64_t strip = 256;
      float wide[strip];
      for (std::int64_t c = from; c < to; c += strip) {
        const std::int64_t count = std::min(strip, to - c);
        copy_numbers(x + (c - from), count, wide);
        less(wide, mean_ + c, count, out + (c - from));
      }
    } else if constexpr (sizeof(R) >= sizeof(T)) {
      less(x, mean_ + from, to - from, out);
    } else {
      for (std::int64_t c = 0; c < to - from; ++c) out[c] = static_cast<R>(x[c] - mean_[from + c]);
    }
  }

  std::variant<DenseView<float>, DenseView<double>, DenseView<Float16>, DenseView<BFloat16>> X_;
  const double* mean_;
};

}  // namespace topwolf
