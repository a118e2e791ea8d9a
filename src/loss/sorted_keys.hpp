// Vertex and projection (L3, L5) once the keys that matter are in a sorted list: one source for host and device. No
// allocation, no class that is not in the list, nothing that knows where the list came from.
//
// Keys are b_j = a_y - a_j for j != y, largest first, and isotonic regression (pool adjacent violators) is of
// b - zeta rho. A pool is kept as its first value and small differences to it, so that |a| = 1e9 loses no feasibility:
// a pooled member gets beta_j = mean(rho) + (b_j - mean(b)), in which the large parts never meet. Keys that are equal
// stay equal, whatever their size: where rho is nothing beside them, ties share it and everybody else gets nothing.
#pragma once

#include <cstdint>
#include <limits>

#include "loss/both.hpp"
#include "topwolf/loss.hpp"

namespace topwolf {

struct Ranked {
  double key;
  std::int32_t column;
  // Largest key first; of equal keys the lower class.
  TOPWOLF_BOTH bool operator<(const Ranked& other) const {
    return key > other.key || (key == other.key && column < other.column);
  }
};

// Neighbours of the sorted list that isotonic regression has pooled.
struct PooledBlock {
  double first;      // value of the first (largest) member
  double deviation;  // mean of member values, minus first
  double weight;     // mean of the members' rho
  std::int64_t begin, end;
};

// A Loss without its memory.
struct LossView {
  Family family;
  const double* rho;  // K
  std::int64_t K;
  double rho_sum;
  double smoothing;
  double temperature;
  bool operator==(const LossView&) const = default;
};
inline LossView view_of(const Loss& loss) {
  return {loss.family, loss.rho.data(), loss.K(), loss.rho_sum(), loss.smoothing, loss.temperature};
}

// The list, and room for as many blocks; for the top-k family there is room for one key more.
struct SortedKeys {
  Ranked* at;
  std::int64_t size;
  PooledBlock* block;
  std::int64_t blocks;
};

TOPWOLF_BOTH inline double rho_at(const LossView& loss, std::int64_t rank) {
  return rank < loss.K ? loss.rho[rank] : 0.0;
}

TOPWOLF_BOTH inline double level(const PooledBlock& block, double zeta) {
  return block.first + block.deviation - zeta * block.weight;
}

TOPWOLF_BOTH inline double pooled_beta(const PooledBlock& block, double zeta, double b) {
  return zeta * block.weight + ((b - block.first) - block.deviation);
}

// Non-increasing regression of key - zeta rho; the blocks cover the list in order.
TOPWOLF_BOTH inline void pool_adjacent_violators(const LossView& loss, double zeta, SortedKeys& keys) {
  keys.blocks = 0;
  for (std::int64_t r = 0; r < keys.size; ++r) {
    PooledBlock last{keys.at[r].key, 0.0, rho_at(loss, r), r, r + 1};
    while (keys.blocks > 0) {
      const PooledBlock& left = keys.block[keys.blocks - 1];
      const double apart = last.first - left.first;
      const double rise = apart + (last.deviation - left.deviation) - zeta * (last.weight - left.weight);
      if (!(rise > 0.0)) break;
      const double n_left = static_cast<double>(left.end - left.begin);
      const double n_last = static_cast<double>(last.end - last.begin);
      const double share = n_last / (n_left + n_last);
      last = {left.first, left.deviation + share * (apart + last.deviation - left.deviation),
              left.weight + share * (last.weight - left.weight), left.begin, last.end};
      --keys.blocks;
    }
    keys.block[keys.blocks++] = last;
  }
}

// ---- Usunier family

// The root theta of sum_j beta_j(theta) = theta, and with it the number of blocks that are saturated (level >= theta).
struct Threshold {
  double theta;
  std::int64_t saturated;
};

// Sweeps theta downwards over the breakpoints {b_j} and {levels}. Between two of them
// sum_j beta_j - theta = saturated_sum + open_sum - (open + 1) theta, open being the b_j > theta of blocks with
// level < theta.
TOPWOLF_BOTH inline Threshold find_threshold(const LossView& loss, const SortedKeys& keys) {
  // The sum of beta is at most that of rho.
  double theta = keys.at[0].key < loss.rho_sum ? keys.at[0].key : loss.rho_sum;
  double saturated_sum = 0.0, open_sum = 0.0;
  std::int64_t saturated = 0;
  std::int64_t next = 0;  // first b not yet counted, in an open block or beyond theta
  while (true) {
    while (saturated < keys.blocks && level(keys.block[saturated], 1.0) >= theta) {
      const PooledBlock& block = keys.block[saturated++];
      const std::int64_t counted = next < block.end ? next : block.end;
      for (std::int64_t r = block.begin; r < counted; ++r) open_sum -= keys.at[r].key;
      saturated_sum += static_cast<double>(block.end - block.begin) * block.weight;
      if (next < block.end) next = block.end;
    }
    while (next < keys.size && keys.at[next].key >= theta) open_sum += keys.at[next++].key;
    double breakpoint = 0.0;
    if (saturated < keys.blocks) {
      const double at = level(keys.block[saturated], 1.0);
      if (at > breakpoint) breakpoint = at;
    }
    if (next < keys.size && keys.at[next].key > breakpoint) breakpoint = keys.at[next].key;
    const std::int64_t open_end = saturated == 0 ? 0 : keys.block[saturated - 1].end;
    const double root = (saturated_sum + open_sum) / static_cast<double>(next - open_end + 1);
    if (root >= breakpoint || breakpoint <= 0.0) {
      return {root < 0.0 ? 0.0 : theta < root ? theta : root, saturated};
    }
    theta = breakpoint;
  }
}

// Entries of at most this get beta = 0: where all blocks with weight are saturated nothing below them moves.
TOPWOLF_BOTH inline double lowest_level(const LossView& loss, const SortedKeys& keys, const Threshold& at) {
  std::int64_t weighted = 0;
  while (weighted < keys.blocks && keys.block[weighted].begin < loss.K) ++weighted;
  return weighted - 1 < at.saturated ? level(keys.block[weighted - 1], 1.0) : at.theta;
}

// Calls write(class, beta) for beta > 0; returns their sum.
template <class Write>
TOPWOLF_BOTH double write_usunier(const SortedKeys& keys, const Threshold& at, const Write& write) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < keys.blocks; ++i) {
    const PooledBlock& block = keys.block[i];
    for (std::int64_t r = block.begin; r < block.end; ++r) {
      const double key = keys.at[r].key;
      const double beta = i < at.saturated ? pooled_beta(block, 1.0, key) : key - at.theta;
      if (!(beta > 0.0)) continue;
      sum += beta;
      write(keys.at[r].column, beta);
    }
  }
  return sum;
}

