// topwolf calibrate: a temperature for a model's probabilities, from rows that it was not trained on.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "commands.hpp"
#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "data_options.hpp"
#include "held_out.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"
#include "training.hpp"

namespace topwolf::cli {
namespace {

// A model that comes from a pipe or an open descriptor, and that what it becomes would be written into.
bool written_into(const std::string& model, const std::string& output) {
  std::error_code error;
  return !is_replaced(output) && (output == model || std::filesystem::equivalent(output, model, error));
}

}  // namespace

int run_calibrate(const Arguments& arguments) {
  const std::string& path = arguments.required_positional(0);
  const std::string& model_path = arguments.required_positional(1);
  const std::string output = arguments.has("output") ? arguments.text("output") : model_path;
  check_output(arguments, output, {path, arguments.text("labels")}, model_format);
  if (written_into(model_path, output))
    fail(ErrorKind::option, "{} is no file that can be replaced; give --output another name", output);
  const RowOptions options = row_options(arguments, path);
  Model model = load_model(model_path);
  Warnings warnings;
  RawDataset raw = load_rows_for(model, options, {}, warnings.teller());
  const std::vector<std::int32_t> y = map_labels(raw, model.classes);
  warn_of_unseen(y, path, warnings);
  const Features X(std::move(raw.X));
  const int threads = threads_of(arguments);
  const Predictor predictor(model, Rows::normalized, threads);
  const double before = model.temperature > 0.0 ? model.temperature : 1.0;
  model.temperature = calibrate(predictor, X, y, threads);
  const ProbabilityErrors was = probability_errors(predictor, X, y, before, threads);
  const ProbabilityErrors is = probability_errors(predictor, X, y, model.temperature, threads);
  check_still(arguments, output, model_format);
  save_model(model, output);
  if (arguments.has("json")) {
    Json document = {{"temperature", model.temperature}, {"before", before}, {"n", X.rows()}, {"model", output}};
    add_probability_errors(document, is);
    document["warnings"] = warnings.sentences();
    print(dump(document));
    return 0;
  }
  std::string table = fmt::format("{:<18}{:>12}{:>12}\n", "", "before", "calibrated");
  const auto row = [&](std::string_view name, double a, double b) {
    table += fmt::format("{:<18}{:>12.4g}{:>12.4g}\n", name, a, b);
  };
  row("temperature", before, model.temperature);
  row("log loss", was.log_loss, is.log_loss);
  row("Brier score", was.brier, is.brier);
  row("calibration error", was.calibration, is.calibration);
  print(table + fmt::format("The model is in {}; predict --probabilities prints what it gives.\n", output));
  return 0;
}

}  // namespace topwolf::cli
