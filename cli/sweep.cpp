// topwolf sweep: one row for every C, printed as it is finished.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/counted.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data_options.hpp"
#include "held_out.hpp"
#include "narration.hpp"
#include "plan.hpp"
#include "problem_options.hpp"
#include "report/assessment.hpp"
#include "report/selection_report.hpp"
#include "signals.hpp"
#include "topwolf/dataset.hpp"
#include "training.hpp"

namespace topwolf::cli {
namespace {

void make_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return;
  if (fs::exists(folder, error)) fail(ErrorKind::io, "{}: is a file, but MODELS_DIR must be a folder", folder);
  fs::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "{}: cannot be made: {}", folder, error.message());
}

// "C_0.1.topwolf": six digits, or as many as it takes to tell the values apart.
std::string model_name(double C, const std::vector<double>& grid) {
  const bool alike = std::any_of(grid.begin(), grid.end(), [&](double other) {
    return other != C && fmt::format("{:.6g}", other) == fmt::format("{:.6g}", C);
  });
  return alike ? fmt::format("C_{}.topwolf", C) : fmt::format("C_{:.6g}.topwolf", C);
}

std::string header(const std::vector<std::int64_t>& places, bool held_out) {
  std::string line =
      fmt::format("{:>10} {:>11} {:>11} {:>9} {:>7} {:>8}", "C", "lambda", "primal", "gap", "passes", "seconds");
  for (const std::int64_t k : places) line += fmt::format(" {:>8}", fmt::format("train@{}", k));
  if (held_out) {
    for (const std::int64_t k : places) line += fmt::format(" {:>8}", fmt::format("held@{}", k));
  }
  return line + "\n";
}

std::string line_of(const SweepPoint& point) {
  std::string line =
      fmt::format("{:>10.6g} {:>11.5g} {:>11.6g} {:>9.1e} {:>7} {:>8.2f}", point.C, point.lambda,
                  point.certificate.primal, point.certificate.relative_gap(), point.iterations, point.seconds);
  for (const double error : point.training_errors) line += fmt::format(" {:>6.2f} %", 100.0 * error);
  for (const double error : point.held_out_errors) line += fmt::format(" {:>6.2f} %", 100.0 * error);
  if (point.status != Status::converged) line += fmt::format("  {}", to_string(point.status));
  return line + "\n";
}

// At the C with the lowest held-out top-1 error.
const SweepPoint* best_of(const SweepResult& result) {
  const SweepPoint* best = nullptr;
  for (const SweepPoint& point : result.points) {
    if (point.held_out_errors.empty()) continue;
    if (best == nullptr || point.held_out_errors[0] < best->held_out_errors[0]) best = &point;
  }
  return best;
}

Json errors_json(const std::vector<std::int64_t>& places, const std::vector<double>& errors) {
  if (errors.empty()) return nullptr;
  Json out = Json::object();
  for (std::size_t a = 0; a < places.size(); ++a) out[fmt::format("top{}_error", places[a])] = errors[a];
  return out;
}

struct Job {
  SweepOptions options;
  std::string folder;  // where the models go, "" for nowhere
  Dataset data;
  std::optional<Dataset> held_out;
  std::string held_out_source;
  std::string data_hash;
  double load_seconds = 0.0;
  Warnings warnings;
};

std::string model_path(const Job& job, double C) {
  return (std::filesystem::path(job.folder) / model_name(C, job.options.C)).string();
}

