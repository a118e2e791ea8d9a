// Training with any psi: the same solvers on another engine.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/check_dataset.hpp"
#include "engine/factory.hpp"
#include "model/dual_file.hpp"
#include "solve/driver.hpp"
#include "solve/method.hpp"
#include "solve/warm_start.hpp"
#include "train/problem.hpp"

namespace topwolf {
namespace {

void check_asked(const TrainOptions& options) {
  check(options);
  if (options.bias != 0.0) fail(ErrorKind::option, "a bias is asked for, but psi has its own constant features");
  if (options.scores != ScoresName::automatic) {
    fail(ErrorKind::option, "scores from the {} are asked for, but with a psi of one's own they come from psi",
         to_string(options.scores));
  }
  if (!options.checkpoints.path.empty() || !options.checkpoints.resume.empty()) {
    fail(ErrorKind::option, "checkpoints are asked for, but a psi of one's own cannot be compared with the one before");
  }
}

Problem problem_of(const JointMap& psi, const JointLabels& labels, const TrainOptions& options) {
  Problem problem;
  problem.n = psi.examples();
  problem.m = psi.classes();
  if (problem.n == 0) fail(ErrorKind::data, "there are no examples to train on");
  check_labels(labels.y, problem.n, problem.m);
  check_weights(labels.weights, problem.n);
  check_margins(labels.margins, labels.y, problem.m);
  problem.y = labels.y;
  problem.omega = labels.weights;
  problem.N = labels.weights.empty() ? static_cast<double>(problem.n)
                                     : std::accumulate(labels.weights.begin(), labels.weights.end(), 0.0);
  if (labels.margins.given()) problem.per_example = &labels.margins;
  set_loss(options, labels.margins, problem);
  return problem;
}

Method method_for(const TrainOptions& options) {
  Method method;
  method.solver = options.solver == SolverName::automatic ? SolverName::block : options.solver;
  method.name = to_string(method.solver);
  method.choice = method.solver == SolverName::block ? "block ascent with scores from psi"
                                                     : fmt::format("{}: as asked", method.name);
  return method;
}

}  // namespace

JointResult train_joint(const JointMap& psi, const JointLabels& labels, const TrainOptions& options,
                        const Observer& observer) {
  const Stopwatch clock;
  check_asked(options);
  const Problem problem = problem_of(psi, labels, options);
  const int threads = resolve_threads(options.threads);
  const auto engine = make_engine(problem, {.threads = threads, .psi = &psi});
  const Method method = method_for(options);
  Start start;
  if (options.start.rows() > 0) {
    check_dual(options.start, problem.n, problem.m, "the dual to start from");
    start = warm_start(*engine, options.start);
  }
  const auto solver = make_solver(method.solver, options, *engine, std::move(start), threads);
  const RunResult ran = run(*solver, stop_rule(options), clock, observer);
  JointResult out;
  out.w = solver->weights();
  out.ranks = solver->ranks();
  out.status = ran.status;
  out.certificate = ran.certificate;
  out.iterations = ran.iterations;
  out.row_visits = solver->row_visits();
  out.loss = problem.loss;
  out.lambda = problem.lambda;
  out.C = options.lambda ? 1.0 / (problem.lambda * problem.N) : options.C;
  out.choice = method.choice;
  if (options.keep_dual) out.dual = engine->rows_of(*solver->dual());
  out.seconds = clock.seconds();
  return out;
}

std::vector<double> joint_scores(const JointMap& psi, const std::vector<double>& w, int threads) {
  if (static_cast<std::int64_t>(w.size()) != psi.dimension()) {
    fail(ErrorKind::data, "there are {} weights, but psi has {} dimensions", w.size(), psi.dimension());
  }
  const auto m = static_cast<std::size_t>(psi.classes());
  std::vector<double> S(static_cast<std::size_t>(psi.examples()) * m);
  parallel_for(psi.examples(), resolve_threads(threads), [&](std::int64_t i) {
    psi.scores(i, w, {S.data() + static_cast<std::size_t>(i) * m, m});
  });
  return S;
}

}  // namespace topwolf
