#include "train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "core/memory.hpp"
#include "core/threads.hpp"
#include "data/densify.hpp"
#include "data/fingerprint.hpp"
#include "engine/row_lengths.hpp"
#include "model/dual_file.hpp"
#include "solve/objective.hpp"
#include "solve/warm_start.hpp"
#include "topwolf/version.hpp"

namespace topwolf {
namespace {

template <class T>
void check_layout(const DenseView<T>&) {}

template <class T>
void check_layout(const CsrView<T>& X) {
  for (std::int64_t i = 0; i < X.rows; ++i) {
    std::int64_t before = -1;
    for (std::int64_t p = X.row_begin[i]; p < X.row_begin[i + 1]; ++p) {
      if (X.column[p] <= before || X.column[p] >= X.cols) {
        fail(ErrorKind::data, "row {} names column {} after {}, but columns ascend from 0 to {}", i + 1, X.column[p],
             before, X.cols - 1);
      }
      before = X.column[p];
    }
  }
}

void check_features(const FeatureView& view, int threads) {
  std::visit([](const auto& X) { check_layout(X); }, view);
  const auto lengths2 = squared_lengths(view, 0.0, resolve_threads(threads));
  const auto bad = std::find_if_not(lengths2.begin(), lengths2.end(), [](double x) { return std::isfinite(x); });
  if (bad != lengths2.end()) {
    fail(ErrorKind::data, "row {} holds a number that is not finite, or too large to be squared",
         bad - lengths2.begin() + 1);
  }
}

void check_data(const Dataset& data, int threads) {
  const std::int64_t n = data.X.rows(), m = data.classes.size();
  if (n == 0) fail(ErrorKind::data, "there are no rows to train on");
  if (static_cast<std::int64_t>(data.y.size()) != n) {
    fail(ErrorKind::data, "there are {} labels for {} rows", data.y.size(), n);
  }
  check_features(data.X.view(), threads);
  for (std::int32_t label : data.y) {
    if (label < 0 || label >= m) fail(ErrorKind::data, "a class number is {}, outside 0 .. {}", label, m - 1);
  }
  if (data.weights.empty()) return;
  if (static_cast<std::int64_t>(data.weights.size()) != n) {
    fail(ErrorKind::data, "there are {} weights for {} rows", data.weights.size(), n);
  }
  for (double weight : data.weights) {
    if (!std::isfinite(weight) || weight < 0.0) {
      fail(ErrorKind::data, "an example weight is {}, but weights must be finite and at least 0", weight);
    }
  }
  if (weight_sum(data) <= 0.0) fail(ErrorKind::data, "all example weights are 0");
  if (!std::isfinite(weight_sum(data))) fail(ErrorKind::data, "the example weights add up to more than a double holds");
}

// Several copies of W are needed whatever the method; to be killed for memory after an hour would be worse.
void check_memory(const Problem& problem) {
  constexpr double copies = 4.0;  // of m x D doubles: W(A), the working W, the best W, and one while they change
  const double need = copies * 8.0 * static_cast<double>(problem.m) * static_cast<double>(problem.D());
  const double have = physical_memory();
  if (need > 0.9 * have) {
    fail(ErrorKind::memory, "weights of {} classes x {} features need {:.1f} GB, but the machine has {:.1f} GB",
         problem.m, problem.D(), need / 1e9, have / 1e9);
  }
}

// Everything but lambda and the loss.
Problem problem_on(const Dataset& data, const Features& X, double bias) {
  Problem problem;
  problem.X = X.view();
  problem.y = data.y;
  problem.omega = data.weights;
  problem.n = data.X.rows();
  problem.d = data.X.cols();
  problem.m = data.classes.size();
  problem.N = weight_sum(data);
  problem.bias = bias;
  return problem;
}

// A pass that takes less time than waking threads is made by one; the results are the same.
int threads_for(const Problem& problem, int asked) {
  return threads_worth(static_cast<double>(problem.n) * static_cast<double>(problem.m) * static_cast<double>(problem.d),
                       resolve_threads(asked));
}

StopRule stop_rule(const TrainOptions& options) {
  StopRule rule;
  rule.tolerance = options.tolerance;
  if (!options.tolerance && !options.absolute_gap) rule.tolerance = default_tolerance;
  rule.absolute_gap = options.absolute_gap;
  rule.max_iterations = options.max_iterations;
  rule.time_limit_s = options.time_limit_s;
  return rule;
}

// The loss with k and rho as they were used.
LossSpec resolved_spec(const LossSpec& asked, const Loss& loss) {
  LossSpec spec = asked;
  if (spec.name == LossName::top_k || spec.name == LossName::usunier) spec.k = loss.K();
  if (spec.name == LossName::weighted_top_k || spec.name == LossName::weighted_usunier) spec.rho = loss.rho;
  return spec;
}

SparseRows to_sparse_rows(const DualRows& A) {
  SparseRows out;
  for (const SparseRow& row : A) {
    for (const auto& [column, value] : row) {
      out.column.push_back(column);
      out.values.push_back(value);
    }
    out.row_begin.push_back(static_cast<std::int64_t>(out.column.size()));
  }
  return out;
}

}  // namespace

Trainer::Trainer(Dataset data, const TrainOptions& options, int workers) : data_(std::move(data)) {
  check(options);
  check_data(data_, options.threads);
  X_ = dense_where_faster(data_.X);
  problem_ = problem_on(data_, X_, options.bias);
  problem_.loss = resolve_loss(options.loss, problem_.m);
  threads_ = threads_for(problem_, options.threads);
  check_memory(problem_);
  method_ = choose_method(problem_, options, workers);
  engine_ = make_cpu_engine(problem_, threads_);
}

void Trainer::make_shared() {
  if (method_.gram && !gram_) gram_ = make_gram(problem_, threads_);
}

std::unique_ptr<Trainer> Trainer::with_weights(std::vector<double> weights, int threads) const {
  return std::unique_ptr<Trainer>(new Trainer(*this, std::move(weights), threads));
}

Trainer::Trainer(const Trainer& rows, std::vector<double> weights, int threads)
    : data_(rows.data_), X_(rows.X_), method_(rows.method_), gram_(rows.gram_) {
  data_.weights = std::move(weights);
  problem_ = problem_on(data_, X_, rows.problem_.bias);
  problem_.loss = rows.problem_.loss;
  threads_ = threads_for(problem_, threads);
  engine_ = make_cpu_engine(problem_, threads_);
}

void Trainer::set_problem(const TrainOptions& options) {
  problem_.lambda = options.lambda ? *options.lambda : 1.0 / (options.C * problem_.N);
  if (!(problem_.lambda > 0.0 && std::isfinite(1.0 / (problem_.lambda * problem_.N)))) {
    fail(ErrorKind::option, "lambda is {} for examples that weigh {}, but lambda N must be a positive number",
         problem_.lambda, problem_.N);
  }
  problem_.loss = resolve_loss(options.loss, problem_.m);
  problem_.cost = options.loss.cost_matrix.empty() ? nullptr : options.loss.cost_matrix.data();
}

void Trainer::make_scores() {
  if (method_.solver != SolverName::block || scores_) return;
  make_shared();
  scores_ = method_.gram ? make_gram_scores(problem_, gram_, threads_) : make_weights_scores(problem_, threads_);
}

// Where the solver begins: in the middle of a run, at the last run's dual, at a dual that was given, or at 0.
std::unique_ptr<Solver> Trainer::solver_for(const TrainOptions& options, const FitHooks& hooks, double earlier_lambda) {
  const bool forgets = method_.solver == SolverName::stdfw || method_.solver == SolverName::pg;
  const bool used = solver_ != nullptr;
  std::optional<Start> start;
  if (hooks.warm && used && !forgets) {
    start = continue_from(problem_, *engine_, solver_->dual(), earlier_lambda);
  } else if (options.start.rows() > 0) {
    check_dual(options.start, problem_.n, problem_.m, "the dual to start from");
    start = warm_start(problem_, *engine_, options.start, threads_);
  } else if (used && scores_) {
    scores_->scale(0.0);
  }
  std::unique_ptr<Solver> solver = make_solver(method_, problem_, options, *engine_, scores_.get(), threads_);
  if (hooks.resume) {
    State state = *hooks.resume;
    run_.exchange(state);
    solver->exchange(state);
  } else if (start) {
    solver->start(std::move(*start));
  }
  return solver;
}

Fit Trainer::fit(const TrainOptions& options, const Stopwatch& clock, const FitHooks& hooks) {
  const Stopwatch own;
  check(options);
  const double earlier_lambda = problem_.lambda;
  set_problem(options);
  make_scores();
  run_ = {};
  solver_ = solver_for(options, hooks, earlier_lambda);
  Fit out;
  out.run = run(*solver_, stop_rule(options), clock, hooks.observer, &run_, hooks.between);
  out.W = solver_->weights();
  out.ranks = solver_->ranks();
  out.loss = problem_.loss;
  out.lambda = problem_.lambda;
  out.C = options.lambda ? 1.0 / (problem_.lambda * problem_.N) : options.C;
  out.row_visits = solver_->row_visits();
  out.seconds = own.seconds();
  return out;
}

State Trainer::state() {
  State state;
  run_.exchange(state);
  solver_->exchange(state);
  return state;
}

const std::string& Trainer::data_hash() {
  if (data_hash_.empty()) data_hash_ = fingerprint(data_);
  return data_hash_;
}

TrainResult Trainer::result(const TrainOptions& options, Fit fit) {
  TrainResult out;
  Model& model = out.model;
  model.d = problem_.d;
  model.bias = problem_.bias;
  model.W = std::move(fit.W);
  model.precision = data_.X.precision();
  model.classes = data_.classes;
  model.index_base = data_.index_base;
  model.normalization = data_.normalization;
  model.loss = resolved_spec(options.loss, fit.loss);
  model.lambda = fit.lambda;
  model.weight_sum = problem_.N;
  model.solver = method_.name;
  model.certified = true;
  model.status = fit.run.status;
  model.certificate = fit.run.certificate;
  model.iterations = fit.run.iterations;
  model.version = TOPWOLF_VERSION;
  model.data_hash = data_hash();
  out.loss = std::move(fit.loss);
  out.C = fit.C;
  out.seconds = fit.seconds;
  out.row_visits = fit.row_visits;
  out.choice = method_.choice;
  if (options.keep_dual) out.dual = to_sparse_rows(solver_->dual());
  return out;
}

double Trainer::primal(const TrainOptions& options, const std::vector<double>& W) {
  set_problem(options);
  if (static_cast<std::int64_t>(W.size()) != problem_.m * problem_.D()) {
    fail(ErrorKind::data, "there are {} weights, but {} classes x {} features are needed", W.size(), problem_.m,
         problem_.D());
  }
  return primal_value(problem_, squared_norm(W), engine_->loss_sum(W));
}

}  // namespace topwolf
