// Which solver, on which representation of the scores, and why; what that takes, and whether it is there.
#pragma once

#include <memory>
#include <string>

#include "core/memory.hpp"
#include "solve/footprint.hpp"
#include "solve/solver.hpp"
#include "topwolf/options.hpp"

namespace topwolf {

struct Method {
  std::string name;    // "block", "lsfw", ...
  std::string choice;  // a sentence
  SolverName solver;   // never automatic
  bool gram = false;   // block: scores from the Gram matrix
  double bytes = 0.0;  // that training takes besides the rows
  WindowPlan windows;  // 0 bytes: the rows are in memory
  ProcessMemory memory;
  Sentence remedy;  // where that is more than is available; else empty
};

// For problems of this size: lambda, the loss and the weights may change afterwards. Each worker has a part of the
// memory to itself, and the Gram matrix is everybody's.
Method choose_method(const Workload& work, const TrainOptions& options, const ProcessMemory& memory);

// The same for rows that are on disk, where the process may take so many bytes in all: their windows, too.
Method choose_method_on_disk(const Workload& work, const TrainOptions& options, double memory);

// With a psi of one's own, about whose size nothing is known.
Method joint_method(const TrainOptions& options);

// Error{memory} with the figures and the remedy, where there is one.
void check_memory(const Method& method);

// For the engine's problem; the engine must outlive the solver.
std::unique_ptr<Solver> make_solver(SolverName name, const TrainOptions& options, Engine& engine, Start from,
                                    int threads);

}  // namespace topwolf
