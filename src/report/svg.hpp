// A small plot as inline SVG: axes, ticks, lines and points, readable in print and without scripts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace topwolf {

// Text for HTML and SVG: markup characters escaped, bytes that are not UTF-8 replaced.
std::string escape_markup(std::string_view text);

class Plot {
 public:
  enum class Scale { linear, log };
  struct Axis {
    std::string label;
    Scale scale = Scale::linear;
    bool from_zero = false;
    bool integers = false;  // values are counts: no ticks between them
  };
  using Points = std::vector<std::pair<double, double>>;

  Plot(std::string title, Axis x, Axis y) : title_(std::move(title)), x_(std::move(x)), y_(std::move(y)) {}
  // Points that a log axis cannot show are left out.
  void add_line(std::string name, Points points) { series_.push_back({std::move(name), std::move(points), true}); }
  void add_points(std::string name, Points points) { series_.push_back({std::move(name), std::move(points), false}); }
  // A line whose points have bars that reach so far up and down.
  void add_bars(std::string name, Points points, std::vector<double> reach) {
    series_.push_back({std::move(name), std::move(points), true, std::move(reach)});
  }

  std::string svg() const;

 private:
  struct Series {
    std::string name;
    Points points;
    bool joined;
    std::vector<double> reach{};  // of the bars; empty: none
  };
  std::string title_;
  Axis x_, y_;
  std::vector<Series> series_;
};

}  // namespace topwolf
