// Where the next run begins: an earlier dual, made feasible and scaled (D3).
#include "solve/solvers.hpp"

#include <algorithm>
#include <utility>

#include "solve/objective.hpp"

namespace topwolf {
namespace {

// D3. t A is feasible for t in [0, 1] because 0 is; this t maximises D(t A).
double scale_best(Engine& engine, Dual& A) {
  const Problem& problem = engine.problem();
  std::vector<double> W;
  engine.weights_of(A, W);
  const DualSums sums = engine.sums(A);
  const double curvature = problem.lambda * problem.N * squared_norm(W) + problem.loss.smoothing * sums.alpha_norm2;
  const double t = curvature > 0.0 ? std::clamp(sums.c_alpha / curvature, 0.0, 1.0) : 1.0;
  engine.scale(t, A);
  return t;
}

}  // namespace

Start warm_start(Engine& engine, const SparseRows& earlier) {
  Start start{engine.make_dual()};
  engine.project(earlier, *start.A);
  scale_best(engine, *start.A);
  return start;
}

Start continue_from(Engine& engine, std::unique_ptr<Dual> A, double earlier_lambda) {
  Start start{std::move(A)};
  const double t = scale_best(engine, *start.A), times = t * earlier_lambda / engine.problem().lambda;
  // At the ends of their range scores have lost what a larger or smaller factor would bring back.
  constexpr double furthest = 0x1p40;
  start.scores_times = times > 1.0 / furthest && times < furthest ? times : 0.0;
  return start;
}

}  // namespace topwolf
