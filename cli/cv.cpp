// topwolf cv: a grid of losses and values of C, judged on held-out folds; the best is trained on all rows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/counted.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"
#include "plan.hpp"
#include "problem_options.hpp"
#include "report/selection_report.hpp"
#include "report/trend.hpp"
#include "selection.hpp"
#include "signals.hpp"
#include "terminal.hpp"
#include "training.hpp"

namespace topwolf::cli {
namespace {

struct Job {
  CvOptions options;
  bool any_loss = false;  // --loss auto
  std::int64_t folds = 5;
  Dataset data;
  double load_seconds = 0.0;
  Warnings warnings;
};

void warn_of_small_classes(const Dataset& data, std::int64_t folds, Warnings& warnings) {
  std::vector<std::int64_t> rows(data.classes.names.size(), 0);
  for (const std::int32_t y : data.y) ++rows[static_cast<std::size_t>(y)];
  const auto small = std::count_if(rows.begin(), rows.end(), [&](std::int64_t count) { return count < folds; });
  if (small > 0)
    warnings.add(fmt::format("{} of {} {} fewer rows than there are folds, {}; their rows stay in training", small,
                             counted(rows.size(), "class"), small == 1 ? "has" : "have", folds));
}

void load(const Arguments& arguments, Job& job) {
  Stopwatch clock;
  Prepared prepared = prepare(data_options(arguments));
  job.data = std::move(prepared.data);
  if (job.any_loss) {
    for (LossCandidate& one : loss_candidates(job.options.metric, job.data.classes.size())) {
      job.options.losses.push_back(std::move(one.loss));
    }
  }
  for (LossSpec& loss : job.options.losses) loss.cost_matrix = prepared.cost_matrix;
  warn_of_small_classes(job.data, job.folds, job.warnings);
  job.options.folds = stratified_folds(job.data.y, job.data.classes.size(), job.folds, job.options.train.seed);
  job.load_seconds = clock.seconds();
}

// The first signal ends the search, and then the fit to all rows is let be; one that comes in that fit ends it.
CvResult run_observed(const Arguments& arguments, Job& job) {
  StatusLine status(arguments.has("quiet"));
  std::int64_t told = 0;
  job.options.train.warn = [&](const Sentence& sentence) {
    status.clear();
    job.warnings.add(sentence);
  };
  hold_signals();
  CvResult result = cross_validate(job.data, job.options, [&](const CvProgress& progress) {
    const bool tenth = progress.finished * 10 / progress.total > told;
    if (tenth) told = progress.finished * 10 / progress.total;
    std::string text = fmt::format("{} of {}, {}", progress.finished, counted(progress.total, "fit"),
                                   describe_seconds(progress.seconds));
    if (progress.seconds_left) text += fmt::format(", about {} left", describe_roughly(*progress.seconds_left));
    if (progress.refitting) text += ", training on all rows";
    status.show(text, progress.seconds, tenth);
    return held_signal() == 0 || progress.ended == Status::interrupted;
  });
  status.clear();
  return result;
}

std::string shown(double error, const Metric& metric) {
  return metric.costs() ? fmt::format("{:.5g}", error) : fmt::format("{:.2f} %", 100.0 * error);
}

// Of the metric's column.
std::size_t width_of(const Metric& metric) {
  return std::max<std::size_t>(10, topwolf::to_string(metric).size());
}

std::string line_of(const CvPoint& point, const Metric& metric) {
  double seconds = 0.0, gap = 0.0;
  for (const double one : point.seconds) seconds += one;
  for (const double one : point.relative_gaps) gap = std::max(gap, std::isnan(one) ? 0.0 : one);
  const auto known = [](bool is, std::string text) { return is ? text : std::string("-"); };
  return fmt::format("{:<28} {:>10.6g} {:>{}} {:>10} {:>9} {:>8.2f}", topwolf::to_string(point.loss), point.C,
                     known(point.tried > 0, shown(point.mean, metric)), width_of(metric),
                     known(!std::isnan(point.standard_error), shown(point.standard_error, metric)),
                     known(point.tried > 0, fmt::format("{:.1e}", gap)), seconds);
}

std::string table(const CvResult& result, const Metric& metric) {
  std::string text = fmt::format("{:<28} {:>10} {:>{}} {:>10} {:>9} {:>8}\n", "loss", "C", topwolf::to_string(metric),
                                 width_of(metric), "std error", "gap", "seconds");
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    text += line_of(result.points[p], metric);
    for (const std::string& remark : remarks_on(result, p)) text += "  " + remark;
    text += "\n";
  }
  return text;
}

std::string to_text(const CvResult& result, const std::string& path, const Metric& metric) {
  std::string text = table(result, metric);
  const CvPoint& chosen = result.points[result.chosen];
  text += fmt::format("chosen: {}, C = {:g}; the search took {:.2f} s\n", topwolf::to_string(chosen.loss), chosen.C,
                      result.seconds);
  if (result.refitted) {
    const TrainResult& fit = *result.refitted;
    text += fmt::format("trained on all rows, {}: {}{}\n", status_sentence(fit.status, fit.iterations),
                        certificate_sentence(fit.certificate), describe_centring(!fit.model.provenance.mean.empty()));
  }
  if (!path.empty()) text += fmt::format("model written to {}\n", escape_controls(path));
  return text;
}

// How a search ended that did not try everything.
std::string ending(const CvResult& result, const Job& job) {
  const bool resumable = !job.options.train.checkpoints.path.empty() || !job.options.train.checkpoints.resume.empty();
  const char* cause = result.ended == Status::time_limit ? "the time limit" : "a signal";
  const std::string rest = resumable ? "; --resume goes on" : "";
  if (result.fits == 0)
    return fmt::format("{} ended the search before a fit was finished: there is no model{}", cause, rest);
  return fmt::format("{} ended the search after {} of {} fits; {}{}", cause, result.fits, result.wanted,
                     choice_sentence(result), rest);
}

Json to_json(const Job& job, const CvResult& result, const std::string& path, const std::string& rule) {
  Json document = Json::object();
  add_data(document, job.data);
  document["center"] = job.options.train.center;
  document["metric"] = topwolf::to_string(job.options.metric);
  document["folds"] = job.options.folds.size();
  document["rule"] = rule;
  document["load_seconds"] = job.load_seconds;
  document["seconds"] = result.seconds;
  document["race"] = job.options.race;
  document["complete"] = result.complete;
  document["fits"] = result.fits;
  document["ended"] = result.ended ? Json(topwolf::to_string(*result.ended)) : Json(nullptr);
  document["points"] = Json::array();
  for (const CvPoint& point : result.points) {
    document["points"].push_back({{"loss", topwolf::to_string(point.loss)},
                                  {"C", point.C},
                                  {"mean", point.mean},
                                  {"standard_error", point.standard_error},
                                  {"errors", point.errors},
                                  {"folds_tried", point.tried},
                                  {"dropped", point.dropped},
                                  {"competes", point.competes},
                                  {"relative_gaps", point.relative_gaps},
                                  {"iterations", point.iterations},
                                  {"seconds", point.seconds}});
  }
  if (result.fits > 0) {
    document["best"] = result.best;
    document["chosen"] = result.chosen;
    document["at_edge"] = result.at_edge;
  }
  if (result.refitted) {
    const TrainResult& fit = *result.refitted;
    document["status"] = topwolf::to_string(fit.status);
    add_certificate(document, fit.certificate);
    document["iterations"] = fit.iterations;
    add_loss(document, fit.model.provenance.loss);
    document["C"] = result.refitted->C;
  }
  add_ending(document, path, job.warnings.sentences());
  return document;
}

// Chosen with k, from the metric and the number of classes.
bool takes_any_loss(const Arguments& arguments) {
  if (arguments.text("loss") != "auto") return false;
  for (const char* key : {"k", "rho", "smoothing", "temperature"}) {
    if (arguments.has(key))
      fail(ErrorKind::option, "--loss auto chooses the loss with its parameters, and takes no {}{}",
           std::string_view(key) == "k" ? "-" : "--", key);
  }
  return true;
}

// -k, --rho, --smoothing and --temperature are for all of them.
std::vector<LossSpec> losses_of(const Arguments& arguments) {
  if (!arguments.has("loss")) return {loss_of(arguments)};
  std::vector<LossSpec> losses;
  const std::string text = arguments.text("loss");
  for (const auto name : split(text, ',')) {
    if (name == "auto") fail(ErrorKind::option, "--loss auto is a list already; give it alone");
    losses.push_back(loss_of(arguments, std::string(name)));
  }
  return losses;
}

}  // namespace

