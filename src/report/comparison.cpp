#include "report/comparison.hpp"

#include <algorithm>
#include <cmath>

namespace topwolf {

bool Contender::right(std::int64_t i, std::int32_t label, std::int64_t k) const {
  const std::int32_t* const row = best.data() + i * K;
  return std::find(row, row + std::min(k, K), label) != row + std::min(k, K);
}

double Comparison::error(std::size_t contender, std::int64_t k) const {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    wrong += contenders[contender].right(static_cast<std::int64_t>(i), y[i], k) ? 0 : 1;
  return y.empty() ? 0.0 : static_cast<double>(wrong) / static_cast<double>(y.size());
}

PairedDifference paired_difference(std::int64_t only_a, std::int64_t only_b, std::int64_t rows) {
  constexpr double z = 1.959964;
  const auto n = static_cast<double>(rows), a = static_cast<double>(only_a), b = static_cast<double>(only_b);
  // Half a row is added to each of the four cells, so that few rows, or none, that differ give no interval of length 0.
  const double centre = (a - b) / (n + 2.0), spread = std::sqrt(a + b + 1.0 - (a - b) * (a - b) / (n + 2.0));
  const double half = z * spread / (n + 2.0);
  return {only_a, only_b, rows == 0 ? 0.0 : (a - b) / n, std::max(-1.0, centre - half), std::min(1.0, centre + half)};
}

PairedDifference paired_difference(const Comparison& comparison, std::size_t a, std::size_t b, std::int64_t k) {
  std::int64_t only_a = 0, only_b = 0;
  for (std::size_t i = 0; i < comparison.y.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const bool right_a = comparison.contenders[a].right(row, comparison.y[i], k);
    const bool right_b = comparison.contenders[b].right(row, comparison.y[i], k);
    only_a += right_a && !right_b ? 1 : 0;
    only_b += right_b && !right_a ? 1 : 0;
  }
  return paired_difference(only_a, only_b, static_cast<std::int64_t>(comparison.y.size()));
}

std::vector<std::int64_t> rows_alone_right(const Comparison& comparison, std::size_t contender) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < comparison.y.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const auto right = std::count_if(comparison.contenders.begin(), comparison.contenders.end(),
                                     [&](const Contender& one) { return one.right(row, comparison.y[i], 1); });
    if (right == 1 && comparison.contenders[contender].right(row, comparison.y[i], 1)) rows.push_back(row);
  }
  return rows;
}

}  // namespace topwolf
