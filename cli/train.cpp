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
#include "held_out.hpp"
#include "model/dual_file.hpp"
#include "problem_options.hpp"
#include "report/html.hpp"
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

void check_inputs(const Arguments& arguments) {
  if (arguments.has("validation-labels") && !arguments.has("validation"))
    fail(ErrorKind::option, "--validation-labels are the labels of --validation, which is not given");
  std::int64_t readers = arguments.required_positional(0) == "-" ? 1 : 0;
  for (const char* key : {"labels", "validation", "validation-labels"}) readers += arguments.text(key) == "-" ? 1 : 0;
  if (readers > 1) fail(ErrorKind::option, "standard input can be read only once, but {} inputs are -", readers);
}

void check_outputs(const Arguments& arguments, const std::string& model) {
  const std::vector<std::string> inputs{arguments.required_positional(0), arguments.text("labels"),
                                        arguments.text("cost-matrix"), arguments.text("validation"),
                                        arguments.text("validation-labels")};
  const std::vector<std::string> outputs{model, arguments.text("dual"), arguments.text("trace"),
                                         arguments.text("report")};
  for (std::size_t a = 0; a < outputs.size(); ++a) {
    if (!outputs[a].empty()) check_output(outputs[a], inputs);
    for (std::size_t b = 0; b < a; ++b) {
      if (same_file(outputs[a], outputs[b]))
        fail(ErrorKind::option, "MODEL, --dual, --trace and --report must be different files");
    }
  }
}

struct Run {
  TrainOptions options;
  NormalizeKind normalize = NormalizeKind::none;
  Normalization normalization;
  double load_seconds = 0.0;
  double train_seconds = 0.0;
  TrainResult result;
  std::optional<HeldOut> held_out;
  std::optional<HeldOutErrors> held_out_errors;  // of the model
  std::vector<IterationRecord> records;          // for the report
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
  if (arguments.has("validation")) run.held_out.emplace(arguments, data, run.warnings);
  run.load_seconds = clock.seconds();
  return data;
}

void train_observed(const Arguments& arguments, const Dataset& data, Run& run, std::optional<Trace>& trace) {
  Stopwatch clock;
  if (const auto warning = conditioning_warning(data, run.options); !warning.empty()) run.warnings.add(warning);
  ProgressTable table(stderr, progress_style());
  const bool quiet = arguments.has("quiet");
  hold_signals();
  const bool reported = arguments.has("report"), looked_at = run.held_out && (trace || !quiet);
  run.result = train(data, run.options, [&](const Progress& progress) {
    HeldOutErrors errors;
    if (looked_at) errors = run.held_out->errors_at(progress.weights(), run.options.bias, run.options.threads);
    if (!quiet) table.observe(progress, errors);
    if (trace) trace->observe(progress, errors);
    if (reported) run.records.push_back(progress);
    return held_signal() == 0;
  });
  run.train_seconds = clock.seconds();
  table.finish();
  const Model& model = run.result.model;
  if (run.held_out) run.held_out_errors = run.held_out->errors_at(model.W, model.bias, run.options.threads);
}

void write_report(const Run& run, const Dataset& data, const std::string& path) {
  Stopwatch clock;
  const Model& model = run.result.model;
  const int threads = run.options.threads;
  RunReport report{data, run.result};
  report.seed = run.options.seed;
  report.status = status_sentence(model.status, model.iterations);
  report.certificate = certificate_sentence(model.certificate);
  report.loss = describe_loss(model.loss);
  report.trace = run.records;
  report.training = assess(model, data.X, data.y, threads);
  if (run.held_out)
    report.held_out = {run.held_out->source(), run.held_out->y(),
                       assess(model, run.held_out->X(), run.held_out->y(), threads)};
  report.seconds = {{"loading", run.load_seconds}, {"training", run.train_seconds}, {"assessing", clock.seconds()}};
  write_text(path, html_report(report));
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
  if (run.held_out_errors) {
    document["held_out"]["n"] = run.held_out->X().rows();
    for (std::size_t a = 0; a < run.held_out_errors->ks.size(); ++a)
      document["held_out"][fmt::format("top{}_error", run.held_out_errors->ks[a])] = run.held_out_errors->errors[a];
  }
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
  if (run.held_out_errors) {
    text += fmt::format("held out, {} rows:", run.held_out->X().rows());
    for (std::size_t a = 0; a < run.held_out_errors->ks.size(); ++a)
      text += fmt::format("{} top-{} error {:.2f} %", a == 0 ? "" : ",", run.held_out_errors->ks[a],
                          100.0 * run.held_out_errors->errors[a]);
    text += "\n";
  }
  if (!path.empty()) text += fmt::format("model written to {}\n", path);
  return text;
}

}  // namespace

int run_train(const Arguments& arguments) {
  Run run;
  run.options = train_options(arguments);
  run.normalize = normalize_kind(arguments);
  const std::string path = model_path(arguments);
  check_inputs(arguments);
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
  if (arguments.has("report")) write_report(run, data, arguments.text("report"));
  print(arguments.has("json") ? dump(to_json(run, data, path)) : to_text(run, data, path));
  if (held_signal() != 0) return 128 + held_signal();
  return model.status == Status::converged ? 0 : 5;
}

}  // namespace topwolf::cli
