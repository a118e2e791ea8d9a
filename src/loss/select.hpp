// The largest of many keys, without sorting them all: the inner loop of vertex and projection.
#pragma once

#include <cstdint>
#include <vector>

#include "loss/row.hpp"

namespace topwolf {

// key_j = (delta_j + s_j + shift) * scale; what stands at y is the caller's to replace.
void margin_keys(const RowMargins& delta, const float* s, std::int64_t m, double shift, double scale,
                 std::vector<double>& key);
void margin_keys(const RowMargins& delta, const double* s, std::int64_t m, double shift, double scale,
                 std::vector<double>& key);

struct KeyBounds {
  double largest;
  double kth;  // at most the K-th largest
};

// `copy` is scratch.
KeyBounds bound_keys(const std::vector<double>& key, std::int64_t K, std::vector<double>& copy);

// All keys >= threshold and > floor, largest first; of equal keys the lower class first. `picked` is scratch.
void collect_keys(const std::vector<double>& key, double threshold, double floor, std::vector<std::int32_t>& picked,
                  std::vector<Ranked>& out);

}  // namespace topwolf
