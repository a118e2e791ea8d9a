// The face of the dual set on which a point lies (L7): which of its entries are free to move, and together with which.
//
// Both polytopes bound sums of the k largest beta by zeta (rho_1 + .. + rho_k). Where such a bound is met the list
// falls apart: what is above and what is below can only move among themselves.

#include <algorithm>

#include "loss/row.hpp"

namespace topwolf {
namespace {

using Ranked = RowScratch::Ranked;  // here: beta and the place of the entry in alpha
constexpr double tightness = 1e-10;

// The entries other than y, largest beta first; returns the place of y.
std::int32_t rank_entries(std::int64_t y, const SparseRow& alpha, std::vector<Ranked>& ranked) {
  std::int32_t own = -1;
  ranked.clear();
  for (std::size_t e = 0; e < alpha.size(); ++e) {
    const auto place = static_cast<std::int32_t>(e);
    if (alpha[e].column == y) {
      own = place;
    } else {
      ranked.push_back({-alpha[e].value, place});
    }
  }
  std::sort(ranked.begin(), ranked.end());
  return own;
}

// Groups between the places where a bound is met; groups of one cannot move.
void split_where_tight(const Loss& loss, double zeta, const std::vector<Ranked>& ranked,
                       std::vector<std::int32_t>& group) {
  const double slack = tightness * loss.rho_sum();
  double beta_sum = 0.0, bound = 0.0;
  std::size_t begin = 0;
  std::int32_t groups = 0;
  for (std::size_t r = 0; r < ranked.size(); ++r) {
    beta_sum += std::max(0.0, ranked[r].key);
    if (r < loss.rho.size()) bound += zeta * loss.rho[r];
    const bool tight = beta_sum >= bound - slack;
    if (!tight && r + 1 < ranked.size()) continue;
    if (r > begin) {
      for (std::size_t p = begin; p <= r; ++p) group[static_cast<std::size_t>(ranked[p].column)] = groups;
      ++groups;
    }
    begin = r + 1;
  }
}

// The zeta that a point of the top-k family allows: with B the sum of its beta without y, beta_y = zeta R_K - B.
struct Interval {
  double low, high;
};

Interval possible_zeta(const Loss& loss, const std::vector<Ranked>& ranked) {
  const double whole = loss.rho_sum();
  double B = 0.0;
  for (const Ranked& entry : ranked) B += entry.key;
  Interval zeta{B / whole, 1.0};
  double above = 0.0, bound = 0.0;  // sums of the first k - 1 beta and of the first k rho
  for (std::size_t r = 0; r < loss.rho.size() && r < ranked.size(); ++r) {
    bound += loss.rho[r];
    const double rest = whole - bound;
    if (rest > tightness * whole) zeta.high = std::min(zeta.high, (B - above) / rest);
    above += ranked[r].key;
    zeta.low = std::max(zeta.low, above / bound);
  }
  return zeta;
}

}  // namespace

void face_groups(const Loss& loss, std::int64_t y, const SparseRow& alpha, std::vector<std::int32_t>& group,
                 RowScratch& scratch) {
  group.assign(alpha.size(), -1);
  auto& ranked = scratch.ranked;
  const std::int32_t own = rank_entries(y, alpha, ranked);
  if (own < 0) return;
  if (loss.family == Family::usunier) {
    ranked.push_back({0.0, own});  // alpha_y follows whatever is not held by a bound
    split_where_tight(loss, 1.0, ranked, group);
    return;
  }
  const auto [low, high] = possible_zeta(loss, ranked);
  if (high - low > tightness) {  // no bound is met at a zeta in between
    group.assign(alpha.size(), 0);
    return;
  }
  const double zeta = 0.5 * (low + high), B = alpha[static_cast<std::size_t>(own)].value;
  ranked.push_back({zeta * loss.rho_sum() - B, own});
  std::sort(ranked.begin(), ranked.end());
  split_where_tight(loss, zeta, ranked, group);
}

}  // namespace topwolf
