// Class j belongs to lane j mod 32. The K-th largest of the lanes' maxima is a lower bound on the K-th largest key that
// is good enough to leave few candidates.

#include "loss/select.hpp"

#include <algorithm>

#include "kernels/kernels.hpp"

namespace topwolf {
namespace {

// The K-th largest of the maxima, by insertion: K is small.
double kth_largest(const double* maxima, std::int64_t K) {
  double best[key_lanes];
  std::int64_t count = 0;
  for (std::int64_t l = 0; l < key_lanes; ++l) {
    if (count == K && !(maxima[l] > best[K - 1])) continue;
    std::int64_t at = count < K ? count++ : K - 1;
    for (; at > 0 && best[at - 1] < maxima[l]; --at) best[at] = best[at - 1];
    best[at] = maxima[l];
  }
  return best[K - 1];
}

}  // namespace

KeyBounds bound_keys(const std::vector<double>& key, std::int64_t K, std::vector<double>& copy) {
  const auto m = static_cast<std::int64_t>(key.size());
  constexpr std::int64_t few = 24;
  if (K > few) {
    copy = key;
    std::nth_element(copy.begin(), copy.begin() + (K - 1), copy.end(), std::greater<>());
    return {*std::max_element(copy.begin(), copy.begin() + K), copy[static_cast<std::size_t>(K - 1)]};
  }
  double maxima[key_lanes];
  kernels().lane_maxima(key.data(), m, maxima);
  const double largest = *std::max_element(maxima, maxima + key_lanes);
  return {largest, K > 1 ? kth_largest(maxima, K) : largest};
}

void collect_keys(const std::vector<double>& key, double threshold, double floor, std::vector<std::int32_t>& picked,
                  std::vector<RowScratch::Ranked>& out) {
  if (picked.size() < key.size()) picked.resize(key.size());
  const std::int64_t count =
      kernels().pick(key.data(), static_cast<std::int64_t>(key.size()), std::max(threshold, floor), picked.data());
  out.clear();
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int32_t j = picked[static_cast<std::size_t>(p)];
    if (key[static_cast<std::size_t>(j)] > floor) out.push_back({key[static_cast<std::size_t>(j)], j});
  }
  std::sort(out.begin(), out.end(), [](const RowScratch::Ranked& a, const RowScratch::Ranked& b) {
    return a.key > b.key || (a.key == b.key && a.column < b.column);
  });
}

}  // namespace topwolf
