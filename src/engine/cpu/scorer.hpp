// Scores S = X W^T of a range of rows, less their mean where there is one, in precision R, for dense and CSR features;
// the constant feature is virtual.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "data/rows.hpp"

namespace topwolf {

// Rows per product: a panel of scores that fits a cache. Depends on m alone, so that results do not depend on the
// number of threads.
std::int64_t panel_rows(std::int64_t m);

template <class R>
class Scorer {
 public:
  // mean: d numbers that outlive this; null: none.
  Scorer(const FeatureView& X, std::int64_t m, const Bias& bias, const double* mean = nullptr);

  // W: (m x D), row-major. Kept as R: class-major for dense features, feature-major for CSR.
  void set_weights(const double* W, int threads);

  // S: (end - begin) x m, row-major. `scratch` grows to what one panel needs.
  void scores(std::int64_t begin, std::int64_t end, R* S, AlignedVector<R>& scratch) const;

 private:
  FeatureView X_;
  std::int64_t m_, d_;
  Bias bias_;
  const double* mean_;
  std::int64_t pitch_ = 0;      // dense: d, CSR: m, rounded up to whole vectors
  AlignedVector<R> weights_;    // dense: (m x pitch); CSR: (d x pitch)
  std::vector<R> bias_scores_;  // m: what the constant feature adds to every row's, and of sparse rows the mean
};

}  // namespace topwolf
