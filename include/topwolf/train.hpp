// Training in one call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"
#include "topwolf/model.hpp"
#include "topwolf/options.hpp"
#include "topwolf/result.hpp"

namespace topwolf {

struct TrainResult : Outcome {
  Model model;
  int threads = 1;     // that were allowed: those of the options or, resumed, of the checkpoint
  std::string choice;  // which solver and representation, and why: a sentence
  SparseRows dual;     // A (n x m), with TrainOptions::keep_dual
};

// Called after every iteration. Return false to stop: status interrupted.
using Observer = std::function<bool(const Progress&)>;

TrainResult train(const Dataset& data, const TrainOptions& options = {}, const Observer& observer = {});

// P(W) lies between the two, whatever rounding did (docs/maths.md, P1, G1); infinite `most` where a score overflows.
// The two are some 1e-14 of P apart, unless scores cancel.
struct PrimalRange {
  double least = 0.0, most = 0.0;
};
// At weights (m x D) from anywhere, or with class features at V (p x D); the loss, lambda and the bias are the
// options'. Where kept_columns() names columns, weights on these alone will do.
PrimalRange objective_range(const Dataset& data, const TrainOptions& options, const std::vector<double>& W);
// P(W) rounded up: a bound on the optimum, too.
double objective(const Dataset& data, const TrainOptions& options, const std::vector<double>& W);

// A sentence when C ||x||^2 is so large that convergence will be slow, naming the remedy; else empty.
std::string conditioning_warning(const Dataset& data, const TrainOptions& options);

}  // namespace topwolf
