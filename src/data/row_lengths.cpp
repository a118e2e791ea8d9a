#include "data/row_lengths.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/threads.hpp"

namespace topwolf {
namespace {

// A square that vanishes counts as the smallest there is: a length is part of bounds on rounding and must not be too
// short.
template <class T>
double squared_length(const T* from, const T* to) {
  constexpr double least = std::numeric_limits<double>::min();
  return std::accumulate(from, to, 0.0, [](double sum, T value) {
    const auto x = static_cast<double>(value);
    return sum + (x != 0.0 && x * x < least ? least : x * x);
  });
}

template <class T>
double squared_length(const DenseView<T>& X, std::int64_t i) {
  return squared_length(X.data + i * X.stride, X.data + i * X.stride + X.cols);
}

template <class T>
double squared_length(const CsrView<T>& X, std::int64_t i) {
  return squared_length(X.value + X.row_begin[i], X.value + X.row_begin[i + 1]);
}

}  // namespace

std::vector<double> squared_lengths(const FeatureView& view, double bias, int threads) {
  return std::visit(
      [&](const auto& X) {
        std::vector<double> out(static_cast<std::size_t>(X.rows));
        constexpr std::int64_t piece = 512;
        parallel_for((X.rows + piece - 1) / piece, threads, [&](std::int64_t part) {
          const std::int64_t end = std::min(X.rows, (part + 1) * piece);
          for (std::int64_t i = part * piece; i < end; ++i) {
            out[static_cast<std::size_t>(i)] = squared_length(X, i) + bias * bias;
          }
        });
        return out;
      },
      view);
}

}  // namespace topwolf
