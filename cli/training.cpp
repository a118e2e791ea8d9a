#include "training.hpp"

#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "held_out.hpp"
#include "problem_options.hpp"
#include "signals.hpp"

namespace topwolf::cli {

TrainOptions training_options(const Arguments& arguments) {
  TrainOptions options;
  options.solver = parse_name<SolverName>(arguments.choice("solver")).value();
  options.scores = parse_name<ScoresName>(arguments.choice("scores")).value();
  options.tolerance = arguments.real("tolerance");
  options.absolute_gap = arguments.real("absolute-gap");
  options.max_iterations = arguments.integer("max-iterations", 1, largest).value_or(options.max_iterations);
  options.time_limit_s = arguments.real("time-limit");
  options.should_stop = [] { return held_signal() != 0; };
  set_bias(arguments, options);
  options.memory = arguments.bytes("memory");
  options.threads = threads_of(arguments);
  if (arguments.has("device")) options.device = arguments.text("device");
  options.seed = seed_of(arguments);
  options.checkpoints.path = arguments.text("checkpoint");
  options.checkpoints.resume = arguments.text("resume");
  options.checkpoints.every_s = arguments.real("checkpoint-every").value_or(options.checkpoints.every_s);
  if (arguments.has("checkpoint-every") && !arguments.has("checkpoint") && !arguments.has("resume"))
    fail(ErrorKind::option, "--checkpoint-every says how often --checkpoint is written, which is not given");
  data_options(arguments);  // refused here, used when the rows are wanted
  return options;
}

void set_bias(const Arguments& arguments, TrainOptions& options) {
  options.bias = arguments.real("bias").value_or(options.bias);
  if (!arguments.has("center")) return;
  options.center = true;
  if (options.bias == 0.0 && !arguments.has("bias")) options.bias = 1.0;
}

std::vector<double> grid_of(const Arguments& arguments) {
  if (!arguments.has("C")) return log_spaced(0.01, 100.0, 9);
  const std::string text = arguments.text("C");
  const auto refuse = [&] {
    fail(ErrorKind::option,
         "--C is '{}'; it must be FROM:TO:COUNT with 0 < FROM <= TO, or numbers above 0 separated by commas", text);
  };
  const auto parts = split(text, ':');
  const auto number = [&](std::string_view part) {
    const auto value = parse_real(part);
    if (!value || !(*value > 0.0)) refuse();
    return *value;
  };
  std::vector<double> grid;
  if (parts.size() == 3) {
    const double from = number(parts[0]), to = number(parts[1]);
    if (to < from) refuse();
    const double least = from < to ? 2.0 : 1.0, most = 1000.0;
    const auto count = parse_real(parts[2]);
    if (!count || *count != std::floor(*count) || *count < least || *count > most)
      fail(ErrorKind::option, "--C is '{}'; its COUNT must be an integer from {} to {}", text, least, most);
    return log_spaced(from, to, static_cast<std::int64_t>(*count));
  }
  if (parts.size() != 1) refuse();
  for (const auto part : split(text, ',')) grid.push_back(number(part));
  return grid;
}

void check_inputs(const Arguments& arguments) {
  if (arguments.has("validation-labels") && validation_of(arguments).empty())
    fail(ErrorKind::option, "--validation-labels are the labels of --validation, which is not given");
  std::int64_t readers = arguments.required_positional(0) == "-" ? 1 : 0;
  readers += validation_of(arguments) == "-" ? 1 : 0;
  for (const char* key :
       {"labels", "validation-labels", "weights", "class-weight", "margins", "class-features", "taxonomy"})
    readers += arguments.text(key) == "-" ? 1 : 0;
  if (readers > 1) fail(ErrorKind::option, "standard input can be read only once, but {} inputs are -", readers);
}

namespace {

std::vector<std::string> inputs_of(const Arguments& arguments) {
  std::vector<std::string> inputs{arguments.required_positional(0), validation_of(arguments)};
  for (const char* key : {"labels", "cost-matrix", "validation-labels", "weights", "class-weight", "margins",
                          "class-features", "taxonomy"})
    inputs.push_back(arguments.text(key));
  return inputs;
}

}  // namespace

void check_outputs(const Arguments& arguments, const std::vector<std::string>& models) {
  std::vector<std::string> inputs = inputs_of(arguments), outputs = models;
  for (const char* key : {"dual", "trace", "report"}) outputs.push_back(arguments.text(key));
  // A job goes on writing to the checkpoint that it came from, and nothing else may.
  const std::string checkpoint = arguments.text(arguments.has("checkpoint") ? "checkpoint" : "resume");
  outputs.push_back(checkpoint);
  std::erase(outputs, "");
  check_different(outputs);
  if (!checkpoint.empty())
    check_output(arguments, checkpoint, inputs, arguments.has("checkpoint") ? checkpoint_format : "");
  if (arguments.has("checkpoint")) inputs.push_back(arguments.text("resume"));
  const auto check_one = [&](const std::string& output, std::string_view format) {
    if (!output.empty()) check_output(arguments, output, inputs, format);
  };
  for (const std::string& model : models) check_one(model, model_format);
  check_one(arguments.text("dual"), dual_format);
  for (const char* key : {"trace", "report"}) check_one(arguments.text(key), "");
}

void check_still(const Arguments& arguments, const std::string& output, std::string_view format) {
  if (output.empty()) return;
  try {
    check_output(arguments, output, inputs_of(arguments), format);
  } catch (const Error& error) {
    throw Error(ErrorKind::io, error.sentence());
  }
}

void save_trained(const Arguments& arguments, Model& model, const std::string& path) {
  model.label_column = arguments.text("label-column");
  model.provenance.command = arguments.command_line();
  check_still(arguments, path, model_format);
  if (!path.empty()) save_model(model, path);
}

std::string output_argument(const Arguments& arguments, std::size_t place, const char* name) {
  const auto given = arguments.positional(place);
  if (given && given->empty()) fail(ErrorKind::option, "{} is empty; give a name, or leave it out", name);
  if (given == "-")
    fail(ErrorKind::option, "a model cannot be written to standard output; {} must be a file's name", name);
  return given.value_or("");
}

DataOptions data_options(const Arguments& arguments) {
  DataOptions options{row_options(arguments, arguments.required_positional(0))};
  options.on_disk = arguments.has("memory");
  options.normalize = parse_name<NormalizeKind>(arguments.choice("normalize")).value();
  options.cost_matrix = arguments.text("cost-matrix");
  options.class_features = arguments.text("class-features");
  options.taxonomy = arguments.text("taxonomy");
  options.taxonomy_costs_only = arguments.has("taxonomy-costs-only");
  check(options);
  return options;
}

void add_data(Json& document, const Dataset& data) {
  document["n"] = data.X.rows();
  document["d"] = data.X.cols();
  document["m"] = data.classes.size();
  document["normalize"] = to_string(data.normalization.kind);
  document["precision"] = to_string(data.X.precision());
}

}  // namespace topwolf::cli
