// One example's part of the dual: its exact maximiser (L6) and its share of the gap (G2).

#include <algorithm>

#include "loss/row.hpp"

namespace topwolf {

template <class T>
void block_step(const Loss& loss, RowMargins delta, const T* s, std::int64_t m, std::int64_t y, double q,
                const SparseRow& alpha, SparseRow& next, RowScratch& scratch) {
  const double h = q + loss.smoothing;
  if (!(h > 0.0)) {
    vertex(loss, delta, s, m, y, next, scratch);
    return;
  }
  auto& a = scratch.a;
  a.resize(static_cast<std::size_t>(m));
  for (std::int64_t j = 0; j < m; ++j) {
    a[static_cast<std::size_t>(j)] = (-margin(delta, j, y) - static_cast<double>(s[j])) / h;
  }
  for (const auto& [j, value] : alpha) a[static_cast<std::size_t>(j)] += q * value / h;
  project(loss, a.data(), m, y, next, scratch);
}

template <class T>
double gap_share(const Loss& loss, RowMargins delta, const T* s, std::int64_t m, std::int64_t y, const SparseRow& alpha,
                 SparseRow& best, RowScratch& scratch) {
  double share = loss.smoothing > 0.0 ? envelope(loss, delta, s, m, y, best, scratch)
                                      : vertex(loss, delta, s, m, y, best, scratch).phi;
  const double s_y = static_cast<double>(s[y]);
  for (const auto& [j, value] : alpha) share += value * (margin(delta, j, y) + (static_cast<double>(s[j]) - s_y));
  return std::max(0.0, share + 0.5 * loss.smoothing * squared_norm(alpha));
}

template void block_step(const Loss&, RowMargins, const float*, std::int64_t, std::int64_t, double, const SparseRow&,
                         SparseRow&, RowScratch&);
template void block_step(const Loss&, RowMargins, const double*, std::int64_t, std::int64_t, double, const SparseRow&,
                         SparseRow&, RowScratch&);
template double gap_share(const Loss&, RowMargins, const float*, std::int64_t, std::int64_t, const SparseRow&,
                          SparseRow&, RowScratch&);
template double gap_share(const Loss&, RowMargins, const double*, std::int64_t, std::int64_t, const SparseRow&,
                          SparseRow&, RowScratch&);

}  // namespace topwolf
