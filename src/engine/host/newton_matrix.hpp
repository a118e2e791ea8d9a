// Second derivatives of the smoothed losses by W (ledger, N1), from rows and duals in memory.
#pragma once

#include <vector>

#include "engine/host/dual.hpp"
#include "engine/problem.hpp"

namespace topwolf {

// How many entries of P_i are written down at a time, besides those of one row: they are what newton needs memory for
// where there are many classes.
inline constexpr double newton_entries_at_a_time = 1 << 20;

// NewtonRows::derivative: H (m D x m D) = sum_i omega_i P_i (x) x_i x_i^T / (lambda N smoothing), where P_i projects
// onto the face of u_i. Blocks (j, l) with j >= l are written, the others are 0.
void newton_matrix(const Problem& problem, const HostDual& U, double smoothing, int threads, std::vector<double>& H);

}  // namespace topwolf
