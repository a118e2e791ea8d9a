// The only place where the primal, the dual and the gap are written (docs/maths.md, P1, D1).
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

// D1. A lower bound on D(A): `W` is known to lie within `drift` of W(A).
inline double dual_value(const Problem& problem, double W_norm2, double drift, double c_alpha, double alpha_norm2) {
  const double length = std::sqrt(W_norm2) + drift;
  const double smoothing = problem.loss.smoothing;
  return -0.5 * problem.lambda * length * length + (c_alpha - 0.5 * smoothing * alpha_norm2) / problem.N;
}

// Sums over the examples, weighted by omega.
struct DualSums {
  double c_alpha = 0.0;      // <c, alpha>
  double alpha_norm2 = 0.0;  // ||alpha||^2
};
DualSums dual_sums(const Problem& problem, const DualRows& A);

// D(A) from A alone, given W = W(A) computed in double; `error` bounds its rounding (sum_error).
double dual_at(const Problem& problem, const DualRows& A, const std::vector<double>& W, double error);

double squared_norm(const std::vector<double>& W);

// ||W(A)|| is at most this for any feasible A, because |alpha| sums to at most 2 sum(rho).
double length_bound(const Problem& problem, const Geometry& geometry);

// G1. A bound on the rounding of one sum over the rows, W(U) or W(A), in double.
double sum_error(const Problem& problem, const Geometry& geometry);

}  // namespace topwolf