int run_cv(const Arguments& arguments) {
  Job job;
  job.options.train = training_options(arguments);
  check(job.options.train);
  job.any_loss = job.options.race = takes_any_loss(arguments);
  if (!job.any_loss) job.options.losses = losses_of(arguments);
  job.options.C = grid_of(arguments);
  if (arguments.has("metric")) job.options.metric = parse_metric(arguments.text("metric"));
  job.options.one_standard_error = arguments.choice("choose") == "one-se";
  job.folds = arguments.integer("folds", 2, 1000).value_or(job.folds);
  const bool costs = arguments.has("cost-matrix") || arguments.has("taxonomy") || arguments.has("margins");
  if (job.options.metric.costs() && !costs)
    fail(ErrorKind::option, "the cost in --metric needs the costs; give --cost-matrix, --taxonomy or --margins");
  const std::string path = output_argument(arguments, 1, "MODEL");
  check_inputs(arguments);
  check_outputs(arguments, {path});
  load(arguments, job);
  if (arguments.has("dry-run")) return print_plan(arguments, job.data, plan(job.data, job.options));
  CvResult result = run_observed(arguments, job);
  const std::string rule = job.options.one_standard_error ? "one standard error" : "best";
  if (result.at_edge)
    job.warnings.add(
        fmt::format("the best C, {:g}, is an end of the range; try values beyond it", result.points[result.best].C));
  if (!result.complete && result.fits > 0) job.warnings.add(ending(result, job));
  if (result.refitted) save_trained(arguments, result.refitted->model, path);
  const std::string written = result.refitted ? path : "";
  if (arguments.has("json")) {
    print(dump(to_json(job, result, written, rule)));
  } else if (result.fits > 0) {
    print(to_text(result, written, job.options.metric));
  } else {
    print(ending(result, job) + "\n");
  }
  if (arguments.has("report") && result.fits > 0) {
    check_still(arguments, arguments.text("report"));
    const SelectionContext context{job.data,
                                   arguments.command_line(),
                                   job.options.train.seed,
                                   counted(job.options.folds.size(), "fold"),
                                   job.warnings.sentences(),
                                   arguments.required_positional(0),
                                   resolve_threads(job.options.train.threads)};
    write_text(arguments.text("report"),
               cv_report(context, result, job.options.metric, rule,
                         result.refitted ? certificate_sentence(result.refitted->certificate) +
                                               describe_centring(job.options.train.center)
                                         : ""));
  }
  if (held_signal() != 0) return 128 + held_signal();
  if (result.ended) return 5;
  return result.refitted && result.refitted->status == Status::converged ? 0 : 5;
}

}  // namespace topwolf::cli
