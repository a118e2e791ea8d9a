// Which point of a cross-validation wins, from the errors that are known.
#pragma once

#include <vector>

#include "topwolf/select.hpp"
#include "train/search_table.hpp"

namespace topwolf {

struct Choice {
  std::size_t best = 0, chosen = 0;  // points
};

// Where there is a fit at all. Only points that were tried on as many folds as any compete.
Choice choose(const SearchTable& table, bool one_standard_error);

// The table as users see it; `grid` ascends. A point that lacks fits, none of which is in `needed`, was dropped.
std::vector<CvPoint> points_of(const SearchTable& table, const std::vector<std::size_t>& needed,
                               const std::vector<LossSpec>& losses, const std::vector<double>& grid);

}  // namespace topwolf
