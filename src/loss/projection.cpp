// The exact projection onto the dual set (L5) and the Moreau envelope (L4), which is made of it: which classes matter,
// and, where one weight is all there is, everything. What becomes of a list of classes is in sorted_keys.hpp.

#include <algorithm>
#include <limits>

#include "kernels/kernels.hpp"
#include "loss/oracle.hpp"
#include "loss/row.hpp"
#include "loss/select.hpp"

namespace topwolf {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double largest_key = 1e300;  // sums of a few thousand are still numbers

// The list in the scratch, with room for one key more.
SortedKeys list_of(RowScratch& scratch) {
  const std::size_t size = scratch.ranked.size();
  if (scratch.blocks.size() <= size) scratch.blocks.resize(size + 1);
  return {scratch.ranked.data(), static_cast<std::int64_t>(size), scratch.blocks.data(), 0};
}

void finish(std::int64_t y, double beta_sum, SparseRow& alpha) {
  alpha.push_back({static_cast<std::int32_t>(y), beta_sum});
  sort_by_class(alpha);
}

// A first guess at the entries that matter: about the K largest, and those that mattered before. False where a key is
// too large.
bool guess_candidates(const Loss& loss, RowView before, std::int64_t y, double floor, RowScratch& scratch) {
  const auto& b = scratch.key;
  auto& ranked = scratch.ranked;
  const auto [largest, kth] = bound_keys(b, loss.K(), scratch.copy);
  if (largest > largest_key) return false;
  collect_keys(b, kth, floor, scratch.picked, ranked);
  const std::size_t listed = ranked.size();
  for (const Entry& entry : before) {
    const double key = b[static_cast<std::size_t>(entry.column)];
    if (entry.column != y && key > floor && key < kth) ranked.push_back({key, entry.column});
  }
  if (ranked.size() > listed) std::sort(ranked.begin() + static_cast<std::ptrdiff_t>(listed), ranked.end());
  return true;
}

// Entries of at most `level` get beta = 0 whether they are in the list or not. If all others are in it, the guess was
// right; if not, they are now. Keys that are not finite, y's among them, are never asked for.
bool extend_candidates(double level, std::int64_t y, double floor, RowScratch& scratch) {
  const auto& b = scratch.key;
  const double least = std::max({level, floor, std::numeric_limits<double>::lowest()});
  if (scratch.picked.size() < b.size()) scratch.picked.resize(b.size());
  const std::int64_t picked =
      kernels().pick(b.data(), static_cast<std::int64_t>(b.size()), least, scratch.picked.data());
  std::int64_t wanted = 0, listed = 0;
  for (std::int64_t p = 0; p < picked; ++p) {
    wanted += b[static_cast<std::size_t>(scratch.picked[static_cast<std::size_t>(p)])] > floor ? 1 : 0;
  }
  for (const auto& [key, j] : scratch.ranked) listed += (j != y && key >= least) ? 1 : 0;
  if (wanted <= listed) return false;
  collect_keys(b, least, floor, scratch.picked, scratch.ranked);
  return true;
}

bool project_usunier(const Loss& loss, RowView before, std::int64_t y, SparseRow& alpha, RowScratch& scratch) {
  constexpr double floor = 0.0;  // theta is at least 0
  if (!guess_candidates(loss, before, y, floor, scratch)) return false;
  if (scratch.ranked.empty()) return true;
  const LossView view = view_of(loss);
  SortedKeys keys{};
  Threshold at{};
  do {
    keys = list_of(scratch);
    pool_adjacent_violators(view, 1.0, keys);
    at = find_threshold(view, keys);
  } while (extend_candidates(lowest_level(view, keys, at), y, floor, scratch));
  const double beta_sum = write_usunier(keys, at, [&](std::int32_t j, double beta) { alpha.push_back({j, -beta}); });
  if (!alpha.empty()) finish(y, beta_sum, alpha);
  return true;
}

// Here K classes besides y have a place in the list, however low their keys.
void lift_lowest_keys(std::int64_t y, std::vector<double>& key) {
  for (std::size_t j = 0; j < key.size(); ++j) {
    if (static_cast<std::int64_t>(j) != y && !(key[j] > -largest_key)) key[j] = -largest_key;
  }
}

bool project_top_k(const Loss& loss, RowView before, std::int64_t y, SparseRow& alpha, RowScratch& scratch) {
  if (!guess_candidates(loss, before, y, minus_infinity, scratch)) return false;
  if (static_cast<std::int64_t>(scratch.ranked.size()) < loss.K()) {
    lift_lowest_keys(y, scratch.key);
    guess_candidates(loss, before, y, minus_infinity, scratch);
  }
  const LossView view = view_of(loss);
  while (true) {
    scratch.ranked.push_back({});  // room for y
    SortedKeys keys = list_of(scratch);
    --keys.size;
    TopKLine line(view, y, keys);
    const double zeta = find_zeta(line);
    if (extend_candidates(line.lowest_level(zeta), y, minus_infinity, scratch)) continue;
    if (zeta > 0.0) {
      const double beta_sum = line.write(zeta, [&](std::int32_t j, double beta) { alpha.push_back({j, -beta}); });
      if (!alpha.empty()) finish(y, beta_sum, alpha);
    }
    return true;
  }
}

}  // namespace

