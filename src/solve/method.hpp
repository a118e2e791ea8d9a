// Which solver, on which representation of the scores, and why.
#pragma once

#include <memory>
#include <string>

#include "engine/block_scores.hpp"
#include "solve/solver.hpp"
#include "topwolf/options.hpp"

namespace topwolf {

struct Method {
  std::unique_ptr<BlockScores> scores;  // of the block solver
  std::unique_ptr<Solver> solver;
  std::string name;    // "block", "lsfw", ...
  std::string choice;  // a sentence
};

// The problem and the engine must outlive the method.
Method make_method(const Problem& problem, const TrainOptions& options, Engine& engine, int threads);

}  // namespace topwolf
