// By blocks of columns: each is first reduced by all columns before it, which is a product of rows of L, then
// factorised by itself. The order of the sums does not depend on the number of threads.
#include "solve/cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "core/threads.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

constexpr std::int64_t block = 32, strip = 64;

// Columns [first, last) of the rows [first, size) less what the columns before them contribute.
void reduce(double* H, std::int64_t size, std::int64_t first, std::int64_t last, int threads) {
  const std::int64_t strips = (size - first + strip - 1) / strip, width = last - first;
  const double work = static_cast<double>(size - first) * static_cast<double>(width) * static_cast<double>(first);
  parallel_for(strips, threads_worth(work, threads), [&](std::int64_t s) {
    const std::int64_t from = first + s * strip, to = std::min(size, from + strip);
    double product[strip * block];
    products(H + from * size, size, to - from, H + first * size, size, width, first, product, block);
    for (std::int64_t i = from; i < to; ++i) {
      double* const row = H + i * size + first;
      for (std::int64_t c = 0; c < width; ++c) row[c] -= product[(i - from) * block + c];
    }
  });
}

// The columns [first, last) of row i, given those of the rows of the block above it.
void eliminate(double* H, std::int64_t size, std::int64_t first, std::int64_t last, std::int64_t i) {
  double* const row = H + i * size;
  for (std::int64_t c = first; c < last; ++c) {
    const double* const other = H + c * size;
    double sum = row[c];
    for (std::int64_t b = first; b < c; ++b) sum -= row[b] * other[b];
    row[c] = sum / other[c];
  }
}

}  // namespace

bool factorise(std::vector<double>& H, std::int64_t size, int threads) {
  double* const L = H.data();
  for (std::int64_t first = 0; first < size; first += block) {
    const std::int64_t last = std::min(size, first + block);
    if (first > 0) reduce(L, size, first, last, threads);
    for (std::int64_t i = first; i < last; ++i) {
      eliminate(L, size, first, i, i);
      double& pivot = L[i * size + i];
      for (std::int64_t b = first; b < i; ++b) pivot -= L[i * size + b] * L[i * size + b];
      if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
      pivot = std::sqrt(pivot);
    }
    const double work = static_cast<double>(size - last) * static_cast<double>(block * block);
    parallel_for((size - last + strip - 1) / strip, threads_worth(work, threads), [&](std::int64_t s) {
      const std::int64_t from = last + s * strip;
      for (std::int64_t i = from; i < std::min(size, from + strip); ++i) eliminate(L, size, first, last, i);
    });
  }
  return true;
}

void solve(const std::vector<double>& L, std::vector<double>& b) {
  const auto size = static_cast<std::int64_t>(b.size());
  for (std::int64_t i = 0; i < size; ++i) {
    double sum = b[static_cast<std::size_t>(i)];
    const double* const row = L.data() + i * size;
    for (std::int64_t k = 0; k < i; ++k) sum -= row[k] * b[static_cast<std::size_t>(k)];
    b[static_cast<std::size_t>(i)] = sum / row[i];
  }
  for (std::int64_t i = size - 1; i >= 0; --i) {
    const double* const row = L.data() + i * size;
    const double value = b[static_cast<std::size_t>(i)] /= row[i];
    for (std::int64_t k = 0; k < i; ++k) b[static_cast<std::size_t>(k)] -= row[k] * value;
  }
}

}  // namespace topwolf
