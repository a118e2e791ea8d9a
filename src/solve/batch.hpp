// The batch methods: Frank-Wolfe with line search (LSFW), with the standard step (StdFW), and Pegasos' projected
// gradient (PG), which differ in a step rule.
//
// Problem: max D(A) over A in Q^n (D1).
// Kept: W = W(A) and the sum of <c, alpha>, mixed with those of the directions, and a bound on how far rounding can
// have
//   driven W away (G1); A itself only with smoothing, or where somebody asked for it; the best W that a pass has seen.
// A step: every example's direction u at its scores (F1, F4), then A <- (1 - gamma) A + gamma U with gamma from the
// line
//   search (F2), 2 / (t + 1), or 1 / t and back onto a ball (F3).
// Cost: one pass over the rows (n m d), and W(U) from at most K + 1 entries a row.
#pragma once

#include <memory>

#include "solve/solver.hpp"

namespace topwolf {

enum class StepRule {
  line_search,  // F2, F4
  standard,     // 2 / (t + 1)
  harmonic,     // 1 / t
};

struct BatchOptions {
  StepRule rule = StepRule::line_search;
  Direction direction = Direction::vertex;
  bool ball = false;       // scale onto ||W|| <= sqrt(P(0) / lambda) after each step (F3)
  bool keep_dual = false;  // hold A even where the method does not need it
  int threads = 1;
};

inline constexpr BatchOptions lsfw_options{};
inline constexpr BatchOptions stdfw_options{.rule = StepRule::standard};
inline constexpr BatchOptions pg_options{.rule = StepRule::harmonic, .direction = Direction::gradient, .ball = true};

// The methods whose first step forgets where they were (StdFW, PG) refuse a start.
std::unique_ptr<Solver> make_batch_solver(Engine& engine, Start from, const BatchOptions& options);

}  // namespace topwolf
