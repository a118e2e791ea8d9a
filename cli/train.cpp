// topwolf train: options to TrainOptions, data to Dataset, a model and its certificate to files and standard output.
// What can be refused early is refused before the data is read.
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/names.hpp"
#include "core/threads.hpp"
#include "data/cost_matrix.hpp"
#include "data_options.hpp"
#include "model/dual_file.hpp"
#include "problem_options.hpp"
#include "report/progress.hpp"
#include "signals.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TrainOptions train_options(const Arguments& arguments) {
  TrainOptions options;
  options.loss = loss_of(arguments);
  set_regularisation(arguments, options);
  const std::string solver = arguments.choice("solver");
  for (const auto name :
       {SolverName::automatic, SolverName::block, SolverName::apg, SolverName::lsfw, SolverName::stdfw, SolverName::pg})
    if (topwolf::to_string(name) == solver) options.solver = name;
  const std::string scores = arguments.choice("scores");
  for (const auto name : {ScoresName::automatic, ScoresName::weights, ScoresName::gram})
    if (topwolf::to_string(name) == scores) options.scores = name;
  options.tolerance = arguments.real("tolerance");
  options.absolute_gap = arguments.real("absolute-gap");
  options.max_iterations = arguments.integer("max-iterations", 1, largest).value_or(options.max_iterations);
  options.time_limit_s = arguments.real("time-limit");
  options.bias = arguments.real("bias").value_or(options.bias);
  options.threads = threads_of(arguments);
  options.seed = seed_of(arguments);
  options.keep_dual = arguments.has("dual");
  check(options);
  return options;
}

NormalizeKind normalize_kind(const Arguments& arguments) {
  return parse_name<NormalizeKind>(arguments.choice("normalize")).value();
}

// "" where no model is asked for.
std::string model_path(const Arguments& arguments) {
  const std::string& data = arguments.required_positional(0);
  const auto given = arguments.positional(1);
  if (given && given->empty()) fail(ErrorKind::option, "MODEL is empty; give a file's name, or leave it out");
  if (given == "-")
    fail(ErrorKind::option, "a model cannot be written to standard output; MODEL must be a file's name");
  if (given) return *given;
  return data == "-" ? "" : std::filesystem::path(data).filename().string() + ".topwolf";
}

bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  return !a.empty() && !b.empty() && fs::weakly_canonical(fs::absolute(a)) == fs::weakly_canonical(fs::absolute(b));
}

void check_outputs(const Arguments& arguments, const std::string& model) {
  const std::vector<std::string> inputs{arguments.required_positional(0), arguments.text("labels"),
                                        arguments.text("cost-matrix")};
  for (const auto& path : {model, arguments.text("dual"), arguments.text("trace")}) {
    if (!path.empty()) check_output(path, inputs);
  }
  const std::string dual = arguments.text("dual");
  const std::string trace = arguments.text("trace");
  if (same_file(dual, model) || same_file(dual, trace) || same_file(trace, model))
    fail(ErrorKind::option, "MODEL, --dual and --trace must be different files");
}

struct Run {
  TrainOptions options;
  NormalizeKind normalize = NormalizeKind::none;
  Normalization normalization;
  double load_seconds = 0.0;
  double train_seconds = 0.0;
  TrainResult result;
  Warnings warnings;
};

Dataset load(const Arguments& arguments, Run& run) {
  Stopwatch clock;
  RawDataset raw = load_raw(load_options(arguments, arguments.required_positional(0)));
  run.normalization = fit_normalization(run.normalize, raw.X);
  apply_normalization(run.normalization, raw.X);
  Dataset data = make_dataset(std::move(raw));
  data.normalization = run.normalization;
  if (arguments.has("cost-matrix"))
    run.options.loss.cost_matrix = load_cost_matrix(arguments.text("cost-matrix"), data.classes.size());
  resolve_loss(run.options.loss, data.classes.size());
  run.load_seconds = clock.seconds();
  return data;
}

void train_observed(const Arguments& arguments, const Dataset& data, Run& run, std::optional<Trace>& trace) {
  Stopwatch clock;
  if (const auto warning = conditioning_warning(data, run.options); !warning.empty()) run.warnings.add(warning);
  ProgressTable table(stderr, progress_style());
  const bool quiet = arguments.has("quiet");
  hold_signals();
  run.result = train(data, run.options, [&](const IterationRecord& record) {
    if (!quiet) table.observe(record);
    if (trace) trace->observe(record);
    return held_signal() == 0;
  });
  run.train_seconds = clock.seconds();
  table.finish();
}

Json to_json(const Run& run, const Dataset& data, const std::string& path) {
  const Model& model = run.result.model;
  Json document;
  document["status"] = topwolf::to_string(model.status);
  add_certificate(document, model.certificate);
  document["iterations"] = model.iterations;
  document["load_seconds"] = run.load_seconds;
  document["train_seconds"] = run.train_seconds;
  document["n"] = data.X.rows();
  document["d"] = data.X.cols();
  document["m"] = data.classes.size();
  add_loss(document, model.loss);
  document["lambda"] = model.lambda;
  document["C"] = run.result.C;
  document["solver"] = model.solver;
  document["choice"] = run.result.choice;
  document["row_visits"] = run.result.row_visits;
  document["bias"] = model.bias;
  document["normalize"] = name_of(run.normalization.kind);
  document["precision"] = name_of(data.X.precision());
  document["threads"] = resolve_threads(run.options.threads);
  document["seed"] = run.options.seed;
  document["model"] = path.empty() ? Json(nullptr) : Json(path);
  document["version"] = TOPWOLF_VERSION;
  document["warnings"] = run.warnings.sentences();
  return document;
}

std::string to_text(const Run& run, const Dataset& data, const std::string& path) {
  const Model& model = run.result.model;
  std::string text = fmt::format(
      "{} rows, {} features, {} classes; {}\n{} in {:.2f} s: {} (primal {:.6g}, dual {:.6g})\n", data.X.rows(),
      data.X.cols(), data.classes.size(), describe_loss(model.loss), status_sentence(model.status, model.iterations),
      run.train_seconds, certificate_sentence(model.certificate), model.certificate.primal, model.certificate.dual);
  if (model.status == Status::stalled && model.precision == Precision::float32)
    text += "float32 cannot come closer; --precision float64 can\n";
  if (!path.empty()) text += fmt::format("model written to {}\n", path);
  return text;
}

}  // namespace

int run_train(const Arguments& arguments) {
  Run run;
  run.options = train_options(arguments);
  run.normalize = normalize_kind(arguments);
  const std::string path = model_path(arguments);
  check_outputs(arguments, path);
  const Dataset data = load(arguments, run);
  std::optional<Trace> trace;
  if (arguments.has("trace")) trace.emplace(arguments.text("trace"));
  train_observed(arguments, data, run, trace);

  Model& model = run.result.model;
  model.label_column = arguments.text("label-column");
  model.command = arguments.command_line();
  if (!path.empty()) save_model(model, path);
  if (arguments.has("dual")) save_dual(run.result.dual, model.m(), model.data_hash, arguments.text("dual"));
  if (trace) trace->close();
  print(arguments.has("json") ? dump(to_json(run, data, path)) : to_text(run, data, path));
  if (held_signal() != 0) return 128 + held_signal();
  return model.status == Status::converged ? 0 : 5;
}

}  // namespace topwolf::cli
