#include "data/check_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/fingerprint.hpp"
#include "data/rows.hpp"
#include "data/window.hpp"

namespace topwolf {
namespace {

template <class T>
void check_layout(const DenseView<T>&, std::int64_t = 0) {}

// Views come from callers' arrays, and the engines index W by their columns without a look.
template <class T>
void check_layout(const CsrView<T>& X, std::int64_t first = 0) {
  for (std::int64_t i = 0; i < X.rows; ++i) {
    std::int64_t before = -1;
    for_row(X, i, [&](std::int64_t column, T) {
      if (column <= before || column >= X.cols) {
        fail(ErrorKind::data, "row {} names column {} after {}, but columns ascend from 0 to {}", first + i + 1, column,
             before, X.cols - 1);
      }
      before = column;
    });
  }
}

// "file: ", or nothing where the numbers came from memory.
std::string prefix(const std::string& source) {
  return source.empty() ? "" : source + ": ";
}

void check_margin(double value, std::int64_t i, std::int64_t j, std::int64_t y, const std::string& source) {
  if (!std::isfinite(value) || value < 0.0) {
    fail(ErrorKind::data, "{}the margins must be finite and at least 0, but row {}, column {} is {}", prefix(source),
         i + 1, j + 1, value);
  }
  if (j == y && value != 0.0) {
    fail(ErrorKind::data, "{}a row's margin to its own class must be 0, but row {}, column {} is {}", prefix(source),
         i + 1, j + 1, value);
  }
}

// Of the rows from `first` on, to the lengths of those before them.
void check_rows(std::int64_t first, const FeatureView& view, int threads, const std::string& source,
                std::vector<double>& all) {
  std::visit([&](const auto& X) { check_layout(X, first); }, view);
  // The length of a row is finite exactly if all of it is: one scan finds NaN, infinity and squares that overflow.
  std::vector<double> lengths2 = squared_lengths(view, 0.0, resolve_threads(threads));
  const auto bad = std::find_if_not(lengths2.begin(), lengths2.end(), [](double x) { return std::isfinite(x); });
  if (bad != lengths2.end()) {
    fail(ErrorKind::data, "{}row {} holds a number that is not finite, or too large to be squared", prefix(source),
         first + (bad - lengths2.begin()) + 1);
  }
  all.insert(all.end(), lengths2.begin(), lengths2.end());
}

}  // namespace

std::vector<double> check_features(const Features& X, int threads, const std::string& source) {
  std::vector<double> lengths2;
  lengths2.reserve(static_cast<std::size_t>(X.rows()));
  for_windows(X, resolve_threads(threads),
              [&](std::int64_t first, const FeatureView& rows) { check_rows(first, rows, threads, source, lengths2); });
  return lengths2;
}

void check_labels(const std::vector<std::int32_t>& y, std::int64_t n, std::int64_t m) {
  if (static_cast<std::int64_t>(y.size()) != n) {
    fail(ErrorKind::data, "there are {} labels for {} rows", y.size(), n);
  }
  for (std::int32_t label : y) {
    if (label < 0 || label >= m) fail(ErrorKind::data, "a class number is {}, outside 0 .. {}", label, m - 1);
  }
}

void check_weights(const std::vector<double>& weights, std::int64_t n) {
  if (weights.empty()) return;
  if (static_cast<std::int64_t>(weights.size()) != n) {
    fail(ErrorKind::data, "there are {} weights for {} rows", weights.size(), n);
  }
  for (double weight : weights) {
    if (!std::isfinite(weight) || weight < 0.0) {
      fail(ErrorKind::data, "an example weight is {}, but weights must be finite and at least 0", weight);
    }
  }
  // N divides every objective (ledger, D4).
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sum <= 0.0) fail(ErrorKind::data, "all example weights are 0");
  if (!std::isfinite(sum)) fail(ErrorKind::data, "the example weights add up to more than a double holds");
  // Their sum divides sums of losses, which must keep their precision.
  constexpr double least = 1e-100, most = 1e100;
  const double largest = *std::max_element(weights.begin(), weights.end());
  if (largest < least || largest > most) {
    fail(ErrorKind::data, "the largest example weight is {}, but it must lie between {} and {}: scale all weights",
         largest, least, most);
  }
}

void check_margins(const Margins& margins, const std::vector<std::int32_t>& y, std::int64_t m) {
  if (!margins.given()) return;
  const auto n = static_cast<std::int64_t>(y.size());
  if (margins.values.rows() != n || margins.values.cols() != m) {
    fail(ErrorKind::data, "the margins have {} rows and {} columns, but {} rows with {} classes need {} x {}",
         margins.values.rows(), margins.values.cols(), n, m, n, m);
  }
  if (margins.values.precision() != Precision::float64) fail(ErrorKind::data, "the margins must be float64 numbers");
  if (!std::isfinite(margins.other) || margins.other < 0.0) {
    fail(ErrorKind::data, "the margin of what is not stored is {}, but it must be finite and at least 0",
         margins.other);
  }
  std::visit(
      [&](const auto& view) {
        check_layout(view);
        for_stored(view, [&](std::int64_t i, std::int64_t j, double value) {
          check_margin(value, i, j, y[static_cast<std::size_t>(i)], margins.source);
        });
      },
      margins.values.view());
}

void check_class_features(const Features& phi, std::int64_t m) {
  if (phi.rows() == 0) return;
  if (phi.rows() != m) fail(ErrorKind::data, "there are features of {} classes, but {} classes", phi.rows(), m);
  if (phi.cols() == 0) fail(ErrorKind::data, "the classes have no features");
  if (phi.precision() != Precision::float64) fail(ErrorKind::data, "class features must be float64 numbers");
  std::visit([](const auto& view) { check_layout(view); }, phi.view());
  const auto lengths2 = squared_lengths(phi.view(), 0.0, 1);
  const auto bad = std::find_if_not(lengths2.begin(), lengths2.end(), [](double x) { return std::isfinite(x); });
  if (bad != lengths2.end()) {
    fail(ErrorKind::data, "class {} has a feature that is not finite, or too large to be squared",
         bad - lengths2.begin() + 1);
  }
}

std::vector<double> check_dataset(const Dataset& data, int threads, std::string* hash) {
  const std::int64_t n = data.X.rows(), m = data.classes.size();
  if (n == 0) fail(ErrorKind::data, "there are no rows to train on");
  check_labels(data.y, n, m);
  std::vector<double> lengths2;
  if (hash) {
    lengths2.reserve(static_cast<std::size_t>(n));
    *hash = fingerprint(data, [&](std::int64_t first, const FeatureView& rows) {
      check_rows(first, rows, threads, data.source, lengths2);
    });
  } else {
    lengths2 = check_features(data.X, threads, data.source);
  }
  check_weights(data.weights, n);
  check_margins(data.margins, data.y, m);
  check_class_features(data.class_features, m);
  return lengths2;
}

}  // namespace topwolf
