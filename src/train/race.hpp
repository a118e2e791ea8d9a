// Which fits of a cross-validation are made where many losses are to choose from and time counts: a race.
#pragma once

#include <vector>

#include "train/search_table.hpp"

namespace topwolf {

struct Race {
  std::vector<std::size_t> needed;  // places, made or not, in the order in which one worker would make them
  std::vector<std::size_t> later;   // a guess at those of the rounds to come: if the order stays what it is
  std::vector<char> running;        // of the points, whether it is still in the race
  std::size_t rounds = 0;           // that are complete
};

// A round is a fold, C by C and loss by loss. After it the points with the lower errors on the folds so far stay, half
// of them but never fewer than four; of equals the first. So every point is tried once before any is tried twice, and
// all of it costs two to three folds of everything. A fit starts from the one before it in its chain: the
// smaller C of a loss that is in the race are fitted, too. The answer does not depend on who made the fits.
Race race(const SearchTable& table);

}  // namespace topwolf
