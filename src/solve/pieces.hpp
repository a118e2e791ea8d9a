// Sums over a long vector in fixed pieces, so that the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/threads.hpp"

namespace topwolf {

// The sum of body(from, to) over the pieces.
template <class Body>
double sum_in_pieces(std::int64_t size, int threads, const Body& body) {
  constexpr std::int64_t piece = 1 << 15;
  std::vector<double> parts(static_cast<std::size_t>((size + piece - 1) / piece));
  parallel_for(static_cast<std::int64_t>(parts.size()), threads, [&](std::int64_t p) {
    parts[static_cast<std::size_t>(p)] = body(p * piece, std::min(size, (p + 1) * piece));
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace topwolf
