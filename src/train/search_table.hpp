// What the fits of a cross-validation have found, and which of them are still to be made. A point is a loss at a C,
// numbered loss by loss; a chain is a loss on a fold, whose fits follow each other from the smallest C.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/state.hpp"

namespace topwolf {

struct SearchTable {
  SearchTable(std::size_t loss_count, std::size_t C_count, std::size_t fold_count)
      : losses(loss_count),
        Cs(C_count),
        folds(fold_count),
        errors(size(), NAN),
        relative_gaps(size(), NAN),
        seconds(size(), 0.0),
        iterations(size(), 0) {}

  std::size_t points() const { return losses * Cs; }
  std::size_t chains() const { return losses * folds; }
  std::size_t size() const { return points() * folds; }
  std::size_t place(std::size_t point, std::size_t fold) const { return point * folds + fold; }
  std::size_t point_of(std::size_t place) const { return place / folds; }
  std::size_t fold_of(std::size_t place) const { return place % folds; }
  std::size_t C_of(std::size_t place) const { return point_of(place) % Cs; }
  std::size_t chain_of(std::size_t place) const { return point_of(place) / Cs * folds + fold_of(place); }

  bool made(std::size_t place) const { return iterations[place] > 0; }
  std::size_t made_of(std::size_t point) const {
    std::size_t count = 0;
    for (std::size_t f = 0; f < folds; ++f) count += made(place(point, f)) ? 1 : 0;
    return count;
  }
  void forget(std::size_t place) {
    errors[place] = relative_gaps[place] = NAN;
    seconds[place] = 0.0;
    iterations[place] = 0;
  }

  void exchange(State& state) {
    const auto count = static_cast<std::int64_t>(size());
    state("errors", errors, {count});
    state("relative_gaps", relative_gaps, {count});
    state("fit_seconds", seconds, {count});
    state("iterations", iterations, {count});
  }

  std::size_t losses, Cs, folds;
  std::vector<double> errors, relative_gaps, seconds;  // (points x folds)
  std::vector<std::int64_t> iterations;                // the same; 0 where there was no fit
};

// The places of the fits that are needed, made or not, in the order in which one worker would make them: C by C, loss
// by loss, fold by fold. With `drops`, errors being at least 0, a point whose errors so far add up to more than those
// of a point that is complete is needed no longer, unless a later fit of a chain starts from it: then it comes right
// before that one. Errors that are not known yet drop nothing, so that the answer when all are known is that of one
// worker, whoever made the fits.
std::vector<std::size_t> needed_fits(const SearchTable& table, bool drops);

}  // namespace topwolf
