// topwolf predict: the best classes of every row as lines of text.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "core/counted.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data_options.hpp"
#include "held_out.hpp"
#include "report/assessment.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

enum class Numbers { none, scores, probabilities };

Numbers numbers_of(const Arguments& arguments) {
  const bool scores = arguments.has("scores"), probabilities = arguments.has("probabilities");
  if (scores && probabilities)
    fail(ErrorKind::option, "--scores and --probabilities both say what follows a label; give one of them");
  return scores ? Numbers::scores : probabilities ? Numbers::probabilities : Numbers::none;
}

// 1 for the rows whose best class is less than `margin` above the second, else 0.
std::vector<char> rejected_rows(const Predictor& predictor, const Features& X, std::optional<double> margin,
                                int threads) {
  std::vector<char> rejected(static_cast<std::size_t>(X.rows()), 0);
  if (!margin || predictor.m() < 2) return rejected;
  const TopK two = predictor.top_k(X, 2, threads);
  for (std::size_t i = 0; i < rejected.size(); ++i) rejected[i] = two.scores[2 * i] - two.scores[2 * i + 1] < *margin;
  return rejected;
}

// A row that is rejected is an empty line.
std::string to_lines(const TopK& best, const std::vector<char>& rejected, const ClassList& classes, Numbers numbers) {
  std::string text;
  const auto k = static_cast<std::size_t>(best.k);
  std::vector<std::string> names;
  for (const std::string& name : classes.names) names.push_back(escape_field(name));
  for (std::size_t i = 0; i < rejected.size(); ++i) {
    for (std::size_t at = i * k; rejected[i] == 0 && at < (i + 1) * k; ++at) {
      if (at > i * k) text += '\t';
      text += names[static_cast<std::size_t>(best.classes[at])];
      if (numbers == Numbers::scores) fmt::format_to(std::back_inserter(text), "\t{:.9g}", best.scores[at]);
      if (numbers == Numbers::probabilities) fmt::format_to(std::back_inserter(text), "\t{:.6g}", best.scores[at]);
    }
    text += '\n';
  }
  return text;
}

// A document a row; one that is rejected has no labels.
std::string to_json_lines(const TopK& best, const std::vector<char>& rejected, const ClassList& classes,
                          Numbers numbers) {
  std::string text;
  const auto k = static_cast<std::size_t>(best.k);
  for (std::size_t i = 0; i < rejected.size(); ++i) {
    Json labels = Json::array(), values = Json::array();
    for (std::size_t at = i * k; rejected[i] == 0 && at < (i + 1) * k; ++at) {
      labels.push_back(classes.names[static_cast<std::size_t>(best.classes[at])]);
      values.push_back(best.scores[at]);
    }
    Json row{{"labels", labels}};
    if (numbers != Numbers::none) row[numbers == Numbers::scores ? "scores" : "probabilities"] = values;
    text += row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

// How good the predictions are for the rows that have a label and an answer; nothing where no row has a label.
void print_errors(const RowOptions& options, const Model& model, const Predictor& predictor, const Features& X,
                  const RawDataset& raw, const std::vector<char>& rejected, Warnings& warnings) {
  const std::vector<std::int32_t> y = map_labels(raw, model.classes);
  std::vector<double> judged;  // 1, or 0 without a label or an answer
  std::int64_t labelled = 0, known = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool has_label = raw.label[i] >= 0;
    labelled += has_label ? 1 : 0;
    known += y[i] >= 0 ? 1 : 0;
    judged.push_back(has_label && rejected[i] == 0 ? 1.0 : 0.0);
  }
  if (known == 0) {  // numbers in the place of labels, as LIBLINEAR's users put there
    if (labelled > 0) narrate("no errors are shown, for no row's label is a class of the model\n");
    return;
  }
  warn_of_unseen(labelled - known, labelled, options.path, warnings);
  const auto answered = std::count(judged.begin(), judged.end(), 1.0);
  const std::vector<std::int64_t> places = usual_places(model.m());
  const std::vector<double> errors = top_k_errors(predictor, X, y, places, options.threads, judged);
  std::string line = fmt::format("by the labels of {}:", counted(answered, "row"));
  for (std::size_t a = 0; a < places.size(); ++a)
    line += fmt::format("{} top-{} error {:.2f} %", a == 0 ? "" : ",", places[a], 100.0 * errors[a]);
  const Margins margins = load_margins(options, X.rows(), model.m());
  const Costs costs{model.provenance.loss.cost_matrix, margins};
  if (margins.given() || !costs.cost_matrix.empty())
    line += fmt::format(", mean cost {:.4f}", mean_cost(predictor, X, y, costs, options.threads, judged));
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
  const Numbers numbers = numbers_of(arguments);
  const std::optional<double> margin = arguments.real("reject");
  if (margin && *margin < 0.0) fail(ErrorKind::option, "--reject is {:g}; it must be at least 0", *margin);
  RowOptions options = row_options(arguments, path);
  const Model model = with_asked_classes(arguments, load_model(arguments.required_positional(1)));
  options.on_disk = can_stay_on_disk(path);
  if (k > model.m())
    fail(ErrorKind::data, "-k is {}, but the model has {}; 1 to {} is allowed", k, counted(model.m(), "class"),
         model.m());
  Warnings warnings;
  RawDataset raw = load_rows_for(model, options, {.labels = false}, warnings.teller());
  const Features X = take_features(raw);
  const Predictor predictor(model, Rows::normalized, threads_of(arguments));
  const int threads = threads_of(arguments);
  const TopK best =
      numbers == Numbers::probabilities ? predictor.likeliest(X, k, threads) : predictor.top_k(X, k, threads);
  const std::vector<char> rejected = rejected_rows(predictor, X, margin, threads);
  write_text(output, arguments.has("json") ? to_json_lines(best, rejected, model.classes, numbers)
                                           : to_lines(best, rejected, model.classes, numbers));
  finish_output();
  if (arguments.has("quiet")) return 0;
  if (margin)
    narrate(fmt::format("no answer for {} of {}\n", std::count(rejected.begin(), rejected.end(), 1),
                        counted(X.rows(), "row")));
  print_errors(options, model, predictor, X, raw, rejected, warnings);
  return 0;
}

}  // namespace topwolf::cli
