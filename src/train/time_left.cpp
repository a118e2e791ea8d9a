#include "train/time_left.hpp"

#include <algorithm>
#include <cmath>

namespace topwolf {
namespace {

// log(seconds) against log(C).
struct Line {
  double x, y, slope;
  double operator()(double log_C) const { return std::exp(y + slope * (log_C - x)); }
};

// Through the last of the points, with the slope of the last few. The usual slope, 1/2, counts as much as two points
// that are a factor of 10 apart: small fits take a few milliseconds, and their times scatter.
Line trend(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr std::size_t most = 3;
  constexpr double usual = 0.5, weight = 2.65;  // (log 10)^2 / 2
  const std::size_t count = std::min(most, x.size()), first = x.size() - count;
  double mean_x = 0.0, mean_y = 0.0;
  for (std::size_t i = first; i < x.size(); ++i) mean_x += x[i], mean_y += y[i];
  mean_x /= static_cast<double>(count);
  mean_y /= static_cast<double>(count);
  double xx = weight, xy = weight * usual;
  for (std::size_t i = first; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return {x.back(), y.back(), std::clamp(xy / xx, 0.0, 1.0)};
}

// The mean of the fits of a point; NaN where there are none.
double mean_seconds(const SearchTable& table, std::size_t point) {
  double sum = 0.0;
  for (std::size_t f = 0; f < table.folds; ++f) sum += table.seconds[table.place(point, f)];
  return sum / static_cast<double>(table.made_of(point));
}

}  // namespace

std::vector<double> expected_seconds(const std::vector<double>& C, const std::vector<double>& known) {
  constexpr double shortest = 0.01;  // below it times are of threads that wake up, and tell nothing about C
  std::vector<double> x, y, out = known;
  for (std::size_t c = 0; c < C.size(); ++c) {
    if (std::isnan(known[c])) continue;
    x.push_back(std::log(C[c]));
    y.push_back(std::log(std::max(shortest, known[c])));
  }
  if (x.empty()) return out;
  const Line line = trend(x, y);
  for (std::size_t c = 0; c < C.size(); ++c) {
    if (std::isnan(out[c])) out[c] = line(std::log(C[c]));
  }
  return out;
}

std::optional<std::vector<double>> expected_seconds(const SearchTable& table, const std::vector<double>& C) {
  std::vector<double> any(table.Cs, NAN), out;  // any: a loss about which nothing is known takes what others take
  std::size_t seen = 0;
  for (std::size_t c = 0; c < table.Cs; ++c) {
    double sum = 0.0, count = 0.0;
    for (std::size_t l = 0; l < table.losses; ++l) {
      const double mean = mean_seconds(table, l * table.Cs + c);
      if (!std::isnan(mean)) sum += mean, count += 1.0;
    }
    if (count > 0.0) any[c] = sum / count, ++seen;
  }
  if (seen < std::min<std::size_t>(2, table.Cs)) return std::nullopt;
  for (std::size_t l = 0; l < table.losses; ++l) {
    std::vector<double> known;
    for (std::size_t c = 0; c < table.Cs; ++c) known.push_back(mean_seconds(table, l * table.Cs + c));
    const bool none = std::all_of(known.begin(), known.end(), [](double s) { return std::isnan(s); });
    const std::vector<double> all = expected_seconds(C, none ? any : known);
    out.insert(out.end(), all.begin(), all.end());
  }
  return out;
}

double refit_seconds(const SearchTable& table, std::size_t point, double growth) {
  double sum = 0.0;
  for (std::size_t p = point - point % table.Cs; p <= point; ++p) {
    const double mean = mean_seconds(table, p);
    if (!std::isnan(mean)) sum += mean;
  }
  return growth * sum;
}

}  // namespace topwolf
