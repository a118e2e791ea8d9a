// The exact projection onto the dual set (L5) and the Moreau envelope (L4), which is made of it.
//
// Every alpha in Q sums to 0, so a may be shifted to a_y = 0. What remains is b_j = a_y - a_j for j != y, sorted
// decreasingly, and isotonic regression (pool adjacent violators) of b - zeta rho. A pool is kept as its first value
// and small differences to it, so that |a| = 1e9 loses no feasibility: a pooled member gets
// beta_j = mean(rho) + (b_j - mean(b)), in which the large parts never meet. Keys that are equal stay equal, whatever
// their size: where rho is nothing beside them, ties share it and everybody else gets nothing.

#include <algorithm>
#include <limits>

#include "kernels/kernels.hpp"
#include "loss/oracle.hpp"
#include "loss/row.hpp"
#include "loss/select.hpp"

namespace topwolf {
namespace {

using Ranked = RowScratch::Ranked;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double largest_key = 1e300;  // sums of a few thousand are still numbers

double rho_at(const Loss& loss, std::int64_t rank) {
  return rank < loss.K() ? loss.rho[static_cast<std::size_t>(rank)] : 0.0;
}

double level(const PooledBlock& block, double zeta) {
  return block.first + block.deviation - zeta * block.weight;
}

double pooled_beta(const PooledBlock& block, double zeta, double b) {
  return zeta * block.weight + ((b - block.first) - block.deviation);
}

// Non-increasing regression of ranked.key - zeta rho; the blocks cover the list in order.
void pool_adjacent_violators(const Loss& loss, double zeta, const std::vector<Ranked>& ranked,
                             std::vector<PooledBlock>& blocks) {
  blocks.clear();
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(ranked.size()); ++r) {
    PooledBlock last{ranked[static_cast<std::size_t>(r)].key, 0.0, rho_at(loss, r), r, r + 1};
    while (!blocks.empty()) {
      const PooledBlock& left = blocks.back();
      const double apart = last.first - left.first;
      const double rise = apart + (last.deviation - left.deviation) - zeta * (last.weight - left.weight);
      if (!(rise > 0.0)) break;
      const double n_left = static_cast<double>(left.end - left.begin);
      const double n_last = static_cast<double>(last.end - last.begin);
      const double share = n_last / (n_left + n_last);
      last = {left.first, left.deviation + share * (apart + last.deviation - left.deviation),
              left.weight + share * (last.weight - left.weight), left.begin, last.end};
      blocks.pop_back();
    }
    blocks.push_back(last);
  }
}

// The root theta of sum_j beta_j(theta) = theta, and with it the number of blocks that are saturated (level >= theta).
struct Threshold {
  double theta;
  std::size_t saturated;
};

// Sweeps theta downwards over the breakpoints {b_j} and {levels}. Between two of them
// sum_j beta_j - theta = saturated_sum + open_sum - (open + 1) theta, open being the b_j > theta of blocks with
// level < theta.
Threshold find_threshold(const Loss& loss, const std::vector<Ranked>& b, const std::vector<PooledBlock>& blocks) {
  double theta = std::min(loss.rho_sum(), b.front().key);  // the sum of beta is at most that of rho
  double saturated_sum = 0.0, open_sum = 0.0;
  std::size_t saturated = 0;
  std::int64_t next = 0;  // first b not yet counted, in an open block or beyond theta

  const auto saturate = [&] {
    const PooledBlock& block = blocks[saturated++];
    for (std::int64_t r = block.begin; r < std::min(next, block.end); ++r)
      open_sum -= b[static_cast<std::size_t>(r)].key;
    saturated_sum += static_cast<double>(block.end - block.begin) * block.weight;
    next = std::max(next, block.end);
  };
  const auto open_end = [&] { return saturated == 0 ? std::int64_t{0} : blocks[saturated - 1].end; };

  while (true) {
    while (saturated < blocks.size() && level(blocks[saturated], 1.0) >= theta) saturate();
    while (next < static_cast<std::int64_t>(b.size()) && b[static_cast<std::size_t>(next)].key >= theta) {
      open_sum += b[static_cast<std::size_t>(next++)].key;
    }
    double breakpoint = 0.0;
    if (saturated < blocks.size()) breakpoint = std::max(breakpoint, level(blocks[saturated], 1.0));
    if (next < static_cast<std::int64_t>(b.size()))
      breakpoint = std::max(breakpoint, b[static_cast<std::size_t>(next)].key);
    const double root = (saturated_sum + open_sum) / static_cast<double>(next - open_end() + 1);
    if (root >= breakpoint || breakpoint <= 0.0) return {std::clamp(root, 0.0, theta), saturated};
    theta = breakpoint;
  }
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

// Entries of at most this get beta = 0: where all blocks with weight are saturated nothing below them moves.
double lowest_level(const Loss& loss, const std::vector<PooledBlock>& blocks, const Threshold& at) {
  const auto weighted = std::partition_point(blocks.begin(), blocks.end(),
                                             [&](const PooledBlock& block) { return block.begin < loss.K(); });
  const auto last = static_cast<std::size_t>(weighted - blocks.begin()) - 1;
  return last < at.saturated ? level(blocks[last], 1.0) : at.theta;
}

bool project_usunier(const Loss& loss, RowView before, std::int64_t y, SparseRow& alpha, RowScratch& scratch) {
  constexpr double floor = 0.0;  // theta is at least 0
  if (!guess_candidates(loss, before, y, floor, scratch)) return false;
  const auto& b = scratch.ranked;
  if (b.empty()) return true;
  Threshold at{};
  do {
    pool_adjacent_violators(loss, 1.0, b, scratch.blocks);
    at = find_threshold(loss, b, scratch.blocks);
  } while (extend_candidates(lowest_level(loss, scratch.blocks, at), y, floor, scratch));
  const auto [theta, saturated] = at;

  double beta_sum = 0.0;
  for (std::size_t i = 0; i < scratch.blocks.size(); ++i) {
    const PooledBlock& block = scratch.blocks[i];
    for (std::int64_t r = block.begin; r < block.end; ++r) {
      const auto& [key, j] = b[static_cast<std::size_t>(r)];
      const double beta = i < saturated ? pooled_beta(block, 1.0, key) : key - theta;
      if (!(beta > 0.0)) continue;
      beta_sum += beta;
      alpha.push_back({j, -beta});
    }
  }
  if (!alpha.empty()) finish(y, beta_sum, alpha);
  return true;
}

// phi'(zeta) = sum(rho) x_y - sum_j rho_j x_(j) and its slope; x is the regression with b_y = zeta sum(rho) in the
// list.
struct Slope {
  double value;
  double slope;
};

class TopKLine {
 public:
  TopKLine(const Loss& loss, std::int64_t y, RowScratch& scratch)
      : loss_(loss), y_(y), scratch_(scratch), rho_sum_(loss.rho_sum()) {}

  // Puts y at its place for zeta, regresses, and returns phi'(zeta).
  Slope at(double zeta) {
    place_label(zeta * rho_sum_);
    pool_adjacent_violators(loss_, zeta, scratch_.ranked, scratch_.blocks);
    const PooledBlock& own = block_of(label_rank_);
    const double own_rate = rate(own);
    Slope result{0.0, 0.0};
    for (const PooledBlock& block : scratch_.blocks) {
      if (block.begin >= loss_.K()) break;
      const double weight = static_cast<double>(block.end - block.begin) * block.weight;
      // x_y - x_block, large parts first.
      const double apart =
          (own.first - block.first) + (own.deviation - block.deviation) - zeta * (own.weight - block.weight);
      result.value += weight * apart;
      result.slope += weight * (own_rate - rate(block));
    }
    return result;
  }

  // Entries of at most this get beta = 0 at this zeta, wherever else they may be.
  double lowest_level(double zeta) const {
    if (static_cast<std::int64_t>(scratch_.ranked.size()) < loss_.K()) return minus_infinity;
    const PooledBlock& last = block_of(loss_.K() - 1);
    return level(last, zeta);
  }

  void write(double zeta, SparseRow& alpha) const {
    double beta_sum = 0.0;
    for (const PooledBlock& block : scratch_.blocks) {
      for (std::int64_t r = block.begin; r < block.end; ++r) {
        if (r == label_rank_) continue;
        const auto& [key, j] = scratch_.ranked[static_cast<std::size_t>(r)];
        const double beta = pooled_beta(block, zeta, key);
        if (!(beta > 0.0)) continue;
        beta_sum += beta;
        alpha.push_back({j, -beta});
      }
    }
    if (!alpha.empty()) finish(y_, beta_sum, alpha);
  }

 private:
  // Derivative of the block's level with respect to zeta.
  double rate(const PooledBlock& block) const {
    const bool has_label = block.begin <= label_rank_ && label_rank_ < block.end;
    return (has_label ? rho_sum_ / static_cast<double>(block.end - block.begin) : 0.0) - block.weight;
  }

  const PooledBlock& block_of(std::int64_t rank) const {
    return *std::partition_point(scratch_.blocks.begin(), scratch_.blocks.end(),
                                 [&](const PooledBlock& block) { return block.end <= rank; });
  }

  // The list is sorted but for the label, which moves to where its new key belongs.
  void place_label(double key) {
    auto& ranked = scratch_.ranked;
    const Ranked label{key, static_cast<std::int32_t>(y_)};
    if (label_rank_ >= 0) ranked.erase(ranked.begin() + label_rank_);
    const auto at = std::lower_bound(ranked.begin(), ranked.end(), label);
    label_rank_ = at - ranked.begin();
    ranked.insert(at, label);
  }

  const Loss& loss_;
  std::int64_t y_;
  RowScratch& scratch_;
  const double rho_sum_;
  std::int64_t label_rank_ = -1;
};

// phi' is monotone and piecewise linear: Newton from inside a bracket ends on the root's piece, bisection keeps it
// safe.
double find_zeta(TopKLine& line) {
  double low = 0.0, high = 1.0, zeta = 1.0;
  Slope here = line.at(1.0);
  if (here.value <= 0.0) return 1.0;
  constexpr int limit = 200;
  for (int i = 0; i < limit && high - low > 0.0; ++i) {
    double next = here.slope > 0.0 ? zeta - here.value / here.slope : low;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (next == zeta || next == low || next == high) break;
    zeta = next;
    here = line.at(zeta);
    if (here.value == 0.0) break;
    (here.value < 0.0 ? low : high) = zeta;
  }
  return zeta;
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
  while (true) {
    TopKLine line(loss, y, scratch);
    const double zeta = line.at(0.0).value >= 0.0 ? 0.0 : find_zeta(line);
    if (extend_candidates(line.lowest_level(zeta), y, minus_infinity, scratch)) continue;
    if (zeta > 0.0) line.write(zeta, alpha);
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
