// One row by one warp: which of its classes matter, in which order, and what the shared row functions
// (loss/sorted_keys.hpp) make of them. All lanes call every function together; lane 0 does what is sequential, which is
// a handful of classes. Lists are in shared memory while they fit there, else in the warp's own part of the scratch,
// which holds all classes: slower, never wrong.
#pragma once

#include "engine/cuda/views.hpp"

namespace topwolf::cuda {

inline constexpr int warps_of_block = 4, few = 48;
inline constexpr std::int64_t shared_keys = 2048;  // classes whose keys fit into shared memory, for each warp
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double largest_key = 1e300;  // sums of a few thousand are still numbers

__device__ inline int lane() {
  return threadIdx.x % 32;
}

// The same on all lanes, to the bit.
__device__ inline double warp_max(double x) {
  for (int step = 16; step > 0; step /= 2) x = fmax(x, __shfl_xor_sync(~0u, x, step));
  return x;
}
__device__ inline double warp_sum(double x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}
__device__ inline std::int64_t warp_count(int x) {
  return __reduce_add_sync(~0u, x);
}

// A part of shared memory for each warp of a block.
struct FewLists {
  Ranked raw[few], sorted[few + 1];
  PooledBlock block[few + 1];
  std::int32_t column[few];  // of alpha
  double value[few];
};

// A row of A: in shared memory where it fits, else where it lies.
struct AlphaRow {
  const std::int32_t* column;
  const double* value;
  std::int32_t size;
};

class WarpRow {
 public:
  __device__ WarpRow(const ScratchView& scratch, FewLists& lists, double* keys, std::int64_t m)
      : m(m), few_(lists), many_(scratch), warp_(blockIdx.x * warps_of_block + threadIdx.x / 32) {
    key = m <= shared_keys ? keys + (threadIdx.x / 32) * m : scratch.key + warp_ * m;
  }

  const std::int64_t m;
  double* key;        // m
  SortedKeys sorted;  // what collect() and sort() have left
  Ranked* raw;        // of the same room as `sorted`

  __device__ AlphaRow stage(const DualView& A, std::int64_t i) {
    const AlphaRow there{A.column + i * A.slots, A.value + i * A.slots, A.count[i]};
    if (there.size > few) return there;
    __syncwarp();
    for (std::int32_t e = lane(); e < there.size; e += 32) {
      few_.column[e] = there.column[e];
      few_.value[e] = there.value[e];
    }
    __syncwarp();
    return {few_.column, few_.value, there.size};
  }

  // key_j = (s_j + delta_j + shift) * scale, but at y.
  template <class R>
  __device__ void fill(const RowMargins& delta, const R* s, double shift, double scale, std::int64_t y, double at_y) {
    __syncwarp();
    for_classes([&](std::int64_t j, int) {
      key[j] = (static_cast<double>(s[j]) + (delta.values ? delta.values[j] : delta.other) + shift) * scale;
    });
    __syncwarp();
    for (std::int64_t e = lane(); e < delta.exceptions; e += 32) {
      const std::int32_t j = delta.column[e];
      key[j] = (static_cast<double>(s[j]) + delta.exception[e] + shift) * scale;
    }
    __syncwarp();
    if (lane() == 0) key[y] = at_y;
    __syncwarp();
  }

  __device__ double largest() const {
    double found[ways];
    for (double& one : found) one = minus_infinity;
    for_classes([&](std::int64_t j, int way) { found[way] = fmax(found[way], key[j]); });
    return warp_max(fmax(fmax(found[0], found[1]), fmax(found[2], found[3])));
  }