// Of all points; a C that is given twice is one point.
std::vector<std::string> model_paths(const Job& job) {
  std::vector<std::string> paths;
  for (const double C : job.options.C) paths.push_back(model_path(job, C));
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

void load(const Arguments& arguments, Job& job) {
  Stopwatch clock;
  Prepared prepared = prepare(data_options(arguments));
  job.data = std::move(prepared.data);
  job.options.train.loss.cost_matrix = std::move(prepared.cost_matrix);
  if (arguments.has("validation")) {
    const HeldOut rows(arguments, job.data, job.warnings);
    job.held_out = rows.dataset();
    job.held_out_source = fmt::format("{}, {}", rows.source(), counted(rows.X().rows(), "row"));
  } else if (const auto share = arguments.real("holdout")) {
    const Fold fold = stratified_split(job.data.y, job.data.classes.size(), *share, job.options.train.seed);
    job.held_out = subset(job.data, fold.held_out);
    job.data = subset(job.data, fold.training);
    job.held_out_source = fmt::format("{}, {:g} of every class", counted(fold.held_out.size(), "row"), *share);
  }
  if (job.held_out) job.options.held_out = &*job.held_out;
  job.load_seconds = clock.seconds();
}

// The models of points that were finished before are not made again, so they must be there.
void check_models(const Job& job, const std::vector<SweepPoint>& finished) {
  if (job.folder.empty()) return;
  for (const SweepPoint& point : finished) {
    const std::string path = model_path(job, point.C);
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      fail(ErrorKind::data,
           "{}: is missing, but by the checkpoint {} C = {:g} is finished; give the MODELS_DIR of the first run, or "
           "begin again without --resume",
           path, job.options.train.checkpoints.resume, point.C);
  }
}

SweepResult run_observed(const Arguments& arguments, Job& job) {
  PathNarration narration(arguments, job.options.train, job.warnings,
                          header(usual_places(job.data.classes.size()), job.held_out.has_value()));
  SweepObserver observer;
  observer.pass = [&](double C, const Progress& progress) { return narration.observe(C, progress); };
  observer.resumed = [&](const std::vector<SweepPoint>& points) {
    check_models(job, points);
    make_folder(job.folder);
    for (const SweepPoint& point : points) narration.finished(line_of(point));
  };
  observer.finished = [&](const SweepPoint& point, const TrainResult& result) {
    narration.clear();
    job.data_hash = result.model.provenance.data_hash;
    if (!job.folder.empty()) {
      Model model = result.model;
      save_trained(arguments, model, model_path(job, point.C));
    }
    narration.finished(line_of(point));
  };
  SweepResult result = sweep(job.data, job.options, observer);
  narration.clear();
  return result;
}

Json to_json(const Job& job, const SweepResult& result) {
  Json document = Json::object();
  add_data(document, job.data);
  add_loss(document, job.options.train.loss);
  document["center"] = job.options.train.center;
  document["choice"] = result.choice;
  document["load_seconds"] = job.load_seconds;
  document["train_seconds"] = result.seconds;
  document["points"] = Json::array();
  for (const SweepPoint& point : result.points) {
    Json row = Json::object();
    row["C"] = point.C;
    row["lambda"] = point.lambda;
    row["status"] = topwolf::to_string(point.status);
    add_certificate(row, point.certificate);
    row["iterations"] = point.iterations;
    row["row_visits"] = point.row_visits;
    row["seconds"] = point.seconds;
    row["training"] = errors_json(result.places, point.training_errors);
    row["held_out"] = errors_json(result.places, point.held_out_errors);
    document["points"].push_back(row);
  }
  document["not_tried"] = result.not_tried;
  const SweepPoint* best = best_of(result);
  document["best_C"] = best ? Json(best->C) : Json(nullptr);
  document["models"] = job.folder.empty() ? Json(nullptr) : Json(job.folder);
  document["version"] = TOPWOLF_VERSION;
  document["warnings"] = job.warnings.sentences();
  return document;
}

// Where the sweep was ended: at which C, and what is missing.
void warn_of_end(const SweepResult& result, Warnings& warnings) {
  if (!result.ended) return;
  warnings.add(
      fmt::format("{} ended the sweep at C = {:g}, which has the best model so far; not tried: {}",
                  result.ended == Status::time_limit ? "the time limit" : "a signal", result.points.back().C,
                  result.not_tried.empty() ? "nothing" : fmt::format("C = {:g}", fmt::join(result.not_tried, ", "))));
}

void warn_of_edge(const SweepResult& result, Warnings& warnings) {
  const SweepPoint* best = best_of(result);
  if (best == nullptr || result.points.size() < 2 || !result.not_tried.empty()) return;
  if (best == &result.points.front() || best == &result.points.back())
    warnings.add(
        fmt::format("the lowest held-out error is at C = {:g}, an end of the range; try values beyond it", best->C));
}

}  // namespace

int run_sweep(const Arguments& arguments) {
  Job job;
  job.options.train = training_options(arguments);
  check(job.options.train);
  job.options.train.loss = loss_of(arguments);
  job.options.C = grid_of(arguments);
  if (arguments.has("validation") && arguments.has("holdout"))
    fail(ErrorKind::option, "--validation and --holdout both say which rows are held out; give one of them");
  if (const auto share = arguments.real("holdout"); share && !(*share > 0.0 && *share < 1.0))
    fail(ErrorKind::option, "--holdout is {}; it must lie between 0 and 1", *share);
  check_inputs(arguments);
  check_outputs(arguments, {});
  job.folder = output_argument(arguments, 1, "MODELS_DIR");
  const bool dry = arguments.has("dry-run");
  std::error_code error;
  // What is resumed may lack models in a new folder, which then is not made.
  if (!dry && (!arguments.has("resume") || std::filesystem::exists(job.folder, error))) make_folder(job.folder);
  if (std::filesystem::is_directory(job.folder, error)) check_outputs(arguments, model_paths(job));
  load(arguments, job);
  if (dry) return print_plan(arguments, job.data, plan(job.data, job.options));
  const SweepResult result = run_observed(arguments, job);
  warn_of_end(result, job.warnings);
  warn_of_edge(result, job.warnings);
  const std::string centred = describe_centring(job.options.train.center);
  if (arguments.has("json")) {
    print(dump(to_json(job, result)));
  } else if (const SweepPoint* best = best_of(result)) {
    print(fmt::format("lowest held-out top-1 error: {:.2f} % at C = {:g}; the sweep took {:.2f} s{}\n",
                      100.0 * best->held_out_errors[0], best->C, result.seconds, centred));
  } else {
    print(fmt::format("the sweep took {:.2f} s{}\n", result.seconds, centred));
  }
  if (arguments.has("report") && !result.points.empty()) {
    check_still(arguments, arguments.text("report"));
    const SelectionContext context{job.data,
                                   arguments.command_line(),
                                   job.options.train.seed,
                                   job.held_out_source,
                                   job.warnings.sentences(),
                                   arguments.required_positional(0),
                                   resolve_threads(job.options.train.threads),
                                   job.held_out ? job.held_out->X.rows() : 0};
    write_text(arguments.text("report"),
               sweep_report(context, result,
                            describe_loss(job.options.train.loss) + describe_centring(job.options.train.center),
                            job.data_hash));
  }
  if (held_signal() != 0) return 128 + held_signal();
  const bool all = std::all_of(result.points.begin(), result.points.end(),
                               [](const SweepPoint& point) { return point.status == Status::converged; });
  return all && result.not_tried.empty() ? 0 : 5;
}

}  // namespace topwolf::cli
