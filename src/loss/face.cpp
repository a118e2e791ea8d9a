// The face of the dual set on which a point lies (L7): which of its entries are free to move, and together with which.
//
// Both polytopes bound sums of the k largest beta by zeta (rho_1 + .. + rho_k). Where such a bound is met the list
// falls apart: what is above and what is below can only move among themselves.

#include <algorithm>

#include "loss/row.hpp"

namespace topwolf {
namespace {

// Ranked holds, here, beta and the place of the entry in alpha.
constexpr double tightness = 1e-10;

// The entries other than y, largest beta first; returns the place of y.
std::int32_t rank_entries(std::int64_t y, RowView alpha, std::vector<Ranked>& ranked) {
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

// Calls body(begin, end, rho of these ranks) for the ranks between places where a bound is met.
template <class Body>
void split_where_tight(const Loss& loss, double zeta, const std::vector<Ranked>& ranked, const Body& body) {
  const double slack = tightness * loss.rho_sum();
  double beta_sum = 0.0, rho_sum = 0.0, rho_before = 0.0;
  std::size_t begin = 0;
  for (std::size_t r = 0; r < ranked.size(); ++r) {
    beta_sum += std::max(0.0, ranked[r].key);
    if (r < loss.rho.size()) rho_sum += loss.rho[r];
    const bool tight = beta_sum >= zeta * rho_sum - slack;
    if (!tight && r + 1 < ranked.size()) continue;
    body(begin, r + 1, rho_sum - rho_before);
    begin = r + 1;
    rho_before = rho_sum;
  }
}

// Entries that move among themselves, with sum 0; one alone cannot.
void group_entries(const Loss& loss, double zeta, const std::vector<Ranked>& ranked, std::vector<std::int32_t>& group) {
  std::int32_t groups = 0;
  split_where_tight(loss, zeta, ranked, [&](std::size_t begin, std::size_t end, double) {
    if (end - begin < 2) return;
    for (std::size_t r = begin; r < end; ++r) group[static_cast<std::size_t>(ranked[r].column)] = groups;
    ++groups;
  });
}

// The same where zeta may change: every bound that is met moves with it, and so does each group's sum, even that of a
// single entry. Of alpha_y = B = zeta sum(rho) - beta_y the group of y has what the other groups lose.
void group_entries_along_zeta(const Loss& loss, double zeta, const std::vector<Ranked>& ranked, std::int32_t own,
                              Face& face) {
  std::int32_t groups = 0;
  face.along.assign(face.group.size(), 0.0);
  split_where_tight(loss, zeta, ranked, [&](std::size_t begin, std::size_t end, double rho) {
    const bool has_own = std::any_of(ranked.begin() + static_cast<std::ptrdiff_t>(begin),
                                     ranked.begin() + static_cast<std::ptrdiff_t>(end),
                                     [&](const Ranked& entry) { return entry.column == own; });
    const double change = (has_own ? loss.rho_sum() - rho : -rho) / static_cast<double>(end - begin);
    for (std::size_t r = begin; r < end; ++r) {
      face.group[static_cast<std::size_t>(ranked[r].column)] = groups;
      face.along[static_cast<std::size_t>(ranked[r].column)] = change;
    }
    ++groups;
  });
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

void find_face(const Loss& loss, std::int64_t y, RowView alpha, Face& face, RowScratch& scratch) {
  face.group.assign(alpha.size(), -1);
  face.along.clear();
  auto& ranked = scratch.ranked;
  const std::int32_t own = rank_entries(y, alpha, ranked);
  if (own < 0) return;
  if (loss.family == Family::usunier) {
    ranked.push_back({0.0, own});  // alpha_y follows whatever is not held by a bound
    group_entries(loss, 1.0, ranked, face.group);
    return;
  }
  const auto [low, high] = possible_zeta(loss, ranked);
  if (high - low > tightness) {  // no bound is met at a zeta in between
    face.group.assign(alpha.size(), 0);
    return;
  }
  const double zeta = 0.5 * (low + high), B = alpha[static_cast<std::size_t>(own)].value;
  ranked.push_back({zeta * loss.rho_sum() - B, own});
  std::sort(ranked.begin(), ranked.end());
  if (zeta > 1.0 - tightness || zeta < tightness) {
    group_entries(loss, zeta, ranked, face.group);
  } else {
    group_entries_along_zeta(loss, zeta, ranked, own, face);
  }
}

}  // namespace topwolf
