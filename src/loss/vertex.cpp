// The vertex of the dual set (L3) and, with it, the value of the loss (L1, L2).

#include <algorithm>
#include <limits>

#include "loss/oracle.hpp"
#include "loss/row.hpp"
#include "loss/select.hpp"
#include "loss/softmax.hpp"

namespace topwolf {
template <class T>
VertexValue vertex(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, SparseRow& u,
                   RowScratch& scratch) {
  if (loss.entropic()) return softmax_point(loss, delta, s, m, y, u, scratch);
  if (loss.oracle) return oracle_vertex(loss, delta, s, m, y, u, scratch);
  u.clear();
  const double s_y = static_cast<double>(s[y]);
  const std::int64_t K = loss.K();
  margin_keys(delta, s, m, 0.0, 1.0, scratch.key);
  scratch.key[static_cast<std::size_t>(y)] = s_y;
  const KeyBounds bounds = bound_keys(scratch.key, K, scratch.copy);
  // z <= 0 everywhere: both families are 0.
  if (!(bounds.largest > s_y)) return {0.0, 0.0};
  const bool usunier = loss.family == Family::usunier;
  // Usunier's sum stops at z = 0; top-k's takes what comes, y itself included.
  const double floor = usunier ? s_y : -std::numeric_limits<double>::infinity();
  auto& ranked = scratch.ranked;
  collect_keys(scratch.key, bounds.kth, floor, scratch.picked, ranked);

  double beta_sum = 0.0;  // over j != y
  const SortedKeys keys{ranked.data(), static_cast<std::int64_t>(ranked.size()), nullptr, 0};
  const VertexValue value = sorted_vertex(
      view_of(loss), s_y, y, keys, [&](std::int32_t j) { return margin(delta, j, y); },
      [&](std::int32_t j, double rho) {
        beta_sum += rho;
        u.push_back({j, -rho});
      });
  if (!(value.phi > 0.0)) {
    u.clear();
    return value;
  }
  u.push_back({static_cast<std::int32_t>(y), beta_sum});
  sort_by_class(u);
  return value;
}

template VertexValue vertex(const Loss&, const RowMargins&, const float*, std::int64_t, std::int64_t, SparseRow&,
                            RowScratch&);
template VertexValue vertex(const Loss&, const RowMargins&, const double*, std::int64_t, std::int64_t, SparseRow&,
                            RowScratch&);

}  // namespace topwolf
