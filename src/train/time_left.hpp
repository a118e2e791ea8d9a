// How long fits will take, from those that were made. Guesses: nothing but a limit's room and a line on the terminal
// depends on them.
#pragma once

#include <optional>
#include <vector>

#include "train/search_table.hpp"

namespace topwolf {

// One fit at every C, which ascend, where `known` has NaN. Beyond what is known the time goes on as the last few have
// gone: as a power of C, whose exponent is held near to what is usual while there is little to tell it from.
std::vector<double> expected_seconds(const std::vector<double>& C, const std::vector<double>& known);

// The same for every point of a search. None before two values of C, where there are two, have been seen: one does not
// tell how the time grows.
std::optional<std::vector<double>> expected_seconds(const SearchTable& table, const std::vector<double>& C);

// A fit to all rows at a point, some fits of which were made. It starts from nothing, as the folds did at the first C:
// so it may take what they took from there to here, and `growth` times that for its being so many times larger.
double refit_seconds(const SearchTable& table, std::size_t point, double growth);

}  // namespace topwolf
