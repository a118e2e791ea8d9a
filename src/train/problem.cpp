#include "train/problem.hpp"

#include <cmath>

#include "core/fail.hpp"

namespace topwolf {
namespace {

// Null where margins of 1 would say the same.
const double* cost_of(const LossSpec& loss, const Margins& margins, std::int64_t m) {
  const std::vector<double>& cost = loss.cost_matrix;
  if (cost.empty()) return nullptr;
  if (margins.given()) fail(ErrorKind::option, "a cost matrix and margins are given; give one of them");
  for (std::int64_t y = 0; y < m; ++y) {
    for (std::int64_t j = 0; j < m; ++j) {
      if (cost[static_cast<std::size_t>(y * m + j)] != (y == j ? 0.0 : 1.0)) return cost.data();
    }
  }
  return nullptr;
}

}  // namespace

void set_loss(const TrainOptions& options, const Margins& margins, Problem& problem) {
  problem.lambda = options.lambda ? *options.lambda : 1.0 / (options.C * problem.N);
  if (!(problem.lambda > 0.0 && std::isfinite(1.0 / (problem.lambda * problem.N)))) {
    fail(ErrorKind::option, "lambda is {} for examples that weigh {}, but lambda N must be a positive number",
         problem.lambda, problem.N);
  }
  problem.loss = resolve_loss(options.loss, problem.m);
  problem.cost = cost_of(options.loss, margins, problem.m);
}

StopRule stop_rule(const TrainOptions& options) {
  StopRule rule;
  rule.tolerance = options.tolerance;
  if (!options.tolerance && !options.absolute_gap) rule.tolerance = default_tolerance;
  rule.absolute_gap = options.absolute_gap;
  rule.max_iterations = options.max_iterations;
  rule.time_limit_s = options.time_limit_s;
  rule.should_stop = options.should_stop;
  return rule;
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

}  // namespace topwolf
