// One example at a time, from the definitions: the loss, a proven bound on it or on its envelope, and how far a dual
// row lies outside its set (ledger, G4). Slow on purpose; shares no code with src/loss, src/engine or src/solve.
#pragma once

#include <cstdint>
#include <span>

#include "topwolf/loss.hpp"

namespace topwolf {

// One example: its margins delta and scores s (m each), and its class y. delta[y] = 0. Real: double or long double.
template <class Real>
struct RowProblem {
  std::span<const Real> delta;
  std::span<const Real> s;
  std::int64_t y = 0;
  Real off = 0;  // no true score is further than this from s
};

// The loss with its smoothing, whatever rounding does and wherever within `off` the scores are.
template <class Real>
struct ProvenLoss {
  Real most = 0;   // it is not above this; not a number where something overflowed
  Real about = 0;  // and about this, which proves nothing: the two differ by what rounding costs
};
template <class Real>
ProvenLoss<Real> proven_loss(const Loss& loss, const RowProblem<Real>& row);

// How far alpha (m values) is from the dual set Q of class y: alpha / max(1, ratio) has a point of Q so near that the
// beta of the two differ by `distance` in sum, and alpha_y by as much. Rounding is counted in both.
struct RowMiss {
  long double ratio = 0.0L, distance = 0.0L;
  double infeasibility = 0.0;  // the larger of ratio - 1 and distance / sum(rho), as measured. 0: alpha lies in Q
};
RowMiss row_miss(const Loss& loss, std::span<const double> alpha, std::int64_t y);

}  // namespace topwolf
