// One example at a time, from the definitions: the loss, an upper bound on its envelope, and how far a dual row lies
// outside its set (docs/maths.md). Slow on purpose; shares no code with src/loss, src/engine or src/solve.
#pragma once

#include <cstdint>
#include <span>

#include "topwolf/loss.hpp"

namespace topwolf {

// One example: its margins delta and scores s (m each), and its class y. delta[y] = 0.
struct RowProblem {
  std::span<const double> delta;
  std::span<const double> s;
  std::int64_t y = 0;
};

// Phi(s), by a full sort. Ignores smoothing.
double plain_loss(const Loss& loss, const RowProblem& row);

// The loss with its smoothing. Where smoothing > 0 the number returned is a proven upper bound on the envelope, equal
// to it up to rounding.
double smoothed_loss(const Loss& loss, const RowProblem& row);

// The largest amount by which alpha (m values) breaks a condition of the dual set Q of class y, in units of sum(rho).
// 0: alpha lies in Q.
double row_infeasibility(const Loss& loss, std::span<const double> alpha, std::int64_t y);

}  // namespace topwolf