// ---- Top-k family

// phi'(zeta) = sum(rho) x_y - sum_j rho_j x_(j) and its slope; x is the regression with b_y = zeta sum(rho) in the
// list.
struct Slope {
  double value;
  double slope;
};

class TopKLine {
 public:
  TOPWOLF_BOTH TopKLine(const LossView& loss, std::int64_t y, SortedKeys& keys) : loss_(loss), y_(y), keys_(keys) {}

  // Puts y at its place for zeta, regresses, and returns phi'(zeta).
  TOPWOLF_BOTH Slope at(double zeta) {
    place_label(zeta * loss_.rho_sum);
    pool_adjacent_violators(loss_, zeta, keys_);
    const PooledBlock& own = block_of(label_rank_);
    const double own_rate = rate(own);
    Slope result{0.0, 0.0};
    for (std::int64_t i = 0; i < keys_.blocks && keys_.block[i].begin < loss_.K; ++i) {
      const PooledBlock& block = keys_.block[i];
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
  TOPWOLF_BOTH double lowest_level(double zeta) const {
    if (keys_.size < loss_.K) return -std::numeric_limits<double>::infinity();
    return level(block_of(loss_.K - 1), zeta);
  }

  // Calls write(class, beta) for beta > 0 of the others; returns their sum.
  template <class Write>
  TOPWOLF_BOTH double write(double zeta, const Write& write) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < keys_.blocks; ++i) {
      const PooledBlock& block = keys_.block[i];
      for (std::int64_t r = block.begin; r < block.end; ++r) {
        if (r == label_rank_) continue;
        const double beta = pooled_beta(block, zeta, keys_.at[r].key);
        if (!(beta > 0.0)) continue;
        sum += beta;
        write(keys_.at[r].column, beta);
      }
    }
    return sum;
  }

