#include "train/grid.hpp"

#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "topwolf/select.hpp"

namespace topwolf {

std::vector<double> log_spaced(double first, double last, std::int64_t count) {
  if (!(first > 0.0 && std::isfinite(last) && last >= first) || count < 1 || (count == 1 && first != last)) {
    fail(ErrorKind::option, "{} values from {} to {} cannot be log-spaced; they must be above 0 and ascend", count,
         first, last);
  }
  std::vector<double> values;
  const double ratio = last / first, low = std::log(first), high = std::log(last);
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = count == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(count - 1);
    values.push_back(i == 0                 ? first
                     : i == count - 1       ? last
                     : std::isfinite(ratio) ? first * std::pow(ratio, share)
                                            : std::exp(low + share * (high - low)));
  }
  return values;
}

std::vector<double> sorted_grid(std::vector<double> grid) {
  if (grid.empty()) fail(ErrorKind::option, "there is no C to try");
  for (const double C : grid) {
    if (!std::isfinite(C) || C <= 0.0)
      fail(ErrorKind::option, "{} is {}, but it must be finite and above 0", Field{"C"}, C);
  }
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

std::string describe_grid(const std::vector<double>& grid) {
  return fmt::format("{}", fmt::join(grid, ","));
}

}  // namespace topwolf