  // At most the K-th largest, and not far below it: the K-th largest of the largest of each lane, or, where lanes are
  // too few, what the K-th largest has in its upper 32 bits.
  __device__ double kth_largest(std::int64_t K) const {
    if (K > m) return minus_infinity;
    if (K <= 32) {
      double own = minus_infinity;
      for_classes([&](std::int64_t j, int) { own = fmax(own, key[j]); });
      int before = 0;
      for (int other = 0; other < 32; ++other) {
        const double theirs = __shfl_sync(~0u, own, other);
        before += theirs > own || (theirs == own && other < lane()) ? 1 : 0;
      }
      return __shfl_sync(~0u, own, __ffs(static_cast<int>(__ballot_sync(~0u, before == K - 1))) - 1);
    }
    std::uint32_t bits = 0;
    for (int bit = 31; bit >= 0; --bit) {
      const std::uint32_t trial = bits | 1u << bit;
      int count = 0;
      for_classes([&](std::int64_t j, int) { count += upper(key[j]) >= trial ? 1 : 0; });
      if (warp_count(count) >= K) bits = trial;
    }
    const auto all = static_cast<std::uint64_t>(bits) << 32;
    const double value = __longlong_as_double(static_cast<long long>(all >> 63 ? all & ~(1ull << 63) : ~all));
    return value == value ? value : minus_infinity;
  }

  // All keys >= threshold and > floor: sorted, the largest first; of equal keys the lowest class first, counted from
  // `first`.
  __device__ void collect(double threshold, double floor, std::int64_t first) {
    const std::int64_t size = keys_from(threshold, floor);
    choose_room(size);
    std::int64_t at = 0;
    for (std::int64_t from = 0; from < m; from += 32) {
      const std::int64_t j = from + lane();
      const bool wanted = j < m && key[j] >= threshold && key[j] > floor;
      const unsigned mask = __ballot_sync(~0u, wanted);
      if (wanted) raw[at + __popc(mask & ((1u << lane()) - 1))] = {key[j], static_cast<std::int32_t>(j)};
      at += __popc(mask);
    }
    __syncwarp();
    const auto place = [&](std::int32_t column) { return column >= first ? column - first : column - first + m; };
    for (std::int64_t e = lane(); e < size; e += 32) {
      const Ranked one = raw[e];
      std::int64_t rank = 0;
      for (std::int64_t f = 0; f < size; ++f) {
        const Ranked other = raw[f];
        rank += other.key > one.key || (other.key == one.key && place(other.column) < place(one.column)) ? 1 : 0;
      }
      sorted.at[rank] = one;
    }
    sorted.size = size;
    __syncwarp();
  }

  // L5 from the keys b_j = a_y - a_j, at y -infinity: those above a bound on the level that classes must exceed to
  // matter.
  __device__ void collect_for_projection(const LossView& loss, std::int64_t first) {
    const double floor = loss.family == Family::usunier ? 0.0 : minus_infinity;
    const double kth = kth_largest(loss.K);
    if (loss.K > 1) collect(kth, floor, 0);
    collect(level_below(loss, kth), floor, first);
  }

  // L5 with one weight, where the families coincide: as loss/projection.cpp has it, from the keys b_j, at y -infinity.
  // beta > 0 into raw, whose size it returns, and their sum.
  __device__ std::int64_t project_one(double rho, std::int64_t y, const AlphaRow& before, double& beta_sum) {
    beta_sum = 0.0;
    const double top = largest();
    if (!(top > 0.0)) return 0;
    double sum = 0.0;
    if (top > rho) sum_above(rho, 0.0, sum);
    const bool bounded = sum > rho;
    const double base = bounded ? top : 0.0;
    // The root for some of the keys is at most the root for all.
    const auto root = [&](double keys, std::int64_t count) {
      return bounded ? (keys - rho) / static_cast<double>(count) : keys / static_cast<double>(count + 1);
    };
    double theta = root(top - base, 1);
    if (before.size > 1) {
      double keys = 0.0;
      for (std::int32_t e = lane(); e < before.size; e += 32) {
        keys += before.column[e] == y ? 0.0 : key[before.column[e]] - base;
      }
      theta = fmax(theta, root(warp_sum(keys), before.size - 1));
    }
    for (std::int64_t last = 0, count = 1; count != last;) {
      last = count;
      count = sum_above(base, theta, sum);
      if (count == 0) break;  // rounding: the largest key alone
      theta = fmax(theta, root(sum, count));
    }
    int counted = 0;
    for_classes([&](std::int64_t j, int) { counted += (key[j] - base) - theta > 0.0 ? 1 : 0; });
    choose_room(warp_count(counted));
    std::int64_t size = 0;
    for (std::int64_t from = 0; from < m; from += 32) {
      const std::int64_t j = from + lane();
      const double beta = j < m ? (key[j] - base) - theta : 0.0;
      const unsigned mask = __ballot_sync(~0u, beta > 0.0);
      if (beta > 0.0) {
        raw[size + __popc(mask & ((1u << lane()) - 1))] = {beta, static_cast<std::int32_t>(j)};
        beta_sum += beta;
      }
      size += __popc(mask);
    }
    __syncwarp();
    beta_sum = warp_sum(beta_sum);
    return size;
  }

