#include "selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "terminal.hpp"

namespace topwolf::cli {

void StatusLine::show(const std::string& text, double seconds, bool milestone) {
  if (quiet_) return;
  if (!progress_style().live) {
    if (milestone) narrate(text + "\n");
    return;
  }
  constexpr double interval_s = 0.1;
  if (!milestone && seconds - last_s_ < interval_s) return;
  last_s_ = seconds;
  narrate(fmt::format("\r{:<{}}", text, width_));
  width_ = text.size();
}

void StatusLine::clear() {
  if (width_ > 0) narrate(fmt::format("\r{:{}}\r", "", width_));
  width_ = 0;
}

std::string describe_roughly(double seconds) {
  constexpr double minute = 60.0, hour = 3600.0;
  const double unit = seconds < 1.5 * minute ? 1.0 : seconds < 1.5 * hour ? minute : hour;
  const double number = std::max(1.0, seconds / unit), step = std::pow(10.0, std::floor(std::log10(number)));
  return fmt::format("{:.0f} {}", std::round(number / step) * step, unit == 1.0 ? "s" : unit == minute ? "min" : "h");
}

std::string describe_seconds(double seconds) {
  if (seconds < 100.0) return fmt::format("{:.{}f} s", seconds, seconds < 10.0 ? 1 : 0);
  if (seconds < 6000.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return fmt::format("{:.1f} h", seconds / 3600.0);
}

}  // namespace topwolf::cli
