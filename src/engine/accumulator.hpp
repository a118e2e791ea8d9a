// W(U) += U^T X, in double, for a chunk of rows whose U is sparse: the entries are grouped by class, and tasks own
// (class, strip of columns), so that every sum runs in the order of the rows whatever the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "topwolf/matrix.hpp"

namespace topwolf {

// One entry u_ij, weighted.
struct RowEntry {
  std::int64_t row;
  std::int32_t column;
  double value;
};

class Accumulator {
 public:
  Accumulator(const FeatureView& X, std::int64_t m, double bias);

  // W: (m x D), row-major. The entries come in panels, rows ascending.
  void add(const std::vector<std::vector<RowEntry>>& panels, std::vector<double>& W, int threads);

 private:
  void group_by_class(const std::vector<std::vector<RowEntry>>& panels);

  FeatureView X_;
  std::int64_t m_, d_, D_;
  double bias_;
  std::vector<std::int64_t> begin_;  // m + 1: entries of class j are [begin_[j], begin_[j + 1])
  std::vector<std::int64_t> row_;
  std::vector<double> value_;
};

}  // namespace topwolf
