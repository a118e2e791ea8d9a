// The vertex of the dual set (L3) and, with it, the value of the loss (L1, L2): the K largest
// z_j = delta_j + s_j - s_y are found in one scan that looks closely only where a class can enter the list.

#include <algorithm>
#include <limits>

#include "loss/row.hpp"

namespace topwolf {
namespace {

using Ranked = RowScratch::Ranked;

bool before(const Ranked& a, const Ranked& b) {
  return a.key > b.key || (a.key == b.key && a.column < b.column);
}

// Keeps the K best keys, best first, by insertion; classes must be offered in ascending order.
class ShortList {
 public:
  ShortList(std::vector<Ranked>& list, std::int64_t capacity, double floor)
      : list_(list), capacity_(static_cast<std::size_t>(capacity)), threshold_(floor) {
    list_.clear();
  }

  double threshold() const { return threshold_; }

  void offer(double key, std::int32_t column) {
    if (!(key > threshold_)) return;
    if (list_.size() == capacity_) list_.pop_back();
    auto at = list_.end();
    while (at != list_.begin() && std::prev(at)->key < key) --at;
    list_.insert(at, {key, column});
    if (list_.size() == capacity_) threshold_ = list_.back().key;
  }

 private:
  std::vector<Ranked>& list_;
  std::size_t capacity_;
  double threshold_;  // keys not above it cannot enter
};

// Classes are scanned in strips: with unit margins a strip whose largest score cannot enter is skipped whole.
constexpr std::int64_t strip = 32;

template <class T>
T strip_max(const T* s) {
  T best = s[0];
  for (std::int64_t j = 1; j < strip; ++j) best = s[j] > best ? s[j] : best;
  return best;
}

template <class T, class Offer>
void scan(RowMargins delta, const T* s, std::int64_t m, std::int64_t y, const Offer& offer, const double& threshold) {
  for (std::int64_t begin = 0; begin < m; begin += strip) {
    const std::int64_t end = std::min(begin + strip, m);
    if (!delta && end - begin == strip && !(static_cast<double>(strip_max(s + begin)) + 1.0 > threshold)) continue;
    for (std::int64_t j = begin; j < end; ++j) {
      offer(static_cast<double>(s[j]) + margin(delta, j, y), static_cast<std::int32_t>(j));
    }
  }
}

// The K largest keys delta_j + s_j above `floor`, best first.
template <class T>
void rank(RowMargins delta, const T* s, std::int64_t m, std::int64_t y, std::int64_t K, double floor,
          std::vector<Ranked>& ranked) {
  constexpr std::int64_t insertion_limit = 24;
  if (K <= insertion_limit) {
    ShortList list(ranked, K, floor);
    double threshold = floor;
    scan(
        delta, s, m, y,
        [&](double key, std::int32_t j) {
          list.offer(key, j);
          threshold = list.threshold();
        },
        threshold);
    return;
  }
  ranked.clear();
  scan(
      delta, s, m, y,
      [&](double key, std::int32_t j) {
        if (key > floor) ranked.push_back({key, j});
      },
      floor);
  const auto kept = std::min<std::int64_t>(K, static_cast<std::int64_t>(ranked.size()));
  std::partial_sort(ranked.begin(), ranked.begin() + kept, ranked.end(), before);
  ranked.resize(static_cast<std::size_t>(kept));
}

}  // namespace

template <class T>
VertexValue vertex(const Loss& loss, RowMargins delta, const T* s, std::int64_t m, std::int64_t y, SparseRow& u,
                   RowScratch& scratch) {
  u.clear();
  const double s_y = static_cast<double>(s[y]);
  const bool usunier = loss.family == Family::usunier;
  const double floor = usunier ? s_y : -std::numeric_limits<double>::infinity();
  auto& ranked = scratch.ranked;
  rank(delta, s, m, y, loss.K(), floor, ranked);

  VertexValue value{0.0, 0.0};
  double beta_sum = 0.0;  // over j != y
  for (std::size_t r = 0; r < ranked.size(); ++r) {
    const auto [key, j] = ranked[r];
    value.phi += loss.rho[r] * (key - s_y);
    if (j == y) continue;  // beta_y cancels in u
    value.c_u += loss.rho[r] * margin(delta, j, y);
    beta_sum += loss.rho[r];
    u.push_back({j, -loss.rho[r]});
  }
  if (!(value.phi > 0.0)) {
    u.clear();
    return {0.0, 0.0};
  }
  u.push_back({static_cast<std::int32_t>(y), beta_sum});
  std::sort(u.begin(), u.end(), [](const Entry& a, const Entry& b) { return a.column < b.column; });
  return value;
}

template VertexValue vertex(const Loss&, RowMargins, const float*, std::int64_t, std::int64_t, SparseRow&, RowScratch&);
template VertexValue vertex(const Loss&, RowMargins, const double*, std::int64_t, std::int64_t, SparseRow&,
                            RowScratch&);

}  // namespace topwolf
