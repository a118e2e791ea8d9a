// The block step where the classes of an example are coupled (ledger, L8): no closed form, so projected gradient
// steps, each followed by an exact line search. No step lowers the dual.
#pragma once

#include <vector>

#include "engine/host/block_scores.hpp"

namespace topwolf {

class CurvedStep {
 public:
  // lengths2: max_j ||psi(x_i, j)||^2 of every example; coupling as in Geometry.
  CurvedStep(const std::vector<double>& lengths2, double coupling) : lengths2_(lengths2), coupling_(coupling) {}

  // Moves the alpha of example i, whose scores are s and whose share of the gap is `share`, to where its part of the
  // dual is larger, and says by how much. factor: omega_i / (lambda N) times what G says about the row itself.
  double take(const Problem& problem, BlockScores& scores, std::int64_t i, double* s, double factor, double share,
              SparseRow& alpha, RowScratch& scratch);

  const std::vector<double>& spread() const { return spread_; }  // of the whole change
  void exchange(State& state) { state("curvature_ratio", ratio_); }

 private:
  const std::vector<double>& lengths2_;
  double coupling_;
  double ratio_ = 1.0;  // of the curvature along the last step to that of the longest psi
  SparseRow next_, step_, mixed_;
  std::vector<double> step_spread_, spread_;
};

}  // namespace topwolf
