// Every copy of the kernels that this machine can run, against naive loops.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <set>

#include "core/rng.hpp"
#include "kernels/typed.hpp"

namespace topwolf {

extern const Kernels kernels_baseline;
#ifdef __x86_64__
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

std::vector<const Kernels*> runnable() {
  std::vector<const Kernels*> list{&kernels_baseline};
#ifdef __x86_64__
  if (!converts_float16()) return list;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list.push_back(&kernels_avx2);
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) list.push_back(&kernels_avx512);
#endif
  return list;
}

template <class T, class Out, class Accumulate>
void check_accumulate(Accumulate accumulate, std::int64_t cols) {
  Rng rng(7);
  const std::int64_t stride = cols + 3, rows = 9;
  std::vector<T> X(static_cast<std::size_t>(rows * stride));
  for (T& x : X) x = static_cast<T>(rng.normal());
  const std::vector<std::int64_t> row{0, 3, 3, 8};
  const std::vector<double> factor{0.5, -2.0, 1.25, 3.0};
  std::vector<Out> out(static_cast<std::size_t>(cols) + 1, Out(1));
  std::vector<double> expected(out.begin(), out.end());
  accumulate(X.data(), stride, row.data(), factor.data(), 4, cols, out.data());
  for (std::size_t e = 0; e < row.size(); ++e) {
    for (std::int64_t c = 0; c < cols; ++c) {
      expected[static_cast<std::size_t>(c)] +=
          factor[e] * static_cast<double>(X[static_cast<std::size_t>(row[e] * stride + c)]);
    }
  }
  for (std::size_t c = 0; c < out.size(); ++c) EXPECT_NEAR(out[c], expected[c], sizeof(Out) == 4 ? 1e-5 : 1e-13);
}

// As what is computed with: the bits, so that NaN and -0 are told apart.
template <class Half, class Out>
std::vector<Out> plainly_widened(const std::vector<Half>& from) {
  std::vector<Out> out;
  for (const Half h : from) out.push_back(static_cast<Out>(static_cast<float>(h)));
  return out;
}

template <class Out>
bool same_bits(const std::vector<Out>& a, const std::vector<Out>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Out)) == 0;
}

// Every pattern there is, and every length of what is left over.
template <class Half, class Out, class Widen>
void check_widen(Widen widen) {
  std::vector<Half> every;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    every.push_back(std::bit_cast<Half>(static_cast<std::uint16_t>(bits)));
  std::vector<Out> out(every.size());
  widen(every.data(), static_cast<std::int64_t>(every.size()), out.data());
  EXPECT_TRUE(same_bits(out, plainly_widened<Half, Out>(every)));
  for (std::size_t count = 0; count < 20; ++count) {
    // Subnormal numbers and, behind the last, what must not be written.
    const std::vector<Half> some(every.begin() + 0x3fa, every.begin() + 0x3fa + static_cast<long>(count));
    std::vector<Out> few(count + 1, Out(7)), expected = plainly_widened<Half, Out>(some);
    widen(some.data(), static_cast<std::int64_t>(count), few.data());
    expected.push_back(Out(7));
    EXPECT_TRUE(same_bits(few, expected)) << count;
  }
}

// The bits of a sum of the same rows in float32.
template <class Half, class Out, class Accumulate, class AccumulateWide>
void check_accumulate_halves(Accumulate accumulate, AccumulateWide accumulate_wide, std::int64_t cols) {
  Rng rng(17);
  const std::int64_t stride = cols + 3, rows = 9;
  std::vector<Half> X;
  for (std::int64_t c = 0; c < rows * stride; ++c) X.push_back(Half(c % 7 == 0 ? 3e-7 : rng.normal()));
  const std::vector<float> wide = plainly_widened<Half, float>(X);
  const std::vector<std::int64_t> row{0, 3, 3, 8};
  const std::vector<double> factor{0.3, -2.1, 1.25, 3.7};
  std::vector<Out> out(static_cast<std::size_t>(cols) + 1, Out(1)), expected = out;
  accumulate(X.data(), stride, row.data(), factor.data(), 4, cols, out.data());
  accumulate_wide(wide.data(), stride, row.data(), factor.data(), 4, cols, expected.data());
  EXPECT_TRUE(same_bits(out, expected)) << cols;
}

