// One example's part of the dual: its exact maximiser (L6) and its share of the gap (G2).

#include <algorithm>
#include <cmath>
#include <limits>

#include "loss/oracle.hpp"
#include "loss/row.hpp"
#include "loss/select.hpp"
#include "loss/softmax.hpp"

namespace topwolf {

template <class T>
void block_step(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, double q,
                RowView alpha, SparseRow& next, RowScratch& scratch) {
  if (loss.entropic() && softmax_step(loss, delta, s, m, y, q, alpha, next, scratch)) return;
  const double h = q + loss.smoothing;
  if (!(h > 0.0)) {
    vertex(loss, delta, s, m, y, next, scratch);
    return;
  }
  double alpha_y = 0.0;
  for (const auto& [j, value] : alpha) {
    if (j == y) alpha_y = value;
  }
  // key_j = a_y - a_j, with the a of L6.
  margin_keys(delta, s, m, q * alpha_y - static_cast<double>(s[y]), 1.0 / h, scratch.key);
  for (const auto& [j, value] : alpha) scratch.key[static_cast<std::size_t>(j)] -= q * value / h;
  // What is nothing beside the margins is no curvature.
  if (!project_keys(loss, y, alpha, next, scratch)) vertex(loss, delta, s, m, y, next, scratch);
}

namespace {

// The loss without smoothing, and without its maximiser; of the maximum alone where only that counts.
template <class T>
double plain_loss(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                  SparseRow& best, RowScratch& scratch) {
  if (loss.entropic()) return softmax_value(loss, delta, s, m, y, scratch);
  if (loss.oracle) return oracle_value(loss, delta, s, m, y, scratch);
  if (loss.K() > 1) return vertex(loss, delta, s, m, y, best, scratch).phi;
  const double s_y = static_cast<double>(s[y]);
  margin_keys(delta, s, m, -s_y, 1.0, scratch.key);
  scratch.key[static_cast<std::size_t>(y)] = 0.0;
  return loss.rho.front() * std::max(0.0, bound_keys(scratch.key, 1, scratch.copy).largest);
}

}  // namespace

// Two bounds on the envelope from any alpha of Q, each tight where the other is not. With r the gradient at alpha, in
// beta: the loss at s + smoothing alpha, which has r for its margins, and smoothing/2 ||alpha||^2; and what alpha is
// worth itself, and r_j^2 / (2 smoothing) for every beta_j that could grow, or fall. An oracle's alpha need not be near
// the maximiser, and what rounding does to either bound is counted here (G5).
LossBound loss_bound(const Loss& loss, const RowMargins& delta, const double* s, std::int64_t m, std::int64_t y,
                     SparseRow& best, RowScratch& scratch) {
  if (loss.smoothing == 0.0) {
    const double phi = plain_loss(loss, delta, s, m, y, best, scratch);
    return {phi, loss.rho_sum(), oracle_rounding(loss, scratch)};
  }
  const double value = envelope(loss, delta, s, m, y, best, scratch), norm2 = squared_norm(best);
  double beta_sum = 0.0;
  scratch.a.assign(s, s + m);
  for (const auto& [j, alpha] : best) {
    scratch.a[static_cast<std::size_t>(j)] += loss.smoothing * alpha;
    if (j == y) beta_sum = alpha;
  }
  margin_keys(delta, scratch.a.data(), m, -scratch.a[static_cast<std::size_t>(y)], 1.0, scratch.key);
  scratch.key[static_cast<std::size_t>(y)] = 0.0;
  for (const auto& [j, alpha] : best) {  // what can fall counts like what can grow
    double& r = scratch.key[static_cast<std::size_t>(j)];
    r = std::abs(r);
  }
  const EnvelopeRounding lost = envelope_rounding(loss, s, m, beta_sum, scratch.key);
  double left = 0.0, steep = 0.0;
  for (double r : scratch.key) {
    r = std::max(0.0, r + lost.slope);
    left += r * r;
    steep += r;
  }
  left /= 2.0 * loss.smoothing;
  const LossBound nearby{value + left, beta_sum + (loss.oracle ? steep / loss.smoothing : 0.0),
                         lost.nearby + lost.part * left};
  const double moved = plain_loss(loss, delta, scratch.a.data(), m, y, best, scratch) + 0.5 * loss.smoothing * norm2;
  if (!loss.oracle) return {std::min(nearby.phi, moved), beta_sum};
  const double lost_there = oracle_rounding(loss, scratch) + lost.moved;
  if (nearby.phi + nearby.rounding < moved + lost_there) return nearby;
  return {moved, loss.rho_sum(), lost_there};
}

template <class T>
double gap_share(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, RowView alpha,
                 SparseRow& best, RowScratch& scratch) {
  if (loss.entropic()) return softmax_share(loss, delta, s, m, y, alpha, scratch);
  double share = loss.smoothing > 0.0 ? envelope(loss, delta, s, m, y, best, scratch)
                                      : plain_loss(loss, delta, s, m, y, best, scratch);
  const double s_y = static_cast<double>(s[y]);
  for (const auto& [j, value] : alpha) share += value * (margin(delta, j, y) + (static_cast<double>(s[j]) - s_y));
  share += 0.5 * loss.smoothing * squared_norm(alpha);
  // What overflowed may be anything.
  return std::isfinite(share) ? std::max(0.0, share) : std::numeric_limits<double>::infinity();
}

template void block_step(const Loss&, const RowMargins&, const float*, std::int64_t, std::int64_t, double, RowView,
                         SparseRow&, RowScratch&);
template void block_step(const Loss&, const RowMargins&, const double*, std::int64_t, std::int64_t, double, RowView,
                         SparseRow&, RowScratch&);
template double gap_share(const Loss&, const RowMargins&, const float*, std::int64_t, std::int64_t, RowView, SparseRow&,
                          RowScratch&);
template double gap_share(const Loss&, const RowMargins&, const double*, std::int64_t, std::int64_t, RowView,
                          SparseRow&, RowScratch&);

}  // namespace topwolf
