// topwolf audit: a model and data to the library's audit, and its brackets to standard output. Exit code 0 only if the
// optimum was bracketed to the tolerance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/counted.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data_options.hpp"
#include "problem_options.hpp"
#include "report/progress.hpp"
#include "signals.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"
#include "training.hpp"

namespace topwolf::cli {
namespace {

bool names_a_loss(const Arguments& arguments) {
  const auto names = {"loss", "k", "rho", "cost-matrix", "smoothing", "temperature"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return arguments.has(name); });
}

// `own` but for what the arguments say. A loss is taken as a whole from one of the two.
TrainOptions options_over(const Arguments& arguments, TrainOptions own) {
  if (names_a_loss(arguments)) own.loss = loss_of(arguments);
  set_regularisation(arguments, own);
  set_bias(arguments, own);
  if (const auto tolerance = arguments.real("tolerance")) own.tolerance = tolerance;
  own.time_limit_s = arguments.real("time-limit");
  own.should_stop = [] { return held_signal() != 0; };
  own.threads = threads_of(arguments);
  if (arguments.has("device")) own.device = arguments.text("device");
  own.seed = seed_of(arguments);
  check(own);
  return own;
}

// The arguments alone were found right: what is out of range then is the model's, unless they name the like.
template <class Call>
auto blaming_model(const Arguments& arguments, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    const bool asked = names_a_loss(arguments) || arguments.has("C") || arguments.has("lambda");
    if (error.kind() != ErrorKind::option || asked) throw;
    fail(ErrorKind::data, "{}: the problem that the model says it solves is none: {}", arguments.required_positional(1),
         error.what());
  }
}

struct Audit {
  Model model;
  Dataset data;
  TrainOptions options;
  AuditResult result;
  double load_seconds = 0.0;
  Warnings warnings;
};

void load_matrix(const Arguments& arguments, Audit& audit) {
  DataOptions options{row_options(arguments, arguments.required_positional(0))};
  if (!options.precision) options.precision = Precision::float64;
  audit.data = prepare(options).data;
  audit.model = load_coefficients(arguments.required_positional(1), audit.data.X.cols(), audit.data.classes,
                                  arguments.bytes("max-unpacked"));
  // Sparse text does not tell how many features there are: the last one may never occur.
  if (audit.data.X.sparse() && audit.model.bias != 0.0) {
    audit.warnings.add(fmt::format("the data names {}, so what the matrix has beyond is read as intercepts",
                                   counted(audit.data.X.cols(), "feature")));
  }
}

void load_own(const Arguments& arguments, Audit& audit) {
  const std::string& path = arguments.required_positional(0);
  audit.model = load_model(arguments.required_positional(1));
  audit.data = prepare_for(audit.model, row_options(arguments, path), {.wider = true}, audit.warnings.teller());
  if (audit.data.X.cols() > audit.model.d && audit.model.normalization.kind != NormalizeKind::unit)
    audit.warnings.add(fmt::format("{}: the rows have {}, the model {}; it is taken to give the others weight 0", path,
                                   counted(audit.data.X.cols(), "feature"), audit.model.d));
}

void load(const Arguments& arguments, Audit& audit) {
  const Stopwatch clock;
  if (is_coefficient_file(arguments.required_positional(1))) {
    load_matrix(arguments, audit);
  } else {
    load_own(arguments, audit);
  }
  if (audit.model.m() > audit.data.classes.size())
    audit.warnings.add(fmt::format("{} of the model's {} classes have no rows in the data; they stay classes",
                                   audit.model.m() - audit.data.classes.size(), audit.model.m()));
  audit.options = blaming_model(arguments, [&] { return options_over(arguments, audit_options(audit.model)); });
  if (audit.data.margins.given()) audit.options.loss.cost_matrix.clear();
  if (arguments.has("cost-matrix"))
    audit.options.loss.cost_matrix =
        load_cost_matrix(arguments.text("cost-matrix"), audit.model.m(), arguments.bytes("max-unpacked"));
  audit.load_seconds = clock.seconds();
}

