// One example's part of the dual: its exact maximiser (L6) and its share of the gap (G2).

#include <algorithm>

#include "loss/row.hpp"
#include "loss/select.hpp"

namespace topwolf {

template <class T>
void block_step(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, double q,
                const SparseRow& alpha, SparseRow& next, RowScratch& scratch) {
  const double h = q + loss.smoothing;
  if (!(h > 0.0)) {
    vertex(loss, delta, s, m, y, next, scratch);
    return;
  }
  double alpha_y = 0.0;
  for (const auto& [j, value] : alpha) {
    if (j == y) alpha_y = value;
  }
  margin_keys(delta, s, m, q * alpha_y - static_cast<double>(s[y]), 1.0 / h, scratch.key);
  for (const auto& [j, value] : alpha) scratch.key[static_cast<std::size_t>(j)] -= q * value / h;
  project_keys(loss, y, &alpha, next, scratch);
}

namespace {

// The loss itself; the maximum alone where only that counts.
template <class T>
double loss_value(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                  SparseRow& best, RowScratch& scratch) {
  if (loss.smoothing > 0.0) return envelope(loss, delta, s, m, y, best, scratch);
  if (loss.K() > 1) return vertex(loss, delta, s, m, y, best, scratch).phi;
  const double s_y = static_cast<double>(s[y]);
  margin_keys(delta, s, m, -s_y, 1.0, scratch.key);
  scratch.key[static_cast<std::size_t>(y)] = 0.0;
  return loss.rho.front() * std::max(0.0, bound_keys(scratch.key, 1, scratch.copy).largest);
}

}  // namespace

template <class T>
double gap_share(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                 const SparseRow& alpha, SparseRow& best, RowScratch& scratch) {
  double share = loss_value(loss, delta, s, m, y, best, scratch);
  const double s_y = static_cast<double>(s[y]);
  for (const auto& [j, value] : alpha) share += value * (margin(delta, j, y) + (static_cast<double>(s[j]) - s_y));
  return std::max(0.0, share + 0.5 * loss.smoothing * squared_norm(alpha));
}

template void block_step(const Loss&, const RowMargins&, const float*, std::int64_t, std::int64_t, double,
                         const SparseRow&, SparseRow&, RowScratch&);
template void block_step(const Loss&, const RowMargins&, const double*, std::int64_t, std::int64_t, double,
                         const SparseRow&, SparseRow&, RowScratch&);
template double gap_share(const Loss&, const RowMargins&, const float*, std::int64_t, std::int64_t, const SparseRow&,
                          SparseRow&, RowScratch&);
template double gap_share(const Loss&, const RowMargins&, const double*, std::int64_t, std::int64_t, const SparseRow&,
                          SparseRow&, RowScratch&);

}  // namespace topwolf
