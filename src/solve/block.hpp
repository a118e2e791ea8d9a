// Exact block ascent on the dual.
//
// Problem: max D(A) over A in Q^n (D1).
// Kept: A; D(A), as the steps add up and, now and then, anew; the engine's working scores and the rows' shares of the
//   gap (G2), which only the engine looks at.
// A step: an epoch over the examples that still have a share of the gap, in a fresh random order. Each example's alpha
//   is set to its maximiser, all others fixed, in closed form (L6), or moved towards it where its classes are coupled
//   (L8); before every few epochs all free entries take a step together (B1).
// Cost: scores of the rows visited (n m d where nobody rests), and for each row that moves an update of the classes
// that
//   changed.
#pragma once

#include <memory>

#include "solve/solver.hpp"

namespace topwolf {

std::unique_ptr<Solver> make_block_solver(Engine& engine, Start from, const BlockOptions& options);

}  // namespace topwolf
