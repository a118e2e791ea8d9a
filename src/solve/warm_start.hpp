// A dual from an earlier run as the start of another (docs/maths.md, D3).
#pragma once

#include "solve/solver.hpp"

namespace topwolf {

// Any rows over the classes, one per example, made feasible for the engine's problem and scaled to where the dual is
// largest.
Start warm_start(Engine& engine, const SparseRows& earlier);

// The same for the dual of a problem that differed in lambda alone: the working scores come along.
Start continue_from(Engine& engine, std::unique_ptr<Dual> A, double earlier_lambda);

}  // namespace topwolf
