// Dense rows as products want them: numbers of the type that is multiplied, less the mean of the rows where there is
// one. Rows that are stored so are used where they lie; others are copied, a few at a time, and this is where. So what
// rows are stored as, and what is taken off them, is known in this place alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/aligned.hpp"
#include "kernels/typed.hpp"
#include "topwolf/matrix.hpp"

namespace topwolf {

template <class T>
class DenseRows {
 public:
  // mean: d numbers that outlive this; null: none.
  explicit DenseRows(const DenseView<T>& X, const double* mean = nullptr) : X_(X), mean_(mean) {}

  std::int64_t rows() const { return X_.rows; }
  std::int64_t cols() const { return X_.cols; }

  // Whether what is stored is what is multiplied, in numbers of R: then row i lies at stored() + i * stride().
  template <class R>
  bool as_stored() const {
    return std::is_same_v<T, R> && !mean_;
  }
  // And whether all rows begin at cache lines, where products are fastest.
  template <class R>
  bool in_place() const {
    return as_stored<R>() && at_cache_line(X_.data, X_.stride * static_cast<std::int64_t>(sizeof(T)));
  }
  const T* stored() const { return X_.data; }
  std::int64_t stride() const { return X_.stride; }

  // The columns [from, to) of row i, to `out`.
  template <class R>
  void copy(std::int64_t i, std::int64_t from, std::int64_t to, R* out) const {
    const T* const x = X_.data + i * X_.stride + from;
    if (!mean_) {
      std::transform(x, x + (to - from), out, [](T value) { return static_cast<R>(value); });
    } else if constexpr (sizeof(R) >= sizeof(T)) {
      less(x, mean_ + from, to - from, out);
    } else {
      for (std::int64_t c = 0; c < to - from; ++c) out[c] = static_cast<R>(x[c] - mean_[from + c]);
    }
  }

  // The rows [begin, end), whole, `pitch` apart.
  template <class R>
  void copy_rows(std::int64_t begin, std::int64_t end, std::int64_t pitch, R* out) const {
    for (std::int64_t i = begin; i < end; ++i) copy(i, 0, X_.cols, out + (i - begin) * pitch);
  }

 private:
  DenseView<T> X_;
  const double* mean_;
};

}  // namespace topwolf
