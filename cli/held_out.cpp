#include "held_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/counted.hpp"
#include "data_options.hpp"
#include "report/assessment.hpp"

namespace topwolf::cli {

std::string validation_of(const Arguments& arguments) {
  return arguments.command() == Command::probe ? arguments.required_positional(1) : arguments.text("validation");
}

HeldOut::HeldOut(const Arguments& arguments, const Dataset& training, Warnings& warnings)
    : source_(validation_of(arguments)) {
  classifier_.d = training.X.cols();
  classifier_.columns = kept_columns(training.X, training.classes.size());
  classifier_.precision = working_precision(training.X.precision());  // of the rows that are read
  classifier_.classes = training.classes;
  classifier_.index_base = training.index_base;
  classifier_.normalization = training.normalization;
  classifier_.label_column = arguments.text("label-column");
  LoadOptions options = load_options(arguments, source_);
  options.labels_path = arguments.text("validation-labels");
  RawDataset raw = load_rows_for(classifier_, options, {}, warnings.teller());
  y_ = map_labels(raw, classifier_.classes);
  warn_of_unseen(y_, source_, warnings);
  weights_ = std::move(raw.weights);
  X_ = Features(std::move(raw.X));
}

Dataset HeldOut::dataset() const {
  Dataset out;
  out.X = X_;
  out.y = y_;
  out.weights = weights_;
  out.classes = classifier_.classes;
  return out;
}

HeldOutErrors HeldOut::errors_at(std::vector<double> W, double bias, int threads) {
  classifier_.W = std::move(W);
  classifier_.bias = bias;
  const std::vector<std::int64_t> ks = usual_places(classifier_.m());
  return {ks, top_k_errors(Predictor(classifier_, Rows::normalized, threads), X_, y_, ks, threads, weights_)};
}

void warn_of_unseen(std::int64_t unseen, std::int64_t rows, const std::string& path, Warnings& warnings) {
  if (unseen > 0)
    warnings.add(fmt::format("{}: {} of {} {} a label that the model does not know; wrong at every k", path, unseen,
                             counted(rows, "row"), unseen == 1 ? "has" : "have"));
}

void warn_of_unseen(const std::vector<std::int32_t>& y, const std::string& path, Warnings& warnings) {
  warn_of_unseen(std::count(y.begin(), y.end(), -1), static_cast<std::int64_t>(y.size()), path, warnings);
}

}  // namespace topwolf::cli