void run_observed(const Arguments& arguments, Audit& audit) {
  ProgressTable table(stderr, progress_style(), target_gap(audit.options));
  const bool quiet = arguments.has("quiet");
  hold_signals();
  const auto observer = [&](const IterationRecord& record) {
    if (!quiet) table.observe(record);
    return held_signal() == 0;
  };
  audit.result =
      blaming_model(arguments, [&] { return topwolf::audit(audit.data, audit.model, audit.options, observer); });
  table.finish();
  const std::string& trained_on = audit.model.provenance.data_hash;
  if (!trained_on.empty() && trained_on != audit.result.training.model.provenance.data_hash)
    audit.warnings.add("these are not the rows that the model was trained on: it is judged by another problem");
}

// What LIBLINEAR's objective is of ours.
double liblinear_scale(const Audit& audit) {
  return 1.0 / audit.result.training.lambda;
}

Json to_json(const Arguments& arguments, const Audit& audit) {
  const auto& [primal, least_primal, optimum, least, most, training] = audit.result;
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json document = Json::object();
  document["status"] = topwolf::to_string(training.status);
  document["objective"] = primal;
  document["objective_at_least"] = least_primal;
  document["excess_at_least"] = finite(least);
  document["excess_at_most"] = finite(most);
  document["optimum_at_least"] = optimum.dual;
  document["optimum_at_most"] = optimum.primal;
  document["liblinear_scale"] = liblinear_scale(audit);
  document["iterations"] = training.iterations;
  document["load_seconds"] = audit.load_seconds;
  document["train_seconds"] = training.seconds;
  document["n"] = audit.data.X.rows();
  document["d"] = audit.data.X.cols();
  document["m"] = audit.model.m();
  add_loss(document, training.model.provenance.loss);
  document["lambda"] = training.lambda;
  document["C"] = training.C;
  document["bias"] = audit.options.bias;
  document["center"] = audit.options.center;
  document["normalize"] = to_string(audit.model.normalization.kind);
  document["tolerance"] = *audit.options.tolerance;
  document["precision"] = to_string(audit.data.X.precision());
  document["threads"] = resolve_threads(audit.options.threads);
  document["seed"] = audit.options.seed;
  document["model"] = arguments.required_positional(1);
  document["version"] = TOPWOLF_VERSION;
  document["warnings"] = audit.warnings.sentences();
  return document;
}

std::string to_text(const Audit& audit) {
  const auto& [primal, least_primal, optimum, least, most, training] = audit.result;
  const Model& solved = training.model;
  std::string text = fmt::format("{}, {}, {}; {}; C = {:.6g}, lambda = {:.6g}{}\n", counted(audit.data.X.rows(), "row"),
                                 counted(audit.data.X.cols(), "feature"), counted(audit.model.m(), "class"),
                                 describe_problem(solved.provenance), training.C, training.lambda,
                                 solved.bias != 0.0 ? fmt::format(", bias = {:g}", solved.bias) : "");
  text += fmt::format("{} in {:.2f} s\n\n", status_sentence(training.status, training.iterations), training.seconds);
  text += fmt::format("{:<20} {:>16} {:>20}\n", "", "objective", "LIBLINEAR's scale");
  const auto row = [&](std::string_view name, double value) {
    text += fmt::format("{:<20} {:>16.9g} {:>20.9g}\n", name, value, value * liblinear_scale(audit));
  };
  // What is told apart below is not rounding's doing, unless the model's scores cancel.
  const bool cancels = primal - least_primal > 1e-9 * primal;
  row(cancels ? "the model at most" : "the model", primal);
  if (cancels) row("the model at least", least_primal);
  row("the optimum at most", optimum.primal);
  row("the optimum at least", optimum.dual);
  text += fmt::format("\nthe model is {}\n", excess_sentence(least, most));
  if (cancels) text += "its scores are differences of much larger numbers: double cannot tell its objective closer\n";
  if (training.status == Status::stalled) text += stalled_advice(audit.data.X.precision());
  return text;
}

}  // namespace

int run_audit(const Arguments& arguments) {
  options_over(arguments, {});  // what is wrong whatever the model says is refused before it is read
  Audit audit;
  load(arguments, audit);
  run_observed(arguments, audit);
  print(arguments.has("json") ? dump(to_json(arguments, audit)) : to_text(audit));
  if (held_signal() != 0) return 128 + held_signal();
  return audit.result.training.status == Status::converged ? 0 : 5;
}

}  // namespace topwolf::cli
