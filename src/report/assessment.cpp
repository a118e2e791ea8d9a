#include "report/assessment.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/fail.hpp"

namespace topwolf {

namespace {

constexpr std::int64_t widest = 20;

}  // namespace

double Assessment::error_at(std::int64_t k) const {
  // With fewer than k classes every class is among the k best.
  const auto place = static_cast<std::size_t>(std::min(k, static_cast<std::int64_t>(wrong_at.size()))) - 1;
  return rows == 0 ? 0.0 : static_cast<double>(wrong_at[place]) / static_cast<double>(rows);
}

Assessment assess(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y, int threads) {
  const std::int64_t n = X.rows(), m = predictor.m(), K = std::min(widest, m);
  if (static_cast<std::int64_t>(y.size()) != n) fail(ErrorKind::data, "there are {} labels for {} rows", y.size(), n);
  Assessment out;
  out.rows = n;
  out.wrong_at.assign(static_cast<std::size_t>(K), 0);
  for (std::int64_t j = 0; j < m; ++j) out.classes.push_back({static_cast<std::int32_t>(j), 0, 0, 0});
  const TopK top = predictor.top_k(X, K, threads);
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> confused;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t* const best = top.classes.data() + i * K;
    const std::int32_t label = y[static_cast<std::size_t>(i)];
    const std::int64_t rank = std::find(best, best + K, label) - best;  // K: absent
    for (std::int64_t k = 0; k < rank; ++k) ++out.wrong_at[static_cast<std::size_t>(k)];
    ++out.classes[static_cast<std::size_t>(best[0])].said;
    if (label < 0) continue;
    ClassErrors& own = out.classes[static_cast<std::size_t>(label)];
    ++own.rows;
    if (rank == 0) continue;
    ++own.wrong;
    ++confused[{label, best[0]}];
  }
  for (const auto& [pair, rows] : confused) out.confusions.push_back({pair.first, pair.second, rows});
  std::stable_sort(out.confusions.begin(), out.confusions.end(),
                   [](const Confusion& a, const Confusion& b) { return a.rows > b.rows; });
  return out;
}

double majority_error(const std::vector<std::int32_t>& training_y, const std::vector<std::int32_t>& y, std::int64_t m,
                      std::int64_t k) {
  const auto counts_of = [&](const std::vector<std::int32_t>& labels) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(m), 0);
    for (const std::int32_t label : labels) {
      if (label >= 0) ++counts[static_cast<std::size_t>(label)];
    }
    return counts;
  };
  const std::vector<std::int64_t> training = counts_of(training_y), counts = counts_of(y);
  std::vector<std::size_t> order(static_cast<std::size_t>(m));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return training[a] > training[b]; });
  std::int64_t right = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(std::min(k, m)); ++r) right += counts[order[r]];
  return y.empty() ? 0.0 : 1.0 - static_cast<double>(right) / static_cast<double>(y.size());
}

std::vector<std::int64_t> usual_places(std::int64_t m) {
  std::vector<std::int64_t> ks{1, 3, 5, 10};
  std::erase_if(ks, [m](std::int64_t k) { return k > 1 && k >= m; });
  return ks;
}

Interval wilson_interval(double share, std::int64_t rows) {
  constexpr double z = 1.959964;
  if (rows == 0) return {0.0, 1.0};
  const auto n = static_cast<double>(rows);
  const double centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
  const double half = z / (1.0 + z * z / n) * std::sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace topwolf
