// The pipeline on one page: options and data become a problem, the driver runs a solver on it, and what it certified
// becomes a model. A newcomer starts here.

#include "topwolf/train.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "core/threads.hpp"
#include "data/densify.hpp"
#include "data/fingerprint.hpp"
#include "engine/row_lengths.hpp"
#include "model/dual_file.hpp"
#include "solve/driver.hpp"
#include "solve/method.hpp"
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

Problem make_problem(const Dataset& data, const Features& X, const TrainOptions& options) {
  Problem problem;
  problem.X = X.view();
  problem.y = data.y;
  problem.omega = data.weights;
  problem.n = data.X.rows();
  problem.d = data.X.cols();
  problem.m = data.classes.size();
  problem.N = weight_sum(data);
  problem.bias = options.bias;
  problem.lambda = options.lambda ? *options.lambda : 1.0 / (options.C * problem.N);
  if (!(problem.lambda > 0.0 && std::isfinite(1.0 / (problem.lambda * problem.N)))) {
    fail(ErrorKind::option, "lambda is {} for examples that weigh {}, but lambda N must be a positive number",
         problem.lambda, problem.N);
  }
  problem.loss = resolve_loss(options.loss, problem.m);
  problem.cost = options.loss.cost_matrix.empty() ? nullptr : options.loss.cost_matrix.data();
  return problem;
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

// A pass that takes less time than waking threads is made by one; the results are the same.
int threads_for(const Problem& problem, int asked) {
  constexpr double small = 2e5;
  const double work = static_cast<double>(problem.n) * static_cast<double>(problem.m) * static_cast<double>(problem.d);
  return work < small ? 1 : resolve_threads(asked);
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

Model make_model(const Dataset& data, const TrainOptions& options, const Problem& problem, const Method& method,
                 const RunResult& run) {
  Model model;
  model.d = problem.d;
  model.bias = problem.bias;
  model.W = method.solver->weights();
  model.precision = data.X.precision();
  model.classes = data.classes;
  model.index_base = data.index_base;
  model.normalization = data.normalization;
  model.loss = resolved_spec(options.loss, problem.loss);
  model.lambda = problem.lambda;
  model.weight_sum = problem.N;
  model.solver = method.name;
  model.certified = true;
  model.status = run.status;
  model.certificate = run.certificate;
  model.iterations = run.iterations;
  model.version = TOPWOLF_VERSION;
  model.data_hash = fingerprint(data);
  return model;
}

}  // namespace

std::string conditioning_warning(const Dataset& data, const TrainOptions& options) {
  // Unit rows at C = 1 have 1; raw 16 x 16 pixels at C = 1, where LIBLINEAR makes 1,600 passes, have about 100.
  constexpr double slow = 50.0;
  const auto lengths2 = squared_lengths(data.X.view(), options.bias, resolve_threads(options.threads));
  if (lengths2.empty()) return {};
  const double mean = std::accumulate(lengths2.begin(), lengths2.end(), 0.0) / static_cast<double>(lengths2.size());
  const double C = options.lambda ? 1.0 / (*options.lambda * weight_sum(data)) : options.C;
  if (!(C * mean > slow) || !std::isfinite(C * mean)) return {};
  return fmt::format(
      "C times the mean squared row length is {:.3g}; above about {} convergence is slow: rows of unit length "
      "(--normalize unit) or a "
      "smaller C help",
      C * mean, slow);
}

double objective(const Dataset& data, const TrainOptions& options, const std::vector<double>& W) {
  check(options);
  check_data(data, options.threads);
  const Problem problem = make_problem(data, data.X, options);
  if (static_cast<std::int64_t>(W.size()) != problem.m * problem.D()) {
    fail(ErrorKind::data, "there are {} weights, but {} classes x {} features are needed", W.size(), problem.m,
         problem.D());
  }
  const auto engine = make_cpu_engine(problem, threads_for(problem, options.threads));
  return primal_value(problem, squared_norm(W), engine->loss_sum(W));
}

TrainResult train(const Dataset& data, const TrainOptions& options, const Observer& observer) {
  const Stopwatch clock;
  check(options);
  check_data(data, options.threads);
  const Features X = dense_where_faster(data.X);
  const Problem problem = make_problem(data, X, options);
  check_memory(problem);
  const int threads = threads_for(problem, options.threads);
  const auto engine = make_cpu_engine(problem, threads);
  const Method method = make_method(problem, options, *engine, threads);
  if (options.start.rows() > 0) {
    check_dual(options.start, problem.n, problem.m, "the dual to start from");
    method.solver->start(warm_start(problem, *engine, options.start, threads));
  }
  const RunResult result = run(*method.solver, stop_rule(options), clock, observer);

  TrainResult out;
  out.seconds = clock.seconds();
  out.model = make_model(data, options, problem, method, result);
  out.row_visits = method.solver->row_visits();
  out.choice = method.choice;
  out.loss = problem.loss;
  out.C = 1.0 / (problem.lambda * problem.N);
  if (options.keep_dual) out.dual = to_sparse_rows(method.solver->dual());
  return out;
}

}  // namespace topwolf
