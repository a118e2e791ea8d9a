// The only place where the primal, the dual and the gap are written (ledger, P1, D1), and bounds on what
// rounding does to them (G1).
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "engine/engine.hpp"

namespace topwolf {

inline constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;

// P1. P(W), from ||W||^2 and the sum of omega_i Phi_i.
inline double primal_value(const Problem& problem, double W_norm2, double phi_sum) {
  return 0.5 * problem.lambda * W_norm2 + phi_sum / problem.N;
}

// D1. D(A), from ||W(A)||^2 and the sums of omega_i <c_i, alpha_i> and omega_i ||alpha_i||^2.
inline double dual_value(const Problem& problem, double W_norm2, double c_alpha, double alpha_norm2) {
  return -0.5 * problem.lambda * W_norm2 + (c_alpha - 0.5 * problem.loss.smoothing * alpha_norm2) / problem.N;
}

double squared_norm(const std::vector<double>& W);

// ---- Bounds (G1)

// Of what the regulariser squares, given the weights of a model: their length, or, where the problem has a mean, that
// of the weights of rows less it (C1).
struct WeightLength {
  double least = 0.0, most = 0.0;
};
// What it sums there is off by `doubt` of itself: of a model whose mean and constant feature are another program's, and
// were rounded on the way here.
WeightLength weight_length(const Problem& problem, const std::vector<double>& W, double doubt = 0.0);

// P(W) is not above this; infinite where an overflow hides it.
double primal_bound(const Problem& problem, double W_length, const LossSum& loss);

// P(W) is not below this, given LossSum::least.
double primal_floor(const Problem& problem, double W_length, const LossSum& loss);

// What is known of a feasible dual whose rows are not at hand, or not quite these.
struct DualSketch {
  double W_length = 0.0;           // of a W that lies ...
  double drift = 0.0;              // ... within this of W(A)
  long double c_alpha = 0.0L;      // sum of omega <c, alpha>
  long double alpha_norm2 = 0.0L;  // sum of omega ||alpha||^2
  double rounding = 0.0;           // the sums may be off by this much of themselves
};
// D(A) is not below this; minus infinity where an overflow hides it.
double dual_bound(const Problem& problem, const DualSketch& sketch);

// The same for rows that were put inside (L9), given ||W|| of W = W(A) as summed in double.
double dual_bound(const Problem& problem, const Geometry& geometry, const InsideSums& sums, double W_length);

// What underflow does to W(A), given 1 + ||psi|| for every entry of A.
double flushed_weights(const Problem& problem, const Geometry& geometry, double entries);

// ||W(A)|| is at most this for any feasible A, because |alpha| sums to at most 2 sum(rho).
double length_bound(const Problem& problem, const Curvature& curvature);

// What rounding does to one sum over the rows, W(U) or W(A), in double, in units of the sum of its terms' lengths.
double sum_rounding(const Geometry& geometry);

}  // namespace topwolf
