#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/strict_json.hpp"

namespace topwolf {

namespace {

constexpr double width = 560, height = 340, left = 68, right = 16, top = 34, bottom = 52;
// How many series have a colour of their own: the page's style gives .s0 to .s5 theirs.
constexpr std::size_t most_colours = 6;

// Where a value lies on an axis, and which values are marked.
class Ruler {
 public:
  Ruler(const Plot::Axis& axis, double low, double high, double from, double to)
      : log_(axis.scale == Plot::Scale::log), from_(from), to_(to) {
    low_ = log_ ? std::log10(low) : (axis.from_zero ? std::min(0.0, low) : low);
    high_ = log_ ? std::log10(high) : high;
    if (log_) low_ = std::floor(low_ + 1e-9), high_ = std::ceil(high_ - 1e-9);
    if (!(high_ > low_)) {
      if (low_ < 0.0) low_ -= 1.0;  // what is never negative is not shown so
      high_ += 1.0;
    }
    if (!log_) round_outwards(axis.integers);
  }

  double place(double value) const {
    const double at = log_ ? std::log10(value) : value;
    return from_ + (at - low_) / (high_ - low_) * (to_ - from_);
  }

  struct Tick {
    double value;
    std::string text;
  };
  std::vector<Tick> ticks() const {
    std::vector<Tick> out;
    const double step = log_ ? std::max(1.0, std::ceil((high_ - low_) / 8.0)) : step_;
    const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    for (double at = low_; at <= high_ + 0.01 * step; at += step) {
      if (log_) {
        out.push_back({std::pow(10.0, at), fmt::format("1e{:.0f}", at)});
      } else {
        const double value = std::abs(at) < 0.01 * step ? 0.0 : at;
        out.push_back({value, fmt::format("{:.{}f}", value, decimals)});
      }
    }
    return out;
  }

 private:
  // Steps of 1, 2 or 5 times a power of ten, about five of them.
  void round_outwards(bool integers) {
    const double rough = (high_ - low_) / 5.0, power = std::pow(10.0, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
      step_ = factor * power;
      if (step_ >= rough * (1.0 - 1e-9)) break;
    }
    if (integers) step_ = std::max(1.0, step_);
    low_ = step_ * std::floor(low_ / step_ + 1e-9);
    high_ = step_ * std::ceil(high_ / step_ - 1e-9);
  }

  bool log_;
  double from_, to_, low_, high_, step_ = 1.0;
};

bool shown(double value, const Plot::Axis& axis) {
  return std::isfinite(value) && (axis.scale == Plot::Scale::linear || value > 0.0);
}

}  // namespace

std::string escape_markup(std::string_view text) {
  const bool valid = is_utf8(std::string(text));
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (byte < 0x20 && c != '\n' && c != '\t') {
      out += "\xef\xbf\xbd";  // the replacement character
    } else if (byte >= 0x80 && !valid) {
      out += "\xef\xbf\xbd";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Plot::svg() const {
  std::array low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  std::array high{-low[0], -low[1]};
  std::vector<Points> kept;
  for (const Series& series : series_) {
    Points& points = kept.emplace_back();
    for (std::size_t p = 0; p < series.points.size(); ++p) {
      const auto [x, y] = series.points[p];
      if (!shown(x, x_) || !shown(y, y_)) continue;
      points.emplace_back(x, y);
      const double reach = series.reach.empty() ? 0.0 : series.reach[p];
      low = {std::min(low[0], x), std::min(low[1], y - reach)};
      high = {std::max(high[0], x), std::max(high[1], y + reach)};
    }
  }
  if (!(low[0] <= high[0])) low = {1.0, 1.0}, high = {1.0, 1.0};
  const Ruler x(x_, low[0], high[0], left, width - right), y(y_, low[1], high[1], height - bottom, top);

  std::string out = fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n"
      "<text x=\"{3}\" y=\"18\" class=\"title\">{2}</text>\n",
      width, height, escape_markup(title_), left);
  for (const auto& [value, text] : x.ticks()) {
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" class=\"tick\" text-anchor=\"middle\">{4}</text>\n",
        x.place(value), top, height - bottom, height - bottom + 17, text);
  }
  for (const auto& [value, text] : y.ticks()) {
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" class=\"tick\" text-anchor=\"end\">{5}</text>\n",
        left, width - right, y.place(value), left - 6, y.place(value) + 4, text);
  }
  out += fmt::format(
      "<text x=\"{}\" y=\"{}\" class=\"tick\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(14 {}) rotate(-90)\" class=\"tick\" text-anchor=\"middle\">{}</text>\n",
      0.5 * (left + width - right), height - 14, escape_markup(x_.label), 0.5 * (top + height - bottom),
      escape_markup(y_.label));
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const std::string colour = fmt::format("s{}", s % most_colours);
    if (series_[s].joined) {
      out += fmt::format("<polyline class=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"{} points=\"",
                         colour, s % 2 == 1 ? " stroke-dasharray=\"6 3\"" : "");
      for (const auto& [px, py] : kept[s]) out += fmt::format("{:.1f},{:.1f} ", x.place(px), y.place(py));
      out += "\"/>\n";
    }
    for (std::size_t p = 0; p < series_[s].reach.size(); ++p) {
      const auto [px, py] = series_[s].points[p];
      out += fmt::format(
          "<line class=\"bar {3}\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
          "stroke=\"currentColor\"/>",
          x.place(px), y.place(py - series_[s].reach[p]), y.place(py + series_[s].reach[p]), colour);
    }
    // A line of many points needs no marks.
    if (!series_[s].joined || kept[s].size() <= 40) {
      for (const auto& [px, py] : kept[s]) {
        out += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"{}\" fill=\"currentColor\" fill-opacity=\"0.7\"/>",
            x.place(px), y.place(py), colour);
      }
      out += "\n";
    }
    if (series_.size() > 1) {
      out += fmt::format(
          "<rect x=\"{0}\" y=\"{1}\" width=\"10\" height=\"10\" class=\"{2}\" fill=\"currentColor\"/>"
          "<text x=\"{3}\" y=\"{4}\" class=\"tick\" text-anchor=\"end\">{5}</text>\n",
          width - right - 12, top + 6 + 19 * static_cast<double>(s), colour, width - right - 18,
          top + 15 + 19 * static_cast<double>(s), escape_markup(series_[s].name));
    }
  }
  return out + "</svg>\n";
}

}  // namespace topwolf
