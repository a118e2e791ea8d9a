// How long a fit may still take, by how its relative gap has shrunk. A guess for people: nothing is decided by it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace topwolf {

class GapTrend {
 public:
  // target: the relative gap at which the fit ends; 0 or less where that is not known, and then there is no guess.
  explicit GapTrend(double target) : target_(target) {}
  void see(double seconds, double relative_gap);
  // Nothing before there is a trend, nor where the gap does not shrink.
  std::optional<double> seconds_left() const;

 private:
  struct Point {
    double seconds, log_gap;
  };
  const Point& latest_by(double seconds) const;

  double target_;
  std::vector<Point> points_;
};

// A guess in words, to one digit: "3 s", "20 min", "2 h".
std::string describe_roughly(double seconds);

}  // namespace topwolf
