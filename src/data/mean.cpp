#include "data/mean.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/threads.hpp"
#include "data/window.hpp"

namespace topwolf {
namespace {

// As in the lengths of plain rows: a square that vanishes counts as the smallest there is.
constexpr double least = std::numeric_limits<double>::min();
double square(double x) {
  return x != 0.0 && x * x < least ? least : x * x;
}

constexpr std::int64_t rows_per_task = 512;
template <class Body>
void for_rows(std::int64_t n, int threads, const Body& body) {
  parallel_for((n + rows_per_task - 1) / rows_per_task, threads, [&](std::int64_t part) {
    const std::int64_t end = std::min(n, (part + 1) * rows_per_task);
    for (std::int64_t i = part * rows_per_task; i < end; ++i) body(i);
  });
}

// Weights are divided first: what is summed is never larger than the largest feature.
double share_of(std::span<const double> omega, double N, std::int64_t i) {
  return (omega.empty() ? 1.0 : omega[static_cast<std::size_t>(i)]) / N;
}

// A sum, and what its additions rounded off: the mean is part of what is certified, and rows may be many.
struct Sums {
  explicit Sums(std::int64_t count) : sum(static_cast<std::size_t>(count), 0.0), lost(sum) {}
  void add(std::int64_t at, double value) {
    double& before = sum[static_cast<std::size_t>(at)];
    const double next = before + value, added = next - before;
    lost[static_cast<std::size_t>(at)] += (before - (next - added)) + (value - added);
    before = next;
  }
  std::vector<double> sum, lost;
};

template <class T>
void add_rows(const DenseView<T>& X, std::span<const double> omega, double N, int threads, Sums& sums) {
  constexpr std::int64_t strip = 128;
  parallel_for((X.cols + strip - 1) / strip, threads, [&](std::int64_t task) {
    const std::int64_t to = std::min(X.cols, (task + 1) * strip);
    for (std::int64_t i = 0; i < X.rows; ++i) {
      const double share = share_of(omega, N, i);
      const T* const x = X.data + i * X.stride;
      for (std::int64_t c = task * strip; c < to; ++c) sums.add(c, share * static_cast<double>(x[c]));
    }
  });
}

template <class T>
void add_rows(const CsrView<T>& X, std::span<const double> omega, double N, int, Sums& sums) {
  for_stored(X,
             [&](std::int64_t i, std::int64_t c, T x) { sums.add(c, share_of(omega, N, i) * static_cast<double>(x)); });
}

// Calls body(w, constant) for the features and the weight of the constant feature of every row of W.
template <class Body>
void for_classes(const std::vector<double>& mean, std::vector<double>& W, const Body& body) {
  const std::size_t d = mean.size();
  for (std::size_t from = 0; from < W.size(); from += d + 1) body(std::span(W).subspan(from, d), W[from + d]);
}

void add_times(const std::vector<double>& mean, double factor, std::span<double> w) {
  for (std::size_t c = 0; c < w.size(); ++c) w[c] += factor * mean[c];
}

}  // namespace

std::vector<double> mean_of(const Features& X, std::span<const double> omega, double N, int threads) {
  Sums sums(X.cols());
  for_windows(X, threads, [&](std::int64_t first, const FeatureView& view) {
    const auto weights = omega.empty() ? omega : omega.subspan(static_cast<std::size_t>(first));
    std::visit([&](const auto& rows) { add_rows(rows, weights, N, threads, sums); }, view);
  });
  for (std::size_t c = 0; c < sums.sum.size(); ++c) sums.sum[c] += sums.lost[c];
  return std::move(sums.sum);
}

std::vector<double> squared_lengths(const FeatureView& view, const std::vector<double>& mean, const Bias& bias,
                                    int threads) {
  long double all = 0.0L;  // ||mean||^2
  for (const double x : mean) all += square(x);
  return std::visit(
      [&]<class View>(const View& X) {
        std::vector<double> out(static_cast<std::size_t>(X.rows));
        for_rows(X.rows, threads, [&](std::int64_t i) {
          // What a row does not store is as far from the mean as 0 is.
          constexpr bool sparse = requires {
            X.row_begin;
          };
          long double sum = sparse ? all : 0.0L, floor = 0.0L;
          for_row(X, i, [&](std::int64_t c, auto value) {
            const double from = mean[static_cast<std::size_t>(c)], x = static_cast<double>(value) - from;
            sum += square(x);
            if (sparse) sum -= square(from);
            floor += value != 0 ? least : 0.0;
          });
          out[static_cast<std::size_t>(i)] = static_cast<double>(std::max(sum, floor)) + bias.product();
        });
        return out;
      },
      view);
}

std::vector<double> squared_lengths(const Features& X, const std::vector<double>& mean, const Bias& bias, int threads) {
  std::vector<double> out;
  for_windows(X, threads, [&](std::int64_t, const FeatureView& rows) {
    const std::vector<double> some = squared_lengths(rows, mean, bias, threads);
    out.insert(out.end(), some.begin(), some.end());
  });
  return out;
}

std::vector<double> products_with(const FeatureView& view, const std::vector<double>& mean, int threads) {
  return std::visit(
      [&](const auto& X) {
        std::vector<double> out(static_cast<std::size_t>(X.rows));
        for_rows(X.rows, threads, [&](std::int64_t i) {
          double sum = 0.0;
          for_row(X, i, [&](std::int64_t c, double x) { sum += x * mean[static_cast<std::size_t>(c)]; });
          out[static_cast<std::size_t>(i)] = sum;
        });
        return out;
      },
      view);
}

void fold(const std::vector<double>& mean, const Bias& bias, std::vector<double>& W) {
  for_classes(mean, W, [&](std::span<const double> w, double& constant) {
    constant -= std::inner_product(w.begin(), w.end(), mean.begin(), 0.0) / bias.value();
  });
}

void take_off(const std::vector<double>& mean, const Bias& bias, std::vector<double>& W) {
  for_classes(mean, W, [&](std::span<double> w, double constant) { add_times(mean, -constant / bias.value(), w); });
}

void put_back(const std::vector<double>& mean, const Bias& bias, std::vector<double>& W) {
  for_classes(mean, W, [&](std::span<double> w, double constant) { add_times(mean, constant / bias.value(), w); });
}

}  // namespace topwolf
