// topwolf predict: the best classes of every row as lines of text.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "commands.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data_options.hpp"
#include "report/assessment.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

std::string to_lines(const TopK& best, const ClassList& classes, std::string_view number) {
  std::string text;
  const auto k = static_cast<std::size_t>(best.k);
  std::vector<std::string> names;
  for (const std::string& name : classes.names) names.push_back(escape_field(name));
  for (std::size_t i = 0; i < best.classes.size(); ++i) {
    text += names[static_cast<std::size_t>(best.classes[i])];
    if (!number.empty()) {
      text += '\t';
      fmt::format_to(std::back_inserter(text), fmt::runtime(number), best.scores[i]);
    }
    text += (i + 1) % k == 0 ? '\n' : '\t';
  }
  return text;
}

// How good the predictions are for the rows that have a label; nothing where none of them is a class of the model.
void print_errors(const RowOptions& options, const Model& model, const Predictor& predictor, const Features& X,
                  const RawDataset& raw) {
  const std::vector<std::int32_t> y = map_labels(raw, model.classes);
  if (std::all_of(y.begin(), y.end(), [](std::int32_t label) { return label < 0; })) return;
  std::vector<double> labelled;  // 1, or 0 without a label
  for (const std::int32_t label : raw.label) labelled.push_back(label < 0 ? 0.0 : 1.0);
  const std::vector<std::int64_t> places = usual_places(model.m());
  const std::vector<double> errors = top_k_errors(predictor, X, y, places, options.threads, labelled);
  std::string line = fmt::format("by the labels of {} rows:", std::count(labelled.begin(), labelled.end(), 1.0));
  for (std::size_t a = 0; a < places.size(); ++a)
    line += fmt::format("{} top-{} error {:.2f} %", a == 0 ? "" : ",", places[a], 100.0 * errors[a]);
  const Margins margins = load_margins(options, X.rows(), model.m());
  const Costs costs{model.provenance.loss.cost_matrix, margins};
  if (margins.given() || !costs.cost_matrix.empty())
    line += fmt::format(", mean cost {:.4f}", mean_cost(predictor, X, y, costs, options.threads, labelled));
  narrate(line + "\n");
}

}  // namespace

int run_predict(const Arguments& arguments) {
  const std::string& path = arguments.required_positional(0);
  const std::string output = arguments.text("output") == "-" ? "" : arguments.text("output");  // as without it
  const std::int64_t k = arguments.integer("k", 1, largest).value_or(1);
  if (!output.empty())
    check_output(arguments, output,
                 {path, arguments.required_positional(1), arguments.text("labels"), arguments.text("margins"),
                  arguments.text("class-features")});
  if (arguments.has("scores") && arguments.has("probabilities"))
    fail(ErrorKind::option, "--scores and --probabilities both say what follows a label; give one of them");
  RowOptions options = row_options(arguments, path);
  const Model model = with_asked_classes(arguments, load_model(arguments.required_positional(1)));
  options.on_disk = can_stay_on_disk(path);
  if (k > model.m())
    fail(ErrorKind::data, "-k is {}, but the model has {} classes; 1 to {} is allowed", k, model.m(), model.m());
  Warnings warnings;
  RawDataset raw = load_rows_for(model, options, {.labels = false}, warnings.teller());
  const Features X = take_features(raw);
  const Predictor predictor(model, Rows::normalized, threads_of(arguments));
  const bool probabilities = arguments.has("probabilities");
  const TopK best =
      probabilities ? predictor.likeliest(X, k, threads_of(arguments)) : predictor.top_k(X, k, threads_of(arguments));
  write_text(output, to_lines(best, model.classes, probabilities ? "{:.6g}" : arguments.has("scores") ? "{:.9g}" : ""));
  finish_output();
  if (!arguments.has("quiet")) print_errors(options, model, predictor, X, raw);
  return 0;
}

}  // namespace topwolf::cli
