// topwolf probe: a path over C on rows that are held out, the choice, and its model.
#include <algorithm>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/counted.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"
#include "held_out.hpp"
#include "narration.hpp"
#include "problem_options.hpp"
#include "report/selection_report.hpp"
#include "signals.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"
#include "training.hpp"

namespace topwolf::cli {
namespace {

struct Job {
  ProbeOptions options;
  Dataset data, held_out;
  double load_seconds = 0.0;
  Warnings warnings;
};

void load(const Arguments& arguments, Job& job) {
  Stopwatch clock;
  Prepared prepared = prepare(data_options(arguments));
  job.data = std::move(prepared.data);
  job.options.train.loss.cost_matrix = std::move(prepared.cost_matrix);
  job.held_out = HeldOut(arguments, job.data, job.warnings).dataset();
  job.options.held_out = &job.held_out;
  job.load_seconds = clock.seconds();
}

std::string header(const std::vector<std::int64_t>& places) {
  std::string line = fmt::format("{:>10} {:>9} {:>7} {:>8}", "C", "gap", "passes", "seconds");
  for (const std::int64_t k : places) line += fmt::format(" {:>8}", fmt::format("held@{}", k));
  return line + "\n";
}

std::string line_of(const SweepPoint& point) {
  std::string line = fmt::format("{:>10.6g} {:>9.1e} {:>7} {:>8.2f}", point.C, point.certificate.relative_gap(),
                                 point.iterations, point.seconds);
  for (const double error : point.held_out_errors) line += fmt::format(" {:>6.2f} %", 100.0 * error);
  if (point.status != Status::converged) line += fmt::format("  {}", to_string(point.status));
  return line + "\n";
}

ProbeResult run_observed(const Arguments& arguments, Job& job) {
  PathNarration narration(arguments, job.options.train, job.warnings, header(usual_places(job.data.classes.size())));
  SweepObserver observer;
  observer.pass = [&](double C, const Progress& progress) { return narration.observe(C, progress); };
  observer.finished = [&](const SweepPoint& point, const TrainResult&) { narration.finished(line_of(point)); };
  ProbeResult result = probe(job.data, job.options, observer);
  narration.clear();
  return result;
}

void warn(const ProbeResult& result, Warnings& warnings) {
  const SweepPoint& best = result.path.points[result.best];
  if (result.at_edge)
    warnings.add(fmt::format("the best C, {:g}, is an end of the range; try values beyond it", best.C));
  if (!result.path.ended) return;
  const std::vector<double>& left = result.path.not_tried;
  warnings.add(fmt::format("{} ended the probe at C = {:g}; not tried: {}",
                           result.path.ended == Status::time_limit ? "the time limit" : "a signal",
                           result.path.points.back().C,
                           left.empty() ? "nothing" : fmt::format("C = {:g}", fmt::join(left, ", "))));
}

Json to_json(const Job& job, const ProbeResult& result, const std::string& path) {
  Json document = Json::object();
  add_data(document, job.data);
  add_loss(document, result.fit.model.provenance.loss);
  document["held_out"] = job.held_out.y.size();
  document["metric"] = topwolf::to_string(job.options.metric);
  document["load_seconds"] = job.load_seconds;
  document["seconds"] = result.seconds;
  document["ended"] = result.path.ended ? Json(topwolf::to_string(*result.path.ended)) : Json(nullptr);
  document["points"] = Json::array();
  for (std::size_t p = 0; p < result.path.points.size(); ++p) {
    const SweepPoint& point = result.path.points[p];
    Json row = Json::object();
    row["C"] = point.C;
    row["status"] = topwolf::to_string(point.status);
    add_certificate(row, point.certificate);
    row["iterations"] = point.iterations;
    row["seconds"] = point.seconds;
    row["error"] = result.errors[p];
    for (std::size_t a = 0; a < result.path.places.size(); ++a)
      row["held_out"][fmt::format("top{}_error", result.path.places[a])] = point.held_out_errors[a];
    document["points"].push_back(row);
  }
  document["not_tried"] = result.path.not_tried;
  document["best"] = result.best;
  document["at_edge"] = result.at_edge;
  document["refitted"] = result.refitted;
  document["C"] = result.fit.C;
  document["status"] = topwolf::to_string(result.fit.status);
  add_certificate(document, result.fit.certificate);
  add_ending(document, path, job.warnings.sentences());
  return document;
}

std::string to_text(const Job& job, const ProbeResult& result, const std::string& path) {
  std::string text = fmt::format("chosen: C = {:g}, held-out {} {:.2f} % of {} rows; the probe took {:.2f} s\n",
                                 result.path.points[result.best].C, topwolf::to_string(job.options.metric),
                                 100.0 * result.errors[result.best], job.held_out.y.size(), result.seconds);
  text += fmt::format("{}, {}: {}{}\n", result.refitted ? "trained again on all rows" : "the model",
                      status_sentence(result.fit.status, result.fit.iterations),
                      certificate_sentence(result.fit.certificate), describe_centring(job.options.train.center));
  if (!path.empty()) text += fmt::format("model written to {}\n", escape_controls(path));
  return text;
}

void write_report(const Arguments& arguments, const Job& job, const ProbeResult& result) {
  const SelectionContext context{job.data,
                                 arguments.command_line(),
                                 job.options.train.seed,
                                 fmt::format("{}, {}", validation_of(arguments), counted(job.held_out.y.size(), "row")),
                                 job.warnings.sentences(),
                                 arguments.required_positional(0),
                                 resolve_threads(job.options.train.threads)};
  write_text(arguments.text("report"),
             probe_report(context, result, job.options.metric,
                          describe_loss(job.options.train.loss) + describe_centring(job.options.train.center)));
}

}  // namespace

int run_probe(const Arguments& arguments) {
  Job job;
  job.options.train = training_options(arguments);
  check(job.options.train);
  job.options.train.loss = loss_of(arguments);
  job.options.C = grid_of(arguments);
  job.options.refit = arguments.has("refit");
  if (arguments.has("metric")) job.options.metric = parse_metric(arguments.text("metric"));
  const std::string path = output_argument(arguments, 2, "MODEL");
  check_inputs(arguments);
  check_outputs(arguments, {path});
  load(arguments, job);
  ProbeResult result = run_observed(arguments, job);
  warn(result, job.warnings);
  save_trained(arguments, result.fit.model, path);
  if (arguments.has("report")) {
    check_still(arguments, arguments.text("report"));
    write_report(arguments, job, result);
  }
  print(arguments.has("json") ? dump(to_json(job, result, path)) : to_text(job, result, path));
  if (held_signal() != 0) return 128 + held_signal();
  const bool all = std::all_of(result.path.points.begin(), result.path.points.end(),
                               [](const SweepPoint& point) { return point.status == Status::converged; });
  return all && !result.path.ended && result.fit.status == Status::converged ? 0 : 5;
}

}  // namespace topwolf::cli
