// A bound on the K-th largest key that is good enough to leave few candidates, which are then sorted.

#include "loss/select.hpp"

#include <algorithm>
#include <limits>

#include "kernels/kernels.hpp"

namespace topwolf {
namespace {

// What is written over holds nothing of `other`, which may be as large as it likes.
template <class T>
void set_exceptions(const RowMargins& delta, const T* s, double shift, double scale, std::vector<double>& key) {
  for (std::int64_t e = 0; e < delta.exceptions; ++e) {
    const std::int32_t j = delta.column[e];
    key[static_cast<std::size_t>(j)] = (static_cast<double>(s[j]) + delta.exception[e] + shift) * scale;
  }
}

}  // namespace

void margin_keys(const RowMargins& delta, const float* s, std::int64_t m, double shift, double scale,
                 std::vector<double>& key) {
  key.resize(static_cast<std::size_t>(m));
  kernels().keys_f32(s, delta.values, delta.other, m, shift, scale, key.data());
  set_exceptions(delta, s, shift, scale, key);
}

void margin_keys(const RowMargins& delta, const double* s, std::int64_t m, double shift, double scale,
                 std::vector<double>& key) {
  key.resize(static_cast<std::size_t>(m));
  kernels().keys_f64(s, delta.values, delta.other, m, shift, scale, key.data());
  set_exceptions(delta, s, shift, scale, key);
}

KeyBounds bound_keys(const std::vector<double>& key, std::int64_t K, std::vector<double>& copy) {
  // Up to here the kernel takes the largest away, K - 1 times; above, a partial sort.
  constexpr std::int64_t few = 24;
  if (K > static_cast<std::int64_t>(key.size())) {
    return {*std::max_element(key.begin(), key.end()), -std::numeric_limits<double>::infinity()};
  }
  if (K > few) {
    copy = key;
    std::nth_element(copy.begin(), copy.begin() + (K - 1), copy.end(), std::greater<>());
    return {*std::max_element(copy.begin(), copy.begin() + K), copy[static_cast<std::size_t>(K - 1)]};
  }
  KeyBounds bounds{};
  bounds.largest = kernels().bound(key.data(), static_cast<std::int64_t>(key.size()), K, &bounds.kth);
  return bounds;
}

void collect_keys(const std::vector<double>& key, double threshold, double floor, std::vector<std::int32_t>& picked,
                  std::vector<Ranked>& out) {
  // Room for all classes: the kernel does not look where it ends.
  if (picked.size() < key.size()) picked.resize(key.size());
  const std::int64_t count =
      kernels().pick(key.data(), static_cast<std::int64_t>(key.size()), std::max(threshold, floor), picked.data());
  out.clear();
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int32_t j = picked[static_cast<std::size_t>(p)];
    if (key[static_cast<std::size_t>(j)] > floor) out.push_back({key[static_cast<std::size_t>(j)], j});
  }
  std::sort(out.begin(), out.end());
}

}  // namespace topwolf
