#include "train/fold_fits.hpp"

#include <algorithm>
#include <utility>

#include "core/fail.hpp"
#include "report/metric.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/evaluate.hpp"

namespace topwolf {
namespace {

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

// Whether the rows that are trained on have two classes at least.
bool tells_classes_apart(const Fold& fold, const Dataset& data) {
  std::int32_t first = -1;
  for (const std::int64_t i : fold.training) {
    const auto at = static_cast<std::size_t>(i);
    if (!data.weights.empty() && !(data.weights[at] > 0.0)) continue;
    if (first < 0) first = data.y[at];
    if (data.y[at] != first) return true;
  }
  return false;
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
  if (folds.empty()) fail(ErrorKind::option, "there must be at least one fold");
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
    if (!tells_classes_apart(fold, data)) {
      fail(ErrorKind::data, "fold {} trains on rows of a single class, which tell nothing about the others",
           &fold - folds.data() + 1);
    }
  }
}

void check_metric(const Metric& metric, const Dataset& data) {
  check(metric);
  for (const MetricTerm& term : metric.terms) {
    if (term.k < data.classes.size()) continue;
    fail(ErrorKind::data, "the top{} error of {} classes is always 0; take a smaller k", term.k, data.classes.size());
  }
}

void check_search(const CvOptions& options, const Dataset& data) {
  check_folds(options.folds, data);
  for (const LossSpec& loss : options.losses) resolve_loss(loss, data.classes.size());
  if (!options.judge) check_metric(options.metric, data);
}

const LossSpec& largest_loss(const CvOptions& options, std::int64_t m) {
  if (options.losses.empty()) fail(ErrorKind::option, "there is no loss to try");
  // Of equals an oracle, which not every method can ask.
  const auto entries = [m](const LossSpec& loss) {
    return std::pair(resolve_loss(loss, m).entries(m), loss.name == LossName::oracle);
  };
  return *std::max_element(options.losses.begin(), options.losses.end(),
                           [&](const LossSpec& a, const LossSpec& b) { return entries(a) < entries(b); });
}

double held_out_error(const Metric& metric, const Trainer& rows, const Fold& fold, const TrainOptions& options,
                      const Fit& fit, int threads) {
  const Dataset& data = rows.data();
  std::vector<std::int32_t> ranks;
  std::vector<double> weights;
  for (const std::int64_t i : fold.held_out) {
    const auto at = static_cast<std::size_t>(i);
    ranks.push_back(fit.ranks[at]);
    if (!data.weights.empty()) weights.push_back(data.weights[at]);
  }
  double error = 0.0;
  for (const MetricTerm& term : metric.terms) {
    error += term.weight * (term.k == 0 ? mean_cost_of(rows, fold, options, fit, threads)
                                        : errors_of_ranks(ranks, {term.k}, weights)[0]);
  }
  return error;
}

}  // namespace topwolf
