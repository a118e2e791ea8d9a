// The kernels that projections and vertices stand on, in every copy that this machine can run, against plain loops.
#include "kernels/kernels.hpp"

#include <limits>
#include <numeric>
#include <vector>

#include "bytes.hpp"
#include "fuzz.hpp"

namespace topwolf {
extern const Kernels kernels_baseline;
#ifdef __x86_64__
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif
}  // namespace topwolf

using namespace topwolf;

namespace {

std::vector<const Kernels*> runnable() {
  std::vector<const Kernels*> list{&kernels_baseline};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) list.push_back(&kernels_avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    list.push_back(&kernels_avx512);
  }
#endif
  return list;
}

void check(const Kernels& kernels, const std::vector<double>& key, double threshold) {
  const auto m = static_cast<std::int64_t>(key.size());
  std::vector<std::int32_t> picked(key.size()), wanted;
  for (std::size_t j = 0; j < key.size(); ++j) {
    if (key[j] >= threshold) wanted.push_back(static_cast<std::int32_t>(j));
  }
  picked.resize(static_cast<std::size_t>(kernels.pick(key.data(), m, threshold, picked.data())));
  fuzz::require(picked == wanted, "what is at least the threshold is picked");

  std::vector<double> shifted;
  long double sum_wanted = 0.0;
  std::int64_t above = 0;
  for (const double k : key) {
    const double apart = shifted.emplace_back(k - threshold);
    if (!(apart > 0.0)) continue;
    ++above;
    sum_wanted += apart;
  }
  double sum = 0.0;
  fuzz::require(kernels.sum_above(shifted.data(), m, 0.0, 0.0, &sum) == above, "what is above is counted");
  fuzz::require(sum_wanted > 1e308L || std::abs(sum - sum_wanted) <= 1e-14L * sum_wanted, "what is above is summed");

  for (std::int64_t K = 1; K <= 4; ++K) {
    double kth = 0.0;
    const double largest = kernels.bound(key.data(), m, K, &kth);
    fuzz::require(largest == *std::max_element(key.begin(), key.end()), "the largest key is found");
    std::vector<double> sorted = key;
    sorted.resize(std::max<std::size_t>(key.size(), 4), -std::numeric_limits<double>::infinity());
    std::sort(sorted.rbegin(), sorted.rend());
    fuzz::require(kth <= sorted[static_cast<std::size_t>(K - 1)], "the bound is none above the K-th largest");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const double threshold = bytes.finite_number();
  std::vector<double> key(1 + static_cast<std::size_t>(bytes.below(140)));
  for (double& k : key) {
    const double value = bytes.number();  // -infinity marks the label's own class
    k = std::isfinite(value) ? value : -std::numeric_limits<double>::infinity();
  }
  for (const Kernels* kernels : runnable()) check(*kernels, key, threshold);
  return 0;
}