namespace {

// One weight, where the families coincide: beta = max(b - theta, 0) with sum(beta) = theta or, where that exceeds
// rho_1, sum(beta) = rho_1. Newton's method from below ends on the root, because the sum is convex in theta; nothing
// needs to be sorted. Where rho_1 bounds the sum everything is measured from the largest key, so that large parts never
// meet.
bool project_simplex(double rho, std::int64_t y, RowView before, SparseRow& alpha, RowScratch& scratch) {
  const auto& b = scratch.key;
  const auto m = static_cast<std::int64_t>(b.size());
  const double largest = bound_keys(b, 1, scratch.copy).largest;
  if (largest > largest_key) return false;
  if (!(largest > 0.0)) return true;
  double sum = 0.0;
  if (largest > rho) kernels().sum_above(b.data(), m, rho, 0.0, &sum);
  const bool bounded = sum > rho;
  const double base = bounded ? largest : 0.0;
  // The root for some of the keys is at most the root for all. It is measured from base, as all that follows.
  const auto root = [&](double keys, std::int64_t count) {
    return bounded ? (keys - rho) / static_cast<double>(count) : keys / static_cast<double>(count + 1);
  };
  double theta = root(largest - base, 1);
  if (before.size() > 1) {
    double keys = 0.0;
    for (const Entry& entry : before)
      keys += entry.column == y ? 0.0 : b[static_cast<std::size_t>(entry.column)] - base;
    theta = std::max(theta, root(keys, static_cast<std::int64_t>(before.size()) - 1));
  }
  for (std::int64_t last = 0, count = 1; count != last;) {
    last = count;
    count = kernels().sum_above(b.data(), m, base, theta, &sum);
    if (count == 0) break;  // rounding: the largest key alone
    theta = std::max(theta, root(sum, count));
  }
  if (scratch.picked.size() < b.size()) scratch.picked.resize(b.size());
  const std::int64_t count = kernels().pick(b.data(), m, base + theta, scratch.picked.data());
  double beta_sum = 0.0;
  std::size_t own = 0;  // where y belongs
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int32_t j = scratch.picked[static_cast<std::size_t>(p)];
    const double beta = (b[static_cast<std::size_t>(j)] - base) - theta;
    if (!(beta > 0.0)) continue;
    beta_sum += beta;
    alpha.push_back({j, -beta});
    if (j < y) own = alpha.size();
  }
  if (alpha.empty()) return true;
  alpha.insert(alpha.begin() + static_cast<std::ptrdiff_t>(own), {static_cast<std::int32_t>(y), beta_sum});
  return true;
}

}  // namespace

bool project_keys(const Loss& loss, std::int64_t y, RowView before, SparseRow& alpha, RowScratch& scratch) {
  alpha.clear();
  if (loss.oracle) return oracle_project(loss, y, alpha, scratch);
  scratch.key[static_cast<std::size_t>(y)] = minus_infinity;
  if (loss.K() == 1) return project_simplex(loss.rho.front(), y, before, alpha, scratch);
  if (loss.family == Family::usunier) return project_usunier(loss, before, y, alpha, scratch);
  return project_top_k(loss, before, y, alpha, scratch);
}

void project(const Loss& loss, const double* a, std::int64_t m, std::int64_t y, SparseRow& alpha, RowScratch& scratch) {
  scratch.key.resize(static_cast<std::size_t>(m));
  for (std::int64_t j = 0; j < m; ++j) {
    scratch.key[static_cast<std::size_t>(j)] = std::clamp(a[y] - a[j], -largest_key, largest_key);
  }
  project_keys(loss, y, {}, alpha, scratch);
}

void project_within(const Loss& loss, RowView a, std::int64_t y, SparseRow& alpha, RowScratch& scratch) {
  auto& values = scratch.a;
  values.clear();
  alpha.clear();
  std::int64_t own = -1;
  for (const auto& [j, value] : a) {
    if (j == y) own = static_cast<std::int64_t>(values.size());
    values.push_back(value);
  }
  if (own < 0) return;  // whatever vanishes at y vanishes
  project(loss, values.data(), static_cast<std::int64_t>(values.size()), own, alpha, scratch);
  for (Entry& entry : alpha) entry.column = a[static_cast<std::size_t>(entry.column)].column;
}

template <class T>
double envelope(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, SparseRow& alpha,
                RowScratch& scratch) {
  margin_keys(delta, s, m, -static_cast<double>(s[y]), 1.0 / loss.smoothing, scratch.key);
  if (!project_keys(loss, y, {}, alpha, scratch)) vertex(loss, delta, s, m, y, alpha, scratch);
  double linear = 0.0;  // <c - s, alpha> = <c - s + s_y, alpha>, since alpha sums to 0
  for (const auto& [j, value] : alpha) {
    linear -= value * (margin(delta, j, y) + (static_cast<double>(s[j]) - static_cast<double>(s[y])));
  }
  return linear - 0.5 * loss.smoothing * squared_norm(alpha);
}

template double envelope(const Loss&, const RowMargins&, const float*, std::int64_t, std::int64_t, SparseRow&,
                         RowScratch&);
template double envelope(const Loss&, const RowMargins&, const double*, std::int64_t, std::int64_t, SparseRow&,
                         RowScratch&);

}  // namespace topwolf
