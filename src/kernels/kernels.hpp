// The inner loops over features and classes, compiled once per instruction set (kernels.inc) and chosen at run time.
// Plain pointers in, plain pointers out; sums differ between instruction sets in the last digits, nothing else does.
#pragma once

#include <cstdint>

#include "topwolf/half.hpp"

namespace topwolf {

struct Kernels {
  const char* name;

  // to[c] = from[c], c < count. Exact, so that whoever meets the wider numbers has the bits that those would have had.
  void (*widen_f16_f32)(const Float16* from, std::int64_t count, float* to);
  void (*widen_f16_f64)(const Float16* from, std::int64_t count, double* to);
  void (*widen_bf16_f32)(const BFloat16* from, std::int64_t count, float* to);
  void (*widen_bf16_f64)(const BFloat16* from, std::int64_t count, double* to);

  // out[c] += sum_e coefficient[e] * X[row[e] * stride + c], c < cols. Named after the types of X and of out; one name
  // where they are the same, or out is double.
  void (*accumulate_f32)(const float* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                         std::int64_t count, std::int64_t cols, double* out);
  void (*accumulate_f32_f32)(const float* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                             std::int64_t count, std::int64_t cols, float* out);
  void (*accumulate_f64)(const double* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                         std::int64_t count, std::int64_t cols, double* out);
  void (*accumulate_f16)(const Float16* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                         std::int64_t count, std::int64_t cols, double* out);
  void (*accumulate_f16_f32)(const Float16* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                             std::int64_t count, std::int64_t cols, float* out);
  void (*accumulate_bf16)(const BFloat16* X, std::int64_t stride, const std::int64_t* row, const double* coefficient,
                          std::int64_t count, std::int64_t cols, double* out);
  void (*accumulate_bf16_f32)(const BFloat16* X, std::int64_t stride, const std::int64_t* row,
                              const double* coefficient, std::int64_t count, std::int64_t cols, float* out);

  // out[c] += v_c = sum_e coefficient[e] * x[row[e]][c], c < cols; returns the sum of v_c^2 in double.
  double (*add_rows_f32)(const float* const* x, const std::int64_t* row, const double* coefficient, std::int64_t count,
                         std::int64_t cols, float* out);
  double (*add_rows_f64)(const double* const* x, const std::int64_t* row, const double* coefficient, std::int64_t count,
                         std::int64_t cols, double* out);

  // out[c] = x[c] - mean[c], c < count: in double, then rounded.
  void (*less_f32)(const float* x, const double* mean, std::int64_t count, float* out);
  void (*less_f32_f64)(const float* x, const double* mean, std::int64_t count, double* out);
  void (*less_f64)(const double* x, const double* mean, std::int64_t count, double* out);

  // S[i * lds + j] = <x[i], w[j]> over d features, i < rows, j < m. Bits depend on nothing but the two vectors
  // and d: a product may be cut into tiles anywhere. Fastest where vectors begin at multiples of 64 bytes. Named after
  // the types of the factors and of S.
  void (*products_f32)(const float* const* x, std::int64_t rows, const float* const* w, std::int64_t m, std::int64_t d,
                       float* S, std::int64_t lds);
  void (*products_f32_f64)(const float* const* x, std::int64_t rows, const float* const* w, std::int64_t m,
                           std::int64_t d, double* S, std::int64_t lds);
  void (*products_f64)(const double* const* x, std::int64_t rows, const double* const* w, std::int64_t m,
                       std::int64_t d, double* S, std::int64_t lds);

  // s[j] = sum_e value[e] * W[column[e] * pitch + j], j < m; pitch is a multiple of 8 and W is padded to it. Named
  // after the types of the values and of W; but for the first, sums are in double.
  void (*sparse_scores_f32)(const float* value, const std::int32_t* column, std::int64_t count, const float* W,
                            std::int64_t pitch, std::int64_t m, float* s);
  void (*sparse_scores_f32_f32)(const float* value, const std::int32_t* column, std::int64_t count, const float* W,
                                std::int64_t pitch, std::int64_t m, double* s);
  void (*sparse_scores_f32_f64)(const float* value, const std::int32_t* column, std::int64_t count, const double* W,
                                std::int64_t pitch, std::int64_t m, double* s);
  void (*sparse_scores_f64_f32)(const double* value, const std::int32_t* column, std::int64_t count, const float* W,
                                std::int64_t pitch, std::int64_t m, double* s);
  void (*sparse_scores_f64)(const double* value, const std::int32_t* column, std::int64_t count, const double* W,
                            std::int64_t pitch, std::int64_t m, double* s);

  // S[i * pitch + j] += sum_f X[i * score_depth + f] * W[f * width + j], i < rows, f < cols, j < width; cols is at most
  // score_depth, width a multiple of 8 and at most tile_width. Bits do not depend on `rows`, nor on where f was cut.
  void (*tile_scores_f32)(const double* X, std::int64_t rows, std::int64_t cols, const float* W, std::int64_t width,
                          double* S, std::int64_t pitch);
  void (*tile_scores_f64)(const double* X, std::int64_t rows, std::int64_t cols, const double* W, std::int64_t width,
                          double* S, std::int64_t pitch);

  // out[e] = <x, W[column[e] * stride ...]>, e < count, over `cols` features.
  void (*dots_f32)(const float* x, std::int64_t cols, const float* W, std::int64_t stride, const std::int32_t* column,
                   std::int64_t count, double* out);
  void (*dots_f64)(const double* x, std::int64_t cols, const double* W, std::int64_t stride, const std::int32_t* column,
                   std::int64_t count, double* out);

  // key[j] = (s[j] + delta[j] + shift) * scale, j < m; delta null: `other` everywhere.
  void (*keys_f32)(const float* s, const double* delta, double other, std::int64_t m, double shift, double scale,
                   double* key);
  void (*keys_f64)(const double* s, const double* delta, double other, std::int64_t m, double shift, double scale,
                   double* key);

  // out[j] = e^x[j], j < m, for x[j] <= 700; 0 below -700. Within 2 units in the last place.
  void (*exponentials)(const double* x, std::int64_t m, double* out);
  // out[j] = log x[j], j < m, of positive numbers that are not subnormal, within 2 units in the last place; some finite
  // number for 0.
  void (*logarithms)(const double* x, std::int64_t m, double* out);

  // Returns the largest key; *kth becomes a lower bound on the K-th largest: class j belongs to lane j mod key_lanes,
  // and the bound is the K-th largest of the lanes' distinct maxima (-infinity where there are fewer).
  double (*bound)(const double* key, std::int64_t m, std::int64_t K, double* kth);

  // The number of keys with key - base > theta; *sum becomes the sum of key - base over them.
  std::int64_t (*sum_above)(const double* key, std::int64_t m, double base, double theta, double* sum);

  // Writes the j with key[j] >= threshold, ascending, and returns how many they are; picked has room for m.
  std::int64_t (*pick)(const double* key, std::int64_t m, double threshold, std::int32_t* picked);
};

inline constexpr std::int64_t key_lanes = 32;
inline constexpr std::int64_t score_depth = 128;  // features of a block that stays in the first-level cache
inline constexpr std::int64_t tile_width = 32;    // classes whose weights of a feature lie side by side

// Whether this processor has instructions for float16, which the sets beyond the baseline use.
bool converts_float16();

// The fastest set this machine runs.
const Kernels& kernels();

}  // namespace topwolf