 private:
  // Derivative of the block's level with respect to zeta.
  TOPWOLF_BOTH double rate(const PooledBlock& block) const {
    const bool has_label = block.begin <= label_rank_ && label_rank_ < block.end;
    return (has_label ? loss_.rho_sum / static_cast<double>(block.end - block.begin) : 0.0) - block.weight;
  }

  TOPWOLF_BOTH const PooledBlock& block_of(std::int64_t rank) const {
    std::int64_t low = 0, high = keys_.blocks;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (keys_.block[middle].end <= rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return keys_.block[low];
  }

  // The list is sorted but for the label, which moves to where its new key belongs.
  TOPWOLF_BOTH void place_label(double key) {
    if (label_rank_ < 0) label_rank_ = keys_.size++;  // at the end, where there is room for it
    const Ranked label{key, static_cast<std::int32_t>(y_)};
    for (; label_rank_ + 1 < keys_.size && keys_.at[label_rank_ + 1] < label; ++label_rank_) {
      keys_.at[label_rank_] = keys_.at[label_rank_ + 1];
    }
    for (; label_rank_ > 0 && label < keys_.at[label_rank_ - 1]; --label_rank_) {
      keys_.at[label_rank_] = keys_.at[label_rank_ - 1];
    }
    keys_.at[label_rank_] = label;
  }

  const LossView loss_;
  const std::int64_t y_;
  SortedKeys& keys_;
  std::int64_t label_rank_ = -1;
};

// phi' is monotone and piecewise linear: Newton from inside a bracket ends on the root's piece, bisection keeps it
// safe. 0 where nothing is gained.
TOPWOLF_BOTH inline double find_zeta(TopKLine& line) {
  if (line.at(0.0).value >= 0.0) return 0.0;
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
    if (here.value < 0.0) {
      low = zeta;
    } else {
      high = zeta;
    }
  }
  return zeta;
}

// ---- The vertex

// What a vertex says besides itself.
struct VertexValue {
  double phi;  // Phi(s) = <c - s, u>, and T H(beta) with softmax
  double c_u;  // worth(u)
};

// L3, from the largest keys delta_j + s_j (at y: s_y). Calls write(class, rho) for the classes besides y; what it wrote
// counts for nothing where phi is 0.
template <class Margin, class Write>
TOPWOLF_BOTH VertexValue sorted_vertex(const LossView& loss, double s_y, std::int64_t y, const SortedKeys& keys,
                                       const Margin& margin_of, const Write& write) {
  VertexValue value{0.0, 0.0};
  for (std::int64_t r = 0; r < keys.size && r < loss.K; ++r) {
    const Ranked& one = keys.at[r];
    value.phi += loss.rho[r] * (one.key - s_y);
    if (one.column == y) continue;  // beta_y cancels in u
    value.c_u += loss.rho[r] * margin_of(one.column);
    write(one.column, loss.rho[r]);
  }
  // Top-k's max(0, .): a sum that is not positive puts no weight anywhere.
  return value.phi > 0.0 ? value : VertexValue{0.0, 0.0};
}

}  // namespace topwolf
