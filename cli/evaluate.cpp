// topwolf evaluate: top-k errors on labelled rows, as a table or as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "commands.hpp"
#include "data_options.hpp"
#include "held_out.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

const std::vector<std::int64_t> places{1, 3, 5, 10};

}  // namespace

int run_evaluate(const Arguments& arguments) {
  const std::string& path = arguments.required_positional(0);
  RowOptions options = row_options(arguments, path);
  const Model model = with_asked_classes(arguments, load_model(arguments.required_positional(1)));
  options.on_disk = can_stay_on_disk(path);
  Warnings warnings;
  RawDataset raw = load_rows_for(model, options, {}, warnings.teller());
  const std::vector<std::int32_t> y = map_labels(raw, model.classes);
  warn_of_unseen(y, path, warnings);
  // With fewer than k classes every class is among the k best.
  std::vector<std::int64_t> ks = places;
  for (auto& k : ks) k = std::min(k, model.m());
  const Features X = take_features(raw);
  const Predictor predictor(model, Rows::normalized, threads_of(arguments));
  const std::vector<double> errors = top_k_errors(predictor, X, y, ks, threads_of(arguments));
  const Margins margins = load_margins(options, X.rows(), model.m());
  const Costs asked{model.provenance.loss.cost_matrix, margins};
  const bool costs = margins.given() || !asked.cost_matrix.empty();
  const double cost = costs ? mean_cost(predictor, X, y, asked, threads_of(arguments)) : errors[0];

  Json document = Json::object();
  std::string table;
  for (std::size_t i = 0; i < places.size(); ++i) {
    document[fmt::format("top{}_error", places[i])] = errors[i];
    table += fmt::format("{:<14}{:>8.2f} %\n", fmt::format("top-{} error", places[i]), 100.0 * errors[i]);
  }
  document["mean_cost"] = cost;
  if (costs) table += fmt::format("{:<14}{:>10.4f}\n", "mean cost", cost);
  const bool known = std::any_of(y.begin(), y.end(), [](std::int32_t label) { return label >= 0; });
  if (model.temperature > 0.0 && known) {
    const ProbabilityErrors found = probability_errors(predictor, X, y, model.temperature, threads_of(arguments));
    add_probability_errors(document, found);
    table += fmt::format("{:<14}{:>10.4f}\n{:<14}{:>10.4f}\n{:<14}{:>8.2f} %\n", "log loss", found.log_loss,
                         "Brier score", found.brier, "calibration", 100.0 * found.calibration);
  }
  document["n"] = X.rows();
  document["m"] = model.m();
  document["warnings"] = warnings.sentences();
  table += fmt::format("{:<14}{:>8}\n", "rows", X.rows());
  print(arguments.has("json") ? dump(document) : table);
  return 0;
}

}  // namespace topwolf::cli
