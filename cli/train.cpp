// topwolf train: options to TrainOptions, data to Dataset, a model and its certificate to files and standard output.
// What can be refused early is refused before the data is read.
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/escape.hpp"
#include "held_out.hpp"
#include "plan.hpp"
#include "problem_options.hpp"
#include "report/html.hpp"
#include "report/progress.hpp"
#include "signals.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/dual.hpp"
#include "topwolf/topwolf.hpp"
#include "training.hpp"

namespace topwolf::cli {
namespace {

// "" where no model is asked for.
std::string model_path(const Arguments& arguments) {
  const std::string& data = arguments.required_positional(0);
  const std::string given = output_argument(arguments, 1, "MODEL");
  if (!given.empty()) return given;
  return data == "-" ? "" : std::filesystem::path(data).filename().string() + ".topwolf";
}

struct Run {
  TrainOptions options;
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
  auto [data, cost_matrix] = prepare(data_options(arguments));
  run.options.loss.cost_matrix = std::move(cost_matrix);
  if (arguments.has("validation")) run.held_out.emplace(arguments, data, run.warnings);
  run.load_seconds = clock.seconds();
  return std::move(data);
}

void train_observed(const Arguments& arguments, const Dataset& data, Run& run, std::optional<Trace>& trace) {
  Stopwatch clock;
  ProgressTable table(stderr, progress_style());
  const bool quiet = arguments.has("quiet");
  run.options.warn = [&](const Sentence& sentence) {
    table.finish();
    run.warnings.add(sentence);
  };
  hold_signals();
  if (trace && run.options.time_limit_s) trace->set_time_limit(*run.options.time_limit_s);
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
  const int threads = run.options.threads;
  const Predictor predictor(run.result.model, Rows::normalized, threads);
  RunReport report{data, run.result};
  report.seed = run.options.seed;
  report.status = status_sentence(run.result.status, run.result.iterations);
  report.certificate = certificate_sentence(run.result.certificate);
  report.loss = describe_problem(run.result.model.provenance);
  report.trace = run.records;
  report.training = assess(predictor, data.X, data.y, threads);
  if (run.held_out)
    report.held_out = {run.held_out->source(), run.held_out->y(),
                       assess(predictor, run.held_out->X(), run.held_out->y(), threads)};
  report.seconds = {{"loading", run.load_seconds}, {"training", run.train_seconds}, {"assessing", clock.seconds()}};
  write_text(path, html_report(report));
}

Json to_json(const Run& run, const Dataset& data, const std::string& path) {
  const Model& model = run.result.model;
  Json document = Json::object();
  document["status"] = topwolf::to_string(run.result.status);
  add_certificate(document, run.result.certificate);
  document["iterations"] = run.result.iterations;
  document["load_seconds"] = run.load_seconds;
  document["train_seconds"] = run.train_seconds;
  add_data(document, data);
  add_loss(document, model.provenance.loss);
  if (model.class_features.rows() > 0) document["class_features"] = model.class_features.cols();
  document["lambda"] = run.result.lambda;
  document["C"] = run.result.C;
  document["solver"] = model.provenance.solver;
  document["choice"] = run.result.choice;
  document["row_visits"] = run.result.row_visits;
  document["bias"] = model.bias;
  document["center"] = run.options.center;
  document["threads"] = run.result.threads;
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
  std::string problem = describe_problem(run.result.model.provenance);
  if (data.margins.given()) problem += ", with margins row by row";
  if (model.class_features.rows() > 0) problem += fmt::format(", {} class features", model.class_features.cols());
  std::string text = fmt::format(
      "{} rows, {} features, {} classes; {}\n{} in {:.2f} s: {} (primal {:.6g}, dual {:.6g})\n", data.X.rows(),
      data.X.cols(), data.classes.size(), problem, status_sentence(run.result.status, run.result.iterations),
      run.train_seconds, certificate_sentence(run.result.certificate), run.result.certificate.primal,
      run.result.certificate.dual);
  if (run.result.status == Status::stalled && model.precision == Precision::float32)
    text += "float32 cannot come closer; --precision float64 can\n";
  if (run.held_out_errors) {
    text += fmt::format("held out, {} rows:", run.held_out->X().rows());
    for (std::size_t a = 0; a < run.held_out_errors->ks.size(); ++a)
      text += fmt::format("{} top-{} error {:.2f} %", a == 0 ? "" : ",", run.held_out_errors->ks[a],
                          100.0 * run.held_out_errors->errors[a]);
    text += "\n";
  }
  if (!path.empty()) text += fmt::format("model written to {}\n", escape_controls(path));
  return text;
}

}  // namespace

int run_train(const Arguments& arguments) {
  if (arguments.has("shards")) return run_train_on_shards(arguments);
  Run run;
  run.options = training_options(arguments);
  run.options.loss = loss_of(arguments);
  set_regularisation(arguments, run.options);
  run.options.keep_dual = arguments.has("dual");
  check(run.options);
  const std::string path = model_path(arguments);
  check_inputs(arguments);
  check_outputs(arguments, {path});
  const Dataset data = load(arguments, run);
  if (arguments.has("dry-run")) return print_plan(arguments, data, plan(data, run.options));
  std::optional<Trace> trace;
  if (arguments.has("trace")) trace.emplace(arguments.text("trace"));
  train_observed(arguments, data, run, trace);

  Model& model = run.result.model;
  model.label_column = arguments.text("label-column");
  model.provenance.command = arguments.command_line();
  check_still(arguments, path, model_format);
  if (!path.empty()) save_model(model, path);
  check_still(arguments, arguments.text("dual"), dual_format);
  if (arguments.has("dual")) save_dual(run.result.dual, model.m(), model.provenance.data_hash, arguments.text("dual"));
  if (trace) trace->close();
  check_still(arguments, arguments.text("report"));
  if (arguments.has("report")) write_report(run, data, arguments.text("report"));
  print(arguments.has("json") ? dump(to_json(run, data, path)) : to_text(run, data, path));
  if (held_signal() != 0) return 128 + held_signal();
  return run.result.status == Status::converged ? 0 : 5;
}

}  // namespace topwolf::cli
