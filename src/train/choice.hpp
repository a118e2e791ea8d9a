// Which point of a cross-validation wins, from the errors that are known.
#pragma once

#include <vector>

#include "topwolf/select.hpp"
#include "train/search_table.hpp"

namespace topwolf {

struct Choice {
  std::size_t best = 0, chosen = 0;  // points
  std::vector<char> competes;        // by point
};

// Where there is a fit at all. Only points that were tried on as many folds as any compete.
Choice choose(const SearchTable& table, bool one_standard_error);

// The table as users see it, with the means of what the choice goes by; `grid` ascends. A point that lacks fits and is
// not awaited was dropped.
std::vector<CvPoint> points_of(const SearchTable& table, const SearchTable& counted, const std::vector<char>& awaited,
                               const std::vector<LossSpec>& losses, const std::vector<double>& grid);

}  // namespace topwolf
