// The kernels by the types of their arguments, for templates. Not for kernels.inc: an inline function must not be
// compiled for one instruction set and kept for all.
#pragma once

#include "kernels/kernels.hpp"

namespace topwolf {

// m rounded up to whole vectors: the pitch of weights that are kept feature by feature.
inline std::int64_t class_pitch(std::int64_t m) {
  return (m + 7) / 8 * 8;
}

// A row of d numbers rounded up to whole cache lines: the pitch of weights that are kept class by class.
template <class T>
std::int64_t feature_pitch(std::int64_t d) {
  constexpr std::int64_t line = 64 / sizeof(T);
  return (d + line - 1) / line * line;
}

inline double add_rows(const float* const* x, const std::int64_t* row, const double* coefficient, std::int64_t count,
                       std::int64_t cols, float* out) {
  return kernels().add_rows_f32(x, row, coefficient, count, cols, out);
}
inline double add_rows(const double* const* x, const std::int64_t* row, const double* coefficient, std::int64_t count,
                       std::int64_t cols, double* out) {
  return kernels().add_rows_f64(x, row, coefficient, count, cols, out);
}

inline void less(const float* x, const double* mean, std::int64_t count, float* out) {
  kernels().less_f32(x, mean, count, out);
}
inline void less(const float* x, const double* mean, std::int64_t count, double* out) {
  kernels().less_f32_f64(x, mean, count, out);
}
inline void less(const double* x, const double* mean, std::int64_t count, double* out) {
  kernels().less_f64(x, mean, count, out);
}

inline void products(const float* const* x, std::int64_t rows, const float* const* w, std::int64_t m, std::int64_t d,
                     float* S, std::int64_t lds) {
  kernels().products_f32(x, rows, w, m, d, S, lds);
}
inline void products(const float* const* x, std::int64_t rows, const float* const* w, std::int64_t m, std::int64_t d,
                     double* S, std::int64_t lds) {
  kernels().products_f32_f64(x, rows, w, m, d, S, lds);
}
inline void products(const double* const* x, std::int64_t rows, const double* const* w, std::int64_t m, std::int64_t d,
                     double* S, std::int64_t lds) {
  kernels().products_f64(x, rows, w, m, d, S, lds);
}
// S (rows x m, pitch lds) = X W^T, where the rows of X and those of W lie one pitch from each other.
template <class T, class Out>
void products(const T* X, std::int64_t ldx, std::int64_t rows, const T* W, std::int64_t ldw, std::int64_t m,
              std::int64_t d, Out* S, std::int64_t lds) {
  constexpr std::int64_t side = 64;
  const T *x[side], *w[side];
  for (std::int64_t i = 0; i < rows; i += side) {
    const std::int64_t high = rows - i < side ? rows - i : side;
    for (std::int64_t r = 0; r < high; ++r) x[r] = X + (i + r) * ldx;
    for (std::int64_t j = 0; j < m; j += side) {
      const std::int64_t wide = m - j < side ? m - j : side;
      for (std::int64_t c = 0; c < wide; ++c) w[c] = W + (j + c) * ldw;
      products(x, high, w, wide, d, S + i * lds + j, lds);
    }
  }
}

inline void accumulate(const float* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                       std::int64_t count, std::int64_t cols, double* out) {
  kernels().accumulate_f32(X, stride, row, coefficient, count, cols, out);
}
inline void accumulate(const float* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                       std::int64_t count, std::int64_t cols, float* out) {
  kernels().accumulate_f32_f32(X, stride, row, coefficient, count, cols, out);
}
inline void accumulate(const double* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                       std::int64_t count, std::int64_t cols, double* out) {
  kernels().accumulate_f64(X, stride, row, coefficient, count, cols, out);
}

// W is feature-major: (D x class_pitch(m)).
inline void sparse_scores(const float* value, const std::int32_t* column, std::int64_t count, const float* W,
                          std::int64_t pitch, std::int64_t m, float* s) {
  kernels().sparse_scores_f32(value, column, count, W, pitch, m, s);
}
inline void sparse_scores(const float* value, const std::int32_t* column, std::int64_t count, const float* W,
                          std::int64_t pitch, std::int64_t m, double* s) {
  kernels().sparse_scores_f32_f32(value, column, count, W, pitch, m, s);
}
inline void sparse_scores(const float* value, const std::int32_t* column, std::int64_t count, const double* W,
                          std::int64_t pitch, std::int64_t m, double* s) {
  kernels().sparse_scores_f32_f64(value, column, count, W, pitch, m, s);
}
inline void sparse_scores(const double* value, const std::int32_t* column, std::int64_t count, const float* W,
                          std::int64_t pitch, std::int64_t m, double* s) {
  kernels().sparse_scores_f64_f32(value, column, count, W, pitch, m, s);
}
inline void sparse_scores(const double* value, const std::int32_t* column, std::int64_t count, const double* W,
                          std::int64_t pitch, std::int64_t m, double* s) {
  kernels().sparse_scores_f64(value, column, count, W, pitch, m, s);
}

inline void tile_scores(const double* X, std::int64_t rows, std::int64_t cols, const float* W, std::int64_t width,
                        double* S, std::int64_t pitch) {
  kernels().tile_scores_f32(X, rows, cols, W, width, S, pitch);
}
inline void tile_scores(const double* X, std::int64_t rows, std::int64_t cols, const double* W, std::int64_t width,
                        double* S, std::int64_t pitch) {
  kernels().tile_scores_f64(X, rows, cols, W, width, S, pitch);
}

// Inner products with a few rows of W, class-major as models are: (m x stride).
inline void dots(const float* x, std::int64_t cols, const float* W, std::int64_t stride, const std::int32_t* column,
                 std::int64_t count, double* out) {
  kernels().dots_f32(x, cols, W, stride, column, count, out);
}
inline void dots(const double* x, std::int64_t cols, const double* W, std::int64_t stride, const std::int32_t* column,
                 std::int64_t count, double* out) {
  kernels().dots_f64(x, cols, W, stride, column, count, out);
}

}  // namespace topwolf
