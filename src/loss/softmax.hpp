// Softmax (L10): what it does to one example. With z_j = delta_j + s_j - s_y and a temperature T,
//   Phi(s) = T log sum_j exp(z_j / T) = the maximum over the simplex of <beta, z> + T H(beta), H = -sum beta log beta,
// where alpha_j = -beta_j for j != y and alpha_y = 1 - beta_y: Q is that of the max hinge.
#pragma once

#include "loss/row.hpp"

namespace topwolf {

// The maximiser, and what it is worth.
template <class T>
VertexValue softmax_point(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                          SparseRow& u, RowScratch& scratch);

// Phi alone.
template <class T>
double softmax_value(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                     RowScratch& scratch);

// L6 with the entropy in it. False where that is nothing beside the curvature: the step is then that of the max hinge.
template <class T>
bool softmax_step(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, double q,
                  RowView alpha, SparseRow& next, RowScratch& scratch);

// G2: T times the divergence of beta from the maximiser.
template <class T>
double softmax_share(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                     RowView alpha, RowScratch& scratch);

}  // namespace topwolf
