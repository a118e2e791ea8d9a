// What the passes of an engine on the host do with one row once they have its scores s (m).
#pragma once

#include "engine/engine.hpp"

namespace topwolf {

// Memory for one row at a time; one per thread.
struct RowSpace {
  RowScratch scratch;
  SparseRow u, alpha_mu, step;
};

// F1, F4. The direction u (into space.u) and what the row adds to the sums; alpha is looked at with smoothing alone.
// The scores are used up.
template <class T>
void pass_row(const Problem& problem, std::int64_t i, T* s, Direction direction, RowView alpha, RowSpace& space,
              PassSums& sums);

// A1. next = Proj_Q(alpha_mu + (c - s - smoothing alpha_mu) / (q + smoothing)), with alpha_mu = alpha + mu (alpha -
// alpha_old), and what the row adds to the sums.
template <class T>
void ascend_row(const Problem& problem, std::int64_t i, const T* s, RowView alpha, RowView alpha_old, double mu,
                double q, SparseRow& next, RowSpace& space, AscentSums& sums);

// N1. u = -grad Phi (into space.u), where `smooth` is the problem's loss with more smoothing, and what the row adds to
// the sums.
template <class T>
void newton_row(const Problem& problem, const Loss& smooth, std::int64_t i, const T* s, RowSpace& space,
                NewtonSums& sums);

// G1. Phi at scores in double that are sums of `terms` products, none longer than `longest`; not weighted. Not a number
// where a score overflowed, which must not pass for a small loss. LossSum::least, too, where it is asked for.
LossSum certified_row(const Problem& problem, std::int64_t i, const double* s, double longest, std::int64_t terms,
                      RowSpace& space, bool least = false);

// The same where there is no smoothing, and somebody else found Phi at such scores; it is no number where one
// overflowed.
LossSum certified_loss(const Problem& problem, std::int64_t i, double phi, double longest, std::int64_t terms);

double largest_margin(const Problem& problem, std::int64_t i);

// How many classes come before y; ties go to the lower class.
std::int32_t rank(const double* s, std::int64_t m, std::int64_t y);

void add(const PassSums& part, PassSums& total);
void add(const AscentSums& part, AscentSums& total);
void add(const NewtonSums& part, NewtonSums& total);
void add(const LossSum& part, LossSum& total);

}  // namespace topwolf