// To the last bit, where the mean is far larger than what is left, and nothing behind the row is written.
template <class T, class Out, class Less>
void check_less(Less less, std::int64_t count) {
  Rng rng(6);
  std::vector<T> x;
  std::vector<double> mean;
  for (std::int64_t c = 0; c < count; ++c) {
    mean.push_back(1e6 * rng.normal());
    x.push_back(static_cast<T>(mean.back() + rng.normal()));
  }
  std::vector<Out> out(static_cast<std::size_t>(count) + 1, Out(7));
  less(x.data(), mean.data(), count, out.data());
  for (std::size_t c = 0; c < x.size(); ++c) EXPECT_EQ(out[c], static_cast<Out>(static_cast<double>(x[c]) - mean[c]));
  EXPECT_EQ(out.back(), Out(7));
}

template <class T, class W, class R, class Scores>
void check_scores(Scores scores, std::int64_t m) {
  Rng rng(8);
  const std::int64_t d = 20, pitch = (m + 7) / 8 * 8;
  std::vector<W> V(static_cast<std::size_t>(d * pitch));
  for (W& v : V) v = static_cast<W>(rng.normal());
  const std::vector<std::int32_t> column{0, 5, 19};
  const std::vector<T> value{T(1.5), T(-0.25), T(2)};
  std::vector<R> s(static_cast<std::size_t>(m) + 1, R(77));
  scores(value.data(), column.data(), 3, V.data(), pitch, m, s.data());
  for (std::int64_t j = 0; j < m; ++j) {
    double expected = 0.0;
    for (std::size_t e = 0; e < 3; ++e) {
      expected +=
          static_cast<double>(value[e]) * static_cast<double>(V[static_cast<std::size_t>(column[e] * pitch + j)]);
    }
    EXPECT_NEAR(static_cast<double>(s[static_cast<std::size_t>(j)]), expected, sizeof(R) == 4 ? 1e-5 : 1e-13);
  }
  EXPECT_EQ(s.back(), R(77)) << "wrote beyond m";
}

// Rows of any number, on tiles of any width, cut anywhere: the same bits as one row over all features at once.
template <class W, class Scores>
void check_tile(const Scores& scores, std::int64_t width) {
  Rng rng(4);
  constexpr std::int64_t most_rows = 15, cols = score_depth - 3;
  const std::int64_t pitch = width + 8;
  std::vector<double> X(most_rows * score_depth);
  std::vector<W> V(static_cast<std::size_t>(cols * width));
  for (double& x : X) x = rng.normal();
  for (W& v : V) v = static_cast<W>(rng.normal());
  std::vector<double> single(static_cast<std::size_t>(most_rows * pitch), 0.5);
  for (std::int64_t i = 0; i < most_rows; ++i) {
    scores(X.data() + i * score_depth, 1, cols, V.data(), width, single.data() + i * pitch, pitch);
    for (std::int64_t j = 0; j < pitch; ++j) {
      double expected = 0.5;
      for (std::int64_t f = 0; j < width && f < cols; ++f) {
        expected += X[static_cast<std::size_t>(i * score_depth + f)] *
                    static_cast<double>(V[static_cast<std::size_t>(f * width + j)]);
      }
      EXPECT_NEAR(single[static_cast<std::size_t>(i * pitch + j)], expected, 1e-12) << i << ", " << j;
    }
  }
  for (std::int64_t rows = 0; rows <= most_rows; ++rows) {
    for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{1}, std::int64_t{50}}) {
      std::vector<double> S(single.size(), 0.5);
      scores(X.data(), rows, cut, V.data(), width, S.data(), pitch);
      scores(X.data() + cut, rows, cols - cut, V.data() + cut * width, width, S.data(), pitch);
      EXPECT_TRUE(std::equal(S.begin(), S.begin() + rows * pitch, single.begin())) << rows << " rows, cut at " << cut;
    }
  }
}

template <class T, class Dots>
void check_dots(const Dots& dots, std::int64_t cols) {
  Rng rng(6);
  constexpr std::int64_t classes = 9;
  const std::int64_t stride = cols + 3;
  std::vector<T> x(static_cast<std::size_t>(cols)), W(static_cast<std::size_t>(classes * stride));
  for (T& value : x) value = static_cast<T>(rng.normal());
  for (T& value : W) value = static_cast<T>(rng.normal());
  const std::vector<std::int32_t> column{8, 0, 3, 4, 1, 7, 2};
  for (std::size_t count = 0; count <= column.size(); ++count) {
    std::vector<double> out(count + 1, 77.0);
    dots(x.data(), cols, W.data(), stride, column.data(), static_cast<std::int64_t>(count), out.data());
    for (std::size_t e = 0; e < count; ++e) {
      double expected = 0.0;
      for (std::int64_t f = 0; f < cols; ++f) {
        expected += static_cast<double>(x[static_cast<std::size_t>(f)]) *
                    static_cast<double>(W[static_cast<std::size_t>(column[e] * stride + f)]);
      }
      EXPECT_NEAR(out[e], expected, sizeof(T) == 4 ? 1e-4 : 1e-12);
    }
    EXPECT_EQ(out.back(), 77.0) << "wrote beyond count";
  }
}

