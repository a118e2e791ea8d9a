#include "selection.hpp"

#include <fmt/format.h>

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

std::string describe_seconds(double seconds) {
  if (seconds < 100.0) return fmt::format("{:.{}f} s", seconds, seconds < 10.0 ? 1 : 0);
  if (seconds < 6000.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return fmt::format("{:.1f} h", seconds / 3600.0);
}

}  // namespace topwolf::cli