  // L5 of the top-k family, from the keys b_j, at y -infinity: about the K largest, and as long as the level found says
  // that others matter, these too. beta > 0 into raw, whose size it returns, and their sum.
  __device__ std::int64_t project_top_k(const LossView& loss, std::int64_t y, double& beta_sum) {
    constexpr int most_looks = 64;  // numbers that are none would be looked at for ever
    double threshold = kth_largest(loss.K);
    for (int look = 1;; ++look) {
      collect(threshold, minus_infinity, 0);
      const std::int64_t listed = sorted.size;
      double level;
      const std::int64_t size = project_list(loss, y, beta_sum, level);
      if (level >= threshold || look == most_looks || keys_from(level, minus_infinity) == listed) return size;
      threshold = level;
    }
  }

  // The projection of what is in the list: beta > 0 into raw, whose size it returns, and their sum; `level`: what is
  // not above it gets 0, in the list or not.
  __device__ std::int64_t project_list(const LossView& loss, std::int64_t y, double& beta_sum, double& level) {
    long long size = 0;
    beta_sum = 0.0;
    level = minus_infinity;
    if (lane() == 0 && (sorted.size > 0 || loss.family == Family::top_k)) {
      const auto write = [&](std::int32_t j, double beta) { raw[size++] = {beta, j}; };
      if (loss.family == Family::usunier) {
        pool_adjacent_violators(loss, 1.0, sorted);
        const Threshold at = find_threshold(loss, sorted);
        level = lowest_level(loss, sorted, at);
        beta_sum = write_usunier(sorted, at, write);
      } else {
        TopKLine line(loss, y, sorted);
        const double zeta = find_zeta(line);
        level = line.lowest_level(zeta);
        if (zeta > 0.0) beta_sum = line.write(zeta, write);
      }
    }
    level = __shfl_sync(~0u, level, 0);
    return from_lane_0(size, beta_sum);
  }

  // L3 from the keys delta_j + s_j, at y s_y: beta into raw, whose size it returns, and their sum.
  template <class Margin>
  __device__ std::int64_t vertex(const LossView& loss, std::int64_t y, double s_y, const Margin& margin_of,
                                 VertexValue& value, double& beta_sum) {
    const double kth = kth_largest(loss.K);
    collect(kth, loss.family == Family::usunier ? s_y : minus_infinity, 0);
    long long size = 0;
    beta_sum = 0.0;
    value = {0.0, 0.0};
    if (lane() == 0) {
      value = sorted_vertex(loss, s_y, y, sorted, margin_of, [&](std::int32_t j, double rho) {
        beta_sum += rho;
        raw[size++] = {rho, j};
      });
      if (!(value.phi > 0.0)) size = 0, beta_sum = 0.0;
    }
    value.phi = __shfl_sync(~0u, value.phi, 0);
    value.c_u = __shfl_sync(~0u, value.c_u, 0);
    return from_lane_0(size, beta_sum);
  }

  __device__ std::int64_t keys_from(double threshold, double floor) const {
    int count = 0;
    for_classes([&](std::int64_t j, int) { count += key[j] >= threshold && key[j] > floor ? 1 : 0; });
    return warp_count(count);
  }

