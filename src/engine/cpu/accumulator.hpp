// W(U) += U^T X, in double or float, for a chunk of rows whose U is sparse: the entries are grouped by class, and tasks
// own (class, strip of columns), so that every sum runs in the order of the rows whatever the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/host/entry_groups.hpp"
#include "engine/problem.hpp"

namespace topwolf {

// One entry u_ij, weighted.
struct RowEntry {
  std::int64_t row;
  std::int32_t column;
  double value;
};

// The entries that a change of the alpha of rows[r] by `times` change[r] adds, scaled by omega / (lambda N), D2.
// `local`: row r of the batch instead of row rows[r] of X.
void append_entries(const Problem& problem, std::span<const std::int64_t> rows, const std::vector<SparseRow>& change,
                    double times, bool local, std::vector<RowEntry>& entries);

template <class Out>
class Accumulator {
 public:
  Accumulator(const FeatureView& X, std::int64_t m, const Bias& bias);

  // W: (m x D), row-major. The entries come in panels, rows ascending.
  void add(const std::vector<std::vector<RowEntry>>& panels, std::vector<Out>& W, int threads);

 private:
  FeatureView X_;
  std::int64_t m_, d_, D_;
  Bias bias_;
  EntryGroups<double> by_class_;
};

}  // namespace topwolf
