// The second half of the time is looked at, in two parts. A gap that shrinks as fast in the last part as in the one
// before goes on by that rate; one that shrinks more slowly goes on as a power of the time, which is how Frank-Wolfe
// converges.
#include "report/trend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace topwolf {

void GapTrend::see(double seconds, double relative_gap) {
  if (target_ > 0.0 && relative_gap > 0.0 && std::isfinite(relative_gap))
    points_.push_back({seconds, std::log(relative_gap)});
}

const GapTrend::Point& GapTrend::latest_by(double seconds) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), seconds,
                                      [](double time, const Point& point) { return time < point.seconds; });
  return after == points_.begin() ? *after : *(after - 1);
}

std::optional<double> GapTrend::seconds_left() const {
  constexpr std::size_t fewest = 4;
  constexpr double steady = 0.8, longest_s = 1e7;
  if (points_.size() < fewest) return std::nullopt;
  const Point& now = points_.back();
  const Point& half = latest_by(0.5 * now.seconds);
  const Point& between = latest_by(0.5 * (half.seconds + now.seconds));
  const double left = now.log_gap - std::log(target_), shrunk = half.log_gap - now.log_gap;
  if (left <= 0.0) return 0.0;
  if (!(half.seconds < between.seconds && between.seconds < now.seconds) || !(shrunk > 0.0)) return std::nullopt;
  const double before = (half.log_gap - between.log_gap) / (between.seconds - half.seconds);
  const double lately = (between.log_gap - now.log_gap) / (now.seconds - between.seconds);
  double seconds = left / shrunk * (now.seconds - half.seconds);
  if (lately < steady * before) {
    const double start = std::max(half.seconds, 1e-9 * now.seconds);
    seconds = now.seconds * std::expm1(left / shrunk * std::log(now.seconds / start));
  }
  if (!(seconds <= longest_s)) return std::nullopt;
  return seconds;
}

std::string describe_roughly(double seconds) {
  constexpr double minute = 60.0, hour = 3600.0;
  const double unit = seconds < 1.5 * minute ? 1.0 : seconds < 1.5 * hour ? minute : hour;
  const double number = std::max(1.0, seconds / unit), step = std::pow(10.0, std::floor(std::log10(number)));
  return fmt::format("{:.0f} {}", std::round(number / step) * step, unit == 1.0 ? "s" : unit == minute ? "min" : "h");
}

}  // namespace topwolf
