#include "train/search_table.hpp"

#include <algorithm>
#include <limits>

namespace topwolf {

std::vector<std::size_t> needed_fits(const SearchTable& table, bool drops) {
  constexpr double rounding = 1e-9;  // relative: equal errors may add up to different numbers
  const std::size_t folds = table.folds;
  std::vector<std::size_t> needed, next(table.chains(), 0);  // of each chain, the C it comes to next
  double lowest = std::numeric_limits<double>::infinity();   // sum of errors of a complete point
  for (std::size_t c = 0; c < table.Cs; ++c) {
    for (std::size_t l = 0; l < table.losses; ++l) {
      double sum = 0.0;
      std::size_t known = 0;
      for (std::size_t f = 0; f < folds; ++f) {
        if (drops && sum > lowest * (1.0 + rounding) + rounding) break;
        for (std::size_t& at = next[l * folds + f]; at <= c; ++at) {
          needed.push_back(table.place(l * table.Cs + at, f));
        }
        const std::size_t place = table.place(l * table.Cs + c, f);
        if (!table.made(place)) continue;
        sum += table.errors[place];
        ++known;
      }
      if (known == folds) lowest = std::min(lowest, sum);
    }
  }
  return needed;
}

}  // namespace topwolf
