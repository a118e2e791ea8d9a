// What a cross-validation asks of one fold: its rows by their weights, whether it makes sense, and the error on the
// rows it holds out.
#pragma once

#include <vector>

#include "topwolf/select.hpp"
#include "train/trainer.hpp"

namespace topwolf {

void check_folds(const std::vector<Fold>& folds, const Dataset& data);

// Error{option} for a metric that is none, and Error{data} where by one of the errors every model would be as good as
// every other.
void check_metric(const Metric& metric, const Dataset& data);

// All that a search can be refused for before its first fit.
void check_search(const CvOptions& options, const Dataset& data);

// The loss whose duals have the most entries: what is enough for it is enough for all.
const LossSpec& largest_loss(const CvOptions& options, std::int64_t m);

// 0 for the rows that the fold holds out.
std::vector<double> weights_of(const Dataset& data, const Fold& fold);

// By the metric, of a fit of a trainer that has all rows. The pass that certified the weights has ranked the classes of
// all of them.
double held_out_error(const Metric& metric, const Trainer& rows, const Fold& fold, const TrainOptions& options,
                      const Fit& fit, int threads);

}  // namespace topwolf