void check_selection(const Kernels& set, std::int64_t m) {
  Rng rng(9);
  std::vector<double> s(static_cast<std::size_t>(m)), delta(s), key(s);
  for (double& x : s) x = std::round(4.0 * rng.normal()) / 4.0;
  for (double& x : delta) x = rng.uniform();
  const std::vector<float> s32(s.begin(), s.end());
  set.keys_f64(s.data(), delta.data(), 1.0, m, 0.0, 1.0, key.data());
  for (std::size_t j = 0; j < s.size(); ++j) EXPECT_EQ(key[j], s[j] + delta[j]);
  set.keys_f32(s32.data(), nullptr, 1.0, m, 0.0, 1.0, key.data());
  for (std::size_t j = 0; j < s.size(); ++j) EXPECT_EQ(key[j], s[j] + 1.0);

  for (const double theta : {-10.0, 0.25, 0.75, 99.0}) {
    double sum = 77.0, expected = 0.0;
    std::int64_t count = 0;
    for (double k : key) {
      if (k - 0.25 > theta) expected += k - 0.25, ++count;
    }
    EXPECT_EQ(set.sum_above(key.data(), m, 0.25, theta, &sum), count);
    EXPECT_NEAR(sum, expected, 1e-12 * static_cast<double>(m));
  }

  std::vector<double> sorted = key;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (const std::int64_t K : {1, 2, 5, 24}) {
    double kth = 0.0;
    EXPECT_EQ(set.bound(key.data(), m, K, &kth), sorted[0]);
    if (K <= m) {
      EXPECT_LE(kth, sorted[static_cast<std::size_t>(K - 1)]);
    }
    std::set<double> lanes;
    for (std::int64_t l = 0; l < std::min(key_lanes, m); ++l) {
      double largest = -INFINITY;
      for (std::int64_t j = l; j < m; j += key_lanes) largest = std::max(largest, key[static_cast<std::size_t>(j)]);
      lanes.insert(largest);
    }
    const auto distinct = static_cast<std::int64_t>(lanes.size());
    EXPECT_EQ(kth, K <= distinct ? *std::next(lanes.rbegin(), K - 1) : -INFINITY);
  }

  for (const double threshold : {-100.0, 1.0, 1.25, 100.0}) {
    std::vector<std::int32_t> picked(s.size()), expected;
    picked.resize(static_cast<std::size_t>(set.pick(key.data(), m, threshold, picked.data())));
    for (std::int64_t j = 0; j < m; ++j) {
      if (key[static_cast<std::size_t>(j)] >= threshold) expected.push_back(static_cast<std::int32_t>(j));
    }
    EXPECT_EQ(picked, expected);
  }
}

template <class T, class Add>
void check_add_rows(Add add, std::int64_t cols) {
  Rng rng(17);
  const std::int64_t stride = cols + 5;
  std::vector<T> X(static_cast<std::size_t>(6 * stride));
  for (T& x : X) x = static_cast<T>(rng.normal());
  const std::vector<std::int64_t> row{5, 0, 2};
  const std::vector<double> factor{0.5, -2.0, 1.25};
  std::vector<T> out(static_cast<std::size_t>(cols) + 1, T(3));
  std::vector<const T*> x;
  for (std::int64_t i = 0; i < 6; ++i) x.push_back(X.data() + i * stride);
  const double squares = add(x.data(), row.data(), factor.data(), 3, cols, out.data());
  double expected = 0.0;
  const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
  for (std::int64_t c = 0; c < cols; ++c) {
    double v = 0.0;
    for (std::size_t e = 0; e < row.size(); ++e) {
      v += factor[e] * static_cast<double>(X[static_cast<std::size_t>(row[e] * stride + c)]);
    }
    EXPECT_NEAR(static_cast<double>(out[static_cast<std::size_t>(c)]), 3.0 + v, tolerance);
    expected += v * v;
  }
  EXPECT_NEAR(squares, expected, tolerance * (1.0 + expected));
  EXPECT_EQ(out.back(), T(3));
}

