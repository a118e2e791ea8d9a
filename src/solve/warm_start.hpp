// A dual from an earlier run as the start of another (docs/maths.md, D3).
#pragma once

#include "solve/solver.hpp"

namespace topwolf {

// Any rows over the classes, one per example, made feasible for this problem and scaled to where the dual is largest.
Start warm_start(const Problem& problem, Engine& engine, const SparseRows& earlier, int threads);

// The same for the dual of a problem that differed in lambda alone: the working scores come along.
Start continue_from(const Problem& problem, Engine& engine, DualRows A, double earlier_lambda);

}  // namespace topwolf
