#include "train/fold_fits.hpp"

#include <algorithm>
#include <array>

#include "core/fail.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/evaluate.hpp"

namespace topwolf {
namespace {

// The k of the metric.
std::int64_t place_of(Metric metric) {
  constexpr std::array<std::int64_t, 4> places{1, 3, 5, 10};
  return places[static_cast<std::size_t>(metric)];
}

double mean_cost_of(const Trainer& rows, const Fold& fold, const TrainOptions& options, const Fit& fit, int threads) {
  const Dataset& data = rows.data();
  const Dataset held_out = subset(data, fold.held_out);
  Classifier classifier;
  classifier.d = data.X.cols();
  classifier.columns = rows.columns();
  classifier.bias = options.bias;
  classifier.W = rows.class_weights(fit.W);
  classifier.classes = data.classes;
  return mean_cost(Predictor(classifier, Rows::normalized, threads), held_out.X, held_out.y,
                   {options.loss.cost_matrix, held_out.margins}, threads, held_out.weights);
}

}  // namespace

std::vector<double> weights_of(const Dataset& data, const Fold& fold) {
  std::vector<double> weights(data.y.size(), 0.0);
  for (const std::int64_t i : fold.training) {
    const auto at = static_cast<std::size_t>(i);
    weights.at(at) += data.weights.empty() ? 1.0 : data.weights[at];
  }
  return weights;
}

void check_folds(const std::vector<Fold>& folds, const Dataset& data) {
  const std::int64_t n = data.X.rows();
  if (folds.size() < 2) fail(ErrorKind::option, "there must be at least 2 folds, not {}", folds.size());
  for (const Fold& fold : folds) {
    if (fold.training.empty() || fold.held_out.empty()) {
      fail(ErrorKind::data, "every fold needs rows for training and rows that are held out");
    }
    for (const auto* rows : {&fold.training, &fold.held_out}) {
      const auto [low, high] = std::minmax_element(rows->begin(), rows->end());
      if (*low < 0 || *high >= n) {
        fail(ErrorKind::data, "a fold names row {}, outside 0 .. {}", *low < 0 ? *low : *high, n - 1);
      }
      const bool weighs = data.weights.empty() || std::any_of(rows->begin(), rows->end(), [&](std::int64_t i) {
                            return data.weights[static_cast<std::size_t>(i)] > 0.0;
                          });
      if (!weighs) fail(ErrorKind::data, "a fold has only rows of weight 0 to train on or to hold out");
    }
  }
}

void check_metric(Metric metric, const Dataset& data) {
  if (metric == Metric::cost || place_of(metric) < data.classes.size()) return;
  fail(ErrorKind::data, "the {} error of {} classes is always 0; take a smaller k", to_string(metric),
       data.classes.size());
}

double held_out_error(Metric metric, const Trainer& rows, const Fold& fold, const TrainOptions& options, const Fit& fit,
                      int threads) {
  if (metric == Metric::cost) return mean_cost_of(rows, fold, options, fit, threads);
  const Dataset& data = rows.data();
  std::vector<std::int32_t> ranks;
  std::vector<double> weights;
  for (const std::int64_t i : fold.held_out) {
    const auto at = static_cast<std::size_t>(i);
    ranks.push_back(fit.ranks[at]);
    if (!data.weights.empty()) weights.push_back(data.weights[at]);
  }
  return errors_of_ranks(ranks, {place_of(metric)}, weights)[0];
}

}  // namespace topwolf