// Against naive sums; and whatever tile a product is computed in, and wherever its rows begin, its bits are the same.
template <class T, class Out, class Products>
void check_products(Products products, std::int64_t rows, std::int64_t m, std::int64_t d) {
  Rng rng(23);
  const std::int64_t ldx = d + 3, ldw = d + 1, lds = m + 2;
  std::vector<T> X(static_cast<std::size_t>(rows * ldx)), W(static_cast<std::size_t>(m * ldw));
  for (T& x : X) x = static_cast<T>(rng.normal());
  for (T& w : W) w = static_cast<T>(rng.normal());
  std::vector<Out> S(static_cast<std::size_t>(rows * lds), Out(7));
  std::vector<const T*> x, w;
  for (std::int64_t i = 0; i < rows; ++i) x.push_back(X.data() + i * ldx);
  for (std::int64_t j = 0; j < m; ++j) w.push_back(W.data() + j * ldw);
  products(x.data(), rows, w.data(), m, d, S.data(), lds);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < lds; ++j) {
      const Out s = S[static_cast<std::size_t>(i * lds + j)];
      if (j >= m) {
        EXPECT_EQ(s, Out(7)) << "written beyond the product";
        continue;
      }
      double expected = 0.0, size = 1.0;
      for (std::int64_t f = 0; f < d; ++f) {
        const double term = static_cast<double>(X[static_cast<std::size_t>(i * ldx + f)]) *
                            static_cast<double>(W[static_cast<std::size_t>(j * ldw + f)]);
        expected += term;
        size += std::abs(term);
      }
      EXPECT_NEAR(static_cast<double>(s), expected, (sizeof(T) == 4 ? 1e-6 : 1e-15) * size);
      Out alone(0);
      products(&x[static_cast<std::size_t>(i)], 1, &w[static_cast<std::size_t>(j)], 1, d, &alone, 1);
      ASSERT_EQ(alone, s) << "row " << i << ", class " << j;
    }
  }
}

TEST(Kernels, ProductsHaveTheBitsOfTheirTwoVectorsAlone) {
  for (const Kernels* set : runnable()) {
    SCOPED_TRACE(set->name);
    for (const std::int64_t d : {0, 1, 3, 8, 16, 17, 100, 1024, 1030, 2500}) {
      SCOPED_TRACE(d);
      for (const auto& [rows, m] :
           {std::pair{1, 1}, std::pair{3, 5}, std::pair{4, 6}, std::pair{9, 13}, std::pair{67, 2}}) {
        check_products<float, float>(set->products_f32, rows, m, d);
        check_products<float, double>(set->products_f32_f64, rows, m, d);
        check_products<double, double>(set->products_f64, rows, m, d);
      }
    }
  }
}

// Pitches that 32 bits cannot count: address space without memory, of which only the pages that are touched exist.
TEST(Kernels, RowsMayLieMoreThan2ToThe31Apart) {
  constexpr std::int64_t pitch = (std::int64_t{1} << 31) + 7;
  const std::size_t bytes = static_cast<std::size_t>(pitch + 2) * sizeof(float);
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(begin, MAP_FAILED);
  auto* const X = static_cast<float*>(begin);
  X[0] = 1.0f, X[1] = 2.0f, X[pitch] = 3.0f, X[pitch + 1] = 4.0f;
  const std::vector<float> W{1.0f, 10.0f, 100.0f, 1000.0f};
  std::vector<float> S(4);
  products(X, pitch, 2, W.data(), 2, 2, 2, S.data(), 2);
  EXPECT_EQ(S, (std::vector<float>{21.0f, 2100.0f, 43.0f, 4300.0f}));
  products(W.data(), 2, 2, X, pitch, 2, 2, S.data(), 2);
  EXPECT_EQ(S, (std::vector<float>{21.0f, 43.0f, 2100.0f, 4300.0f}));
  munmap(begin, bytes);
}

TEST(Kernels, WidenEveryNumberOf16BitsExactly) {
  for (const Kernels* set : runnable()) {
    SCOPED_TRACE(set->name);
    check_widen<Float16, float>(set->widen_f16_f32);
    check_widen<Float16, double>(set->widen_f16_f64);
    check_widen<BFloat16, float>(set->widen_bf16_f32);
    check_widen<BFloat16, double>(set->widen_bf16_f64);
    for (std::int64_t cols = 0; cols < 150; cols += cols < 20 ? 1 : 13) {
      check_accumulate_halves<Float16, double>(set->accumulate_f16, set->accumulate_f32, cols);
      check_accumulate_halves<Float16, float>(set->accumulate_f16_f32, set->accumulate_f32_f32, cols);
      check_accumulate_halves<BFloat16, double>(set->accumulate_bf16, set->accumulate_f32, cols);
      check_accumulate_halves<BFloat16, float>(set->accumulate_bf16_f32, set->accumulate_f32_f32, cols);
    }
  }
}

