// Probabilities from scores: e^(s_j / T) over the sum of all, with one temperature T. A model of softmax has its own;
// any other can be given one by calibrate().
#pragma once

#include <cstdint>
#include <vector>

#include "topwolf/model.hpp"

namespace topwolf {

// How good probabilities are, over the rows whose class the model knows.
struct ProbabilityErrors {
  double log_loss = 0.0;     // the mean of -log of what the true class was given
  double brier = 0.0;        // the mean of sum_j (p_j - [j is the true class])^2, from 0 to 2
  double calibration = 0.0;  // how far the best class's probability is from how often it is right, in 15 bins
};
// At this temperature; y as in top_k_errors().
ProbabilityErrors probability_errors(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y,
                                     double temperature, int threads = 0, const std::vector<double>& weights = {});

// The temperature with the least log loss on rows that were not trained on, y as in top_k_errors(). As in Platt's
// scaling one example of n + 2 is taken to have another class than its own, any of them alike, so that no number of
// right answers makes a model certain. Error{data} where no row has a class of the model, or higher scores do not go
// with the true class.
double calibrate(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y, int threads = 0,
                 const std::vector<double>& weights = {});

}  // namespace topwolf
