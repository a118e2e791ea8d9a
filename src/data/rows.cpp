#include "data/rows.hpp"

#include <algorithm>
#include <limits>

#include "core/threads.hpp"

namespace topwolf {

// A square that vanishes counts as the smallest there is: a length is part of bounds on rounding and must not be too
// short. Zeros add nothing, so that sparse rows and the same rows made dense have the same bits.
std::vector<double> squared_lengths(const FeatureView& view, const Bias& bias, int threads) {
  constexpr double least = std::numeric_limits<double>::min();
  return std::visit(
      [&](const auto& X) {
        std::vector<double> out(static_cast<std::size_t>(X.rows));
        constexpr std::int64_t piece = 512;
        parallel_for((X.rows + piece - 1) / piece, threads, [&](std::int64_t part) {
          const std::int64_t end = std::min(X.rows, (part + 1) * piece);
          for (std::int64_t i = part * piece; i < end; ++i) {
            double sum = 0.0;
            for_row(X, i, [&](std::int64_t, auto value) {
              const auto x = static_cast<double>(value);
              sum += x != 0.0 && x * x < least ? least : x * x;
            });
            out[static_cast<std::size_t>(i)] = sum + bias.product();
          }
        });
        return out;
      },
      view);
}

}  // namespace topwolf