TEST(Kernels, AgreeWithNaiveLoops) {
  for (const Kernels* set : runnable()) {
    SCOPED_TRACE(set->name);
    for (const std::int64_t size : {1, 7, 8, 20, 32, 33, 63, 64, 65, 130, 200}) {
      SCOPED_TRACE(size);
      check_accumulate<float, double>(set->accumulate_f32, size);
      check_accumulate<float, float>(set->accumulate_f32_f32, size);
      check_accumulate<double, double>(set->accumulate_f64, size);
      check_less<float, float>(set->less_f32, size);
      check_less<float, double>(set->less_f32_f64, size);
      check_less<double, double>(set->less_f64, size);
      check_add_rows<float>(set->add_rows_f32, size);
      check_add_rows<double>(set->add_rows_f64, size);
      check_scores<float, float, float>(set->sparse_scores_f32, size);
      check_scores<float, float, double>(set->sparse_scores_f32_f32, size);
      check_scores<float, double, double>(set->sparse_scores_f32_f64, size);
      check_scores<double, float, double>(set->sparse_scores_f64_f32, size);
      check_scores<double, double, double>(set->sparse_scores_f64, size);
      check_selection(*set, size);
      check_dots<float>(set->dots_f32, size);
      check_dots<double>(set->dots_f64, size);
    }
    for (const std::int64_t width : {8, 16, 24, 32}) {
      check_tile<float>(set->tile_scores_f32, width);
      check_tile<double>(set->tile_scores_f64, width);
    }
  }
}

// How many units in the last place a is from b.
double units(double a, long double b) {
  const double ulp = std::nextafter(std::abs(static_cast<double>(b)), INFINITY) - std::abs(static_cast<double>(b));
  return static_cast<double>(std::abs(static_cast<long double>(a) - b)) / ulp;
}

TEST(Kernels, ExponentialsAndLogarithmsAreRightToTwoUnits) {
  for (const Kernels* set : runnable()) {
    SCOPED_TRACE(set->name);
    Rng rng(11);
    std::vector<double> x(20003), out(x.size());
    for (std::size_t e = 0; e < x.size(); ++e) {
      x[e] = (rng.uniform() * 2.0 - 1.0) * std::pow(10.0, static_cast<double>(e % 18) - 15.0);
      if (std::abs(x[e]) > 700.0) x[e] = -700.0;
    }
    set->exponentials(x.data(), static_cast<std::int64_t>(x.size()) - 1, out.data());
    for (std::size_t e = 0; e + 1 < x.size(); ++e) {
      if (x[e] == -700.0) continue;
      EXPECT_LE(units(out[e], std::exp(static_cast<long double>(x[e]))), 2.0) << x[e];
    }
    EXPECT_EQ(out.back(), 0.0) << "beyond the end";
    const std::vector<double> edges{0.0, -0.0, -700.1, -1e300, -INFINITY, 1.0};
    set->exponentials(edges.data(), 6, out.data());
    EXPECT_EQ(std::vector<double>(out.begin(), out.begin() + 5), (std::vector<double>{1.0, 1.0, 0.0, 0.0, 0.0}));
    for (std::size_t e = 0; e < x.size(); ++e) {
      x[e] = e % 3 == 0 ? 1.0 + x[e] * 1e-3 : std::exp(std::abs(x[e]) * (e % 2 == 0 ? 1.0 : -1.0));
      if (!(x[e] > 1e-300)) x[e] = 1e-300;
    }
    set->logarithms(x.data(), static_cast<std::int64_t>(x.size()), out.data());
    for (std::size_t e = 0; e < x.size(); ++e) {
      if (x[e] == 1.0) {
        EXPECT_EQ(out[e], 0.0);
      } else {
        EXPECT_LE(units(out[e], std::log(static_cast<long double>(x[e]))), 2.0) << x[e];
      }
    }
    const double zero = 0.0;
    set->logarithms(&zero, 1, out.data());
    EXPECT_TRUE(std::isfinite(out[0]));
  }
}

}  // namespace
}  // namespace topwolf
