// A model against the optimum of its problem: its own primal, a training run that brackets the optimum, and what the
// two say about each other.

#include "topwolf/audit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "data/text.hpp"
#include "model/check_model.hpp"
#include "model/shared_columns.hpp"

namespace topwolf {
namespace {

// The same rows, with the model's classes and their numbers.
Dataset with_classes_of(const Classifier& model, const Dataset& data) {
  RawDataset names;
  names.spelling = data.classes.names;
  names.label.resize(names.spelling.size());
  std::iota(names.label.begin(), names.label.end(), 0);
  const std::vector<std::int32_t> number = map_labels(names, model.classes);
  const auto unknown = std::find(number.begin(), number.end(), -1);
  if (unknown != number.end()) {
    fail(ErrorKind::data, "the class {} of the data is none of the model's {} classes",
         quote(data.classes.names[static_cast<std::size_t>(unknown - number.begin())]), model.m());
  }
  if (data.margins.given() && data.classes.names != model.classes.names) {
    fail(ErrorKind::data, "the margins are those of {} classes, which are not the model's {}", data.classes.size(),
         model.m());
  }
  Dataset result = data;
  result.classes = model.classes;
  result.class_features = model.class_features;
  for (std::int32_t& y : result.y) {
    if (y < 0 || y >= data.classes.size()) {
      fail(ErrorKind::data, "a class number is {}, outside 0 .. {}", y, data.classes.size() - 1);
    }
    y = number[static_cast<std::size_t>(y)];
  }
  return result;
}

// The model's weights as the problem has them, (m x D), or (p x D) with class features.
std::vector<double> weights_for(const Classifier& model, std::int64_t d, double bias) {
  const bool mapped = model.class_features.rows() > 0;
  const std::int64_t rows = mapped ? model.class_features.cols() : model.m(), D = d + (bias != 0.0 ? 1 : 0);
  std::vector<double> W(static_cast<std::size_t>(rows * D), 0.0);
  for (std::int64_t j = 0; j < rows; ++j) {
    const double* from = (mapped ? model.V : model.W).data() + j * model.D();
    double* const to = W.data() + j * D;
    std::copy_n(from, model.d, to);
    if (model.bias == 0.0 || from[model.d] == 0.0) continue;
    if (bias == 0.0) {
      fail(ErrorKind::data, "the model has intercepts, but the bias is 0, which leaves no feature for them");
    }
    // Only where it must be is it rounded.
    to[d] = bias == model.bias ? from[model.d] : from[model.d] * model.bias / bias;
  }
  return W;
}

// P at the model's weights, where it has some for every column or for a few only.
PrimalRange objective_of(const Classifier& model, const Dataset& rows, const TrainOptions& options) {
  if (rows.X.cols() < model.d) {
    fail(ErrorKind::data, "the data has {} features, but the model has {}", rows.X.cols(), model.d);
  }
  if (rows.X.cols() > model.d && model.normalization.kind == NormalizeKind::unit) {
    fail(ErrorKind::data,
         "the data has {} features, but the model scales rows of {} to unit length; wider ones would be other rows",
         rows.X.cols(), model.d);
  }
  if (model.columns.empty()) return objective_range(rows, options, weights_for(model, rows.X.cols(), options.bias));
  const SharedColumns shared = on_shared_columns(rows.X, model);
  Dataset narrow = rows;
  narrow.X = shared.X;
  narrow.normalization = {};
  return objective_range(narrow, options, weights_for(shared.classifier, narrow.X.cols(), options.bias));
}

// G3. P / optimum - 1, if P and the optimum were at these.
double excess(double primal, double optimum) {
  if (primal <= optimum) return 0.0;
  return optimum > 0.0 ? primal / optimum - 1.0 : std::numeric_limits<double>::infinity();
}

}  // namespace

TrainOptions audit_options(const Model& model) {
  const IeeeArithmetic ieee;
  TrainOptions options;
  options.loss = model.provenance.loss;
  if (model.provenance.lambda > 0.0) options.lambda = model.provenance.lambda;
  options.bias = model.bias;
  options.center = !model.provenance.mean.empty();
  options.tolerance = default_audit_tolerance;
  return options;
}

AuditResult audit(const Dataset& data, const Model& model, const TrainOptions& options, const Observer& observer) {
  const IeeeArithmetic ieee;
  check_model(model, "the audited model");
  const Dataset rows = with_classes_of(model, data);
  AuditResult result;
  const PrimalRange own = objective_of(model, rows, options);
  result.primal = own.most;
  if (!std::isfinite(result.primal))
    fail(ErrorKind::data, "the model's weights are too large: its objective overflows");
  result.training = train(rows, options, observer);
  result.optimum = result.training.certificate;
  result.optimum.primal = std::min(result.optimum.primal, result.primal);
  result.least_primal = std::max(own.least, result.optimum.dual);
  result.least_excess = excess(result.least_primal, result.optimum.primal);
  result.most_excess = excess(result.primal, result.optimum.dual);
  return result;
}

}  // namespace topwolf
