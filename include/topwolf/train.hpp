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

// Of the rows as they were trained on, without the constant feature.
struct RowLengths {
  double least = 0.0;   // of the shortest row
  double median = 0.0;  // with an even number of rows, the longer one in the middle
  double most = 0.0;    // of the longest
};

// How training ended, and the model that its certificate is about.
struct TrainResult : Outcome {
  Model model;             // the weights as they are certified
  std::int64_t rows = 0;   // n, those of weight 0 included
  int threads = 1;         // that were allowed
  std::string choice;      // which solver and representation, and why: a sentence
  SparseRows dual;         // A (n x m), with TrainOptions::keep_dual
  RowLengths row_lengths;  // how long the rows were
};

// Called after every iteration. Return false to stop: status interrupted.
using Observer = std::function<bool(const Progress&)>;

// Minimises the regularised loss over the rows until the gap is proved to be small, or a limit is reached. Error{data}
// for rows, Error{option} for options, Error{memory}, before it begins, for a problem that cannot be solved.
TrainResult train(const Dataset& data, const TrainOptions& options = {}, const Observer& observer = {});

// P(W) lies between the two, whatever rounding did (ledger, P1, G1); infinite `most` where a score overflows.
// The two are some 1e-14 of P apart, unless scores cancel.
struct PrimalRange {
  double least = 0.0;  // not above P(W)
  double most = 0.0;   // not below P(W)
};
// At weights (m x D) from anywhere, or with class features at V (p x D); the loss, lambda, the bias and centring are
// the options'. The weights are those of rows as they are, centred or not. Where kept_columns() names columns, weights
// on these alone will do.
PrimalRange objective_range(const Dataset& data, const TrainOptions& options, const std::vector<double>& W);
// P(W) rounded up: a bound on the optimum, too.
double objective(const Dataset& data, const TrainOptions& options, const std::vector<double>& W);

}  // namespace topwolf
