// Which solver, on which representation of the scores, and why.
#pragma once

#include <memory>
#include <string>

#include "engine/block_scores.hpp"
#include "solve/solver.hpp"
#include "topwolf/options.hpp"

namespace topwolf {

struct Method {
  std::string name;    // "block", "lsfw", ...
  std::string choice;  // a sentence
  SolverName solver;   // never automatic
  bool gram = false;   // block: scores from the Gram matrix
};

// For a problem of this shape: lambda, the loss and the weights may change afterwards. Each of `workers` problems that
// are solved at the same time has a part of the memory to itself, and the Gram matrix is everybody's.
Method choose_method(const Problem& problem, const TrainOptions& options, int workers = 1);

// The problem, the engine and the scores, which only block needs, must outlive the solver.
std::unique_ptr<Solver> make_solver(const Method& method, const Problem& problem, const TrainOptions& options,
                                    Engine& engine, BlockScores* scores, int threads);

}  // namespace topwolf