  // How many keys exceed base + l, and the sum of what they have above base.
  __device__ std::int64_t sum_above(double base, double l, double& sum) const {
    double parts[ways] = {0.0, 0.0, 0.0, 0.0};
    int count = 0;
    for_classes([&](std::int64_t j, int way) {
      const double over = key[j] - base;
      parts[way] += over > l ? over : 0.0;
      count += over > l ? 1 : 0;
    });
    sum = warp_sum((parts[0] + parts[1]) + (parts[2] + parts[3]));
    return warp_count(count);
  }

  // For lists of this size: `raw` and `sorted`.
  __device__ void choose_room(std::int64_t size) {
    const bool fits = size <= few;
    raw = fits ? few_.raw : many_.raw + warp_ * (m + 1);
    sorted = {fits ? few_.sorted : many_.sorted + warp_ * (m + 1), 0, fits ? few_.block : many_.block + warp_ * (m + 1),
              0};
  }

  // More memory of the warp's own, with softmax alone.
  __device__ double* more() const { return many_.more + warp_ * 3 * m; }

 private:
  static constexpr int ways = 4;

  // visit(j, way) for all classes, a few at a time, so that none waits for the one before it; `way` says which of as
  // many sums a class belongs to.
  template <class Visit>
  __device__ void for_classes(const Visit& visit) const {
    std::int64_t from = lane();
    for (; from + 32 * (ways - 1) < m; from += 32 * ways) {
#pragma unroll
      for (int way = 0; way < ways; ++way) visit(from + 32 * way, way);
    }
    for (; from < m; from += 32) visit(from, 0);
  }

  // Where a level l takes what, of the K largest keys and all others: with r_k and B_k(l) the sums of the k largest rho
  // and of the k largest max(b - l, 0), beta above l adds up to min_k<K (r_k - B_k(l)) + sum_j max(b_j - l, 0), and has
  // to be min(l, R) in the Usunier family and is at most R in the other. The difference falls with l.
  struct Excess {
    double value, rate;  // the difference, and how fast it falls
    std::int64_t above;  // keys above l
  };
  __device__ Excess excess(const LossView& loss, double l) const {
    double sum;
    const std::int64_t above = sum_above(l, 0.0, sum);
    double r = 0.0, B = 0.0, least = 0.0;
    std::int64_t without = 0;
    for (std::int64_t k = 1; k < loss.K && k <= sorted.size && sorted.at[k - 1].key > l; ++k) {
      r += loss.rho[k - 1];
      B += sorted.at[k - 1].key - l;
      if (r - B < least) least = r - B, without = k;
    }
    const bool own = loss.family == Family::usunier && l < loss.rho_sum;
    return {sum + least - (own ? l : loss.rho_sum), static_cast<double>(above - without + (own ? 1 : 0)), above};
  }

  // At most the level of the projection, and near to it: by Newton's method from below, which does not overshoot where
  // K is 1, and is held back where it does.
  __device__ double level_below(const LossView& loss, double kth) const {
    constexpr int most_looks = 24;
    double low = kth - loss.rho[0];
    if (loss.family == Family::usunier) low = fmax(low, 0.0);
    if (!(low > minus_infinity)) return low;
    Excess here = excess(loss, low);
    double next = low + here.value / here.rate;
    for (int look = 0; look < most_looks && here.above > loss.K + 8 && next > low; ++look) {
      const Excess there = excess(loss, next);
      if (there.value >= 0.0) {
        low = next;
        here = there;
        next = low + here.value / here.rate;
      } else {
        next = low + 0.5 * (next - low);
      }
    }
    constexpr double rounding = 1e-11;
    return low - rounding * (fabs(low) + loss.rho_sum);
  }

  __device__ static std::uint32_t upper(double x) {
    const auto bits = static_cast<std::uint64_t>(__double_as_longlong(x));
    return static_cast<std::uint32_t>((bits >> 63 ? ~bits : bits | 1ull << 63) >> 32);
  }
  __device__ static std::int64_t from_lane_0(long long size, double& beta_sum) {
    __syncwarp();
    beta_sum = __shfl_sync(~0u, beta_sum, 0);
    return __shfl_sync(~0u, size, 0);
  }

  FewLists& few_;
  const ScratchView& many_;
  const std::int64_t warp_;
};

}  // namespace topwolf::cuda
