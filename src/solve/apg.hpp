// Accelerated projected gradient on the dual.
//
// Problem: max D(A) over A in Q^n (D1).
// Kept: A, the A before it and the one that is tried, with their W(A), each summed anew in every pass; the q that
// bounds
//   the curvature along the last steps, and Nesterov's number (A2); the best W that a pass has seen.
// A step: all examples move at once from A_mu = A + mu (A - A_old), and each is projected exactly onto Q (A1, L5).
// Where q
//   was too small the step is refused and q doubled; where the dual did not rise the momentum is dropped.
// Cost: one pass over the rows (n m d) and n projections, whether the step is taken or refused.
#pragma once

#include <memory>

#include "solve/solver.hpp"

namespace topwolf {

std::unique_ptr<Solver> make_apg_solver(Engine& engine, Start from, int threads);

}  // namespace topwolf
