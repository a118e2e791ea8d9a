// topwolf train: options to TrainOptions, data to Dataset, a model and its certificate to files and standard output.
// What can be refused early is refused before the data is read.
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/counted.hpp"
#include "core/escape.hpp"
#include "held_out.hpp"
#include "narration.hpp"
#include "plan.hpp"
#include "problem_options.hpp"
#include "report/html.hpp"
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
  std::vector<HeldOutErrors> held_out_records;   // of the same passes
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
  RunNarration narration(arguments, run.options, run.warnings, trace);
  const bool reported = arguments.has("report");
  const bool looked_at = run.held_out && (trace || !arguments.has("quiet") || reported);
  run.result = train(data, run.options, [&](const Progress& progress) {
    HeldOutErrors errors;
    if (looked_at) errors = run.held_out->errors_at(progress.weights(), run.options.bias, run.options.threads);
    if (reported) run.records.push_back(progress);
    if (reported && looked_at) run.held_out_records.push_back(errors);
    return narration.observe(progress, errors);
  });
  run.train_seconds = narration.finish();
  const Model& model = run.result.model;
  if (run.held_out) run.held_out_errors = run.held_out->errors_at(model.W, model.bias, run.options.threads);
}

void write_report(const Run& run, const Dataset& data, const std::string& source, const std::string& path) {
  Stopwatch clock;
  const int threads = run.options.threads;
  const Predictor predictor(run.result.model, Rows::normalized, threads);
  RunReport report{data, run.result};
  report.seed = run.options.seed;
  report.status = status_sentence(run.result.status, run.result.iterations);
  report.certificate = certificate_sentence(run.result.certificate);
  report.loss = describe_problem(run.result.model.provenance);
  report.source = source;
  report.warnings = run.warnings.sentences();
  report.trace = run.records;
  report.held_out_trace = run.held_out_records;
  report.training = assess(predictor, data.X, data.y, threads);
  if (run.held_out)
    report.held_out = {run.held_out->source(), run.held_out->y(),
                       assess(predictor, run.held_out->X(), run.held_out->y(), threads)};
  report.seconds = {{"loading", run.load_seconds}, {"training", run.train_seconds}, {"assessing", clock.seconds()}};
  write_text(path, html_report(report));
}

Json to_json(const Run& run, const Dataset& data, const std::string& path) {
  Json document = Json::object();
  add_outcome(document, run.result, run.load_seconds, run.train_seconds);
  add_data(document, data);
  add_method(document, run.options, run.result);
  if (run.held_out_errors) {
    document["held_out"]["n"] = run.held_out->X().rows();
    for (std::size_t a = 0; a < run.held_out_errors->ks.size(); ++a)
      document["held_out"][fmt::format("top{}_error", run.held_out_errors->ks[a])] = run.held_out_errors->errors[a];
  }
  add_ending(document, path, run.warnings.sentences());
  return document;
}

std::string to_text(const Run& run, const Dataset& data, const std::string& path) {
  const Model& model = run.result.model;
  std::string problem = describe_problem(run.result.model.provenance);
  if (data.margins.given()) problem += ", with margins row by row";
  if (model.class_features.rows() > 0)
    problem += fmt::format(", {}", counted(model.class_features.cols(), "class feature"));
  std::string text = fmt::format(
      "{}, {}, {}; {}\n{} in {:.2f} s: {} (primal {:.6g}, dual {:.6g})\n", counted(data.X.rows(), "row"),
      counted(data.X.cols(), "feature"), counted(data.classes.size(), "class"), problem,
      status_sentence(run.result.status, run.result.iterations), run.train_seconds,
      certificate_sentence(run.result.certificate), run.result.certificate.primal, run.result.certificate.dual);
  if (run.result.status == Status::stalled) text += stalled_advice(data.X.precision());
  if (run.held_out_errors) {
    text += fmt::format("held out, {}:", counted(run.held_out->X().rows(), "row"));
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
  save_trained(arguments, model, path);
  check_still(arguments, arguments.text("dual"), dual_format);
  if (arguments.has("dual")) save_dual(run.result.dual, model.m(), model.provenance.data_hash, arguments.text("dual"));
  if (trace) trace->close();
  check_still(arguments, arguments.text("report"));
  if (arguments.has("report")) write_report(run, data, arguments.required_positional(0), arguments.text("report"));
  print(arguments.has("json") ? dump(to_json(run, data, path)) : to_text(run, data, path));
  if (held_signal() != 0) return 128 + held_signal();
  return run.result.status == Status::converged ? 0 : 5;
}

}  // namespace topwolf::cli
