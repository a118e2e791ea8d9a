#include "solve/certifier.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "core/length.hpp"

namespace topwolf {
namespace {

// Phi_i at scores of 0.
double loss_at_zero(const Problem& problem, std::int64_t i, const std::vector<double>& zero, RowScratch& scratch) {
  SparseRow u;
  const std::int64_t y = problem.label(i);
  return loss_bound(problem.loss, problem.margins(i), zero.data(), problem.m, y, u, scratch).phi;
}

// Where margins are those of a class, one row speaks for its class; where all are 1, for everybody.
double loss_sum_at_zero(const Problem& problem) {
  const std::vector<double> zero(static_cast<std::size_t>(problem.m), 0.0);
  std::vector<double> of_class(static_cast<std::size_t>(problem.m), -1.0);
  RowScratch scratch;
  long double sum = 0.0L;
  for (std::int64_t i = 0; i < problem.n; ++i) {
    if (!(problem.weight(i) > 0.0)) continue;
    double& known = of_class[static_cast<std::size_t>(problem.cost || problem.per_example ? problem.label(i) : 0)];
    if (known < 0.0 || problem.per_example) known = loss_at_zero(problem, i, zero, scratch);
    sum += static_cast<long double>(problem.weight(i)) * known;
  }
  return static_cast<double>(sum);
}

}  // namespace

Certifier::Certifier(const Problem& problem, Engine& engine)
    : problem_(problem),
      engine_(engine),
      W_(static_cast<std::size_t>(engine.geometry().dimension), 0.0),
      primal_(primal_bound(problem, 0.0, {loss_sum_at_zero(problem), 0.0})),
      ranks_(problem.y.begin(), problem.y.end()) {  // ties go to the lower class
  if (!std::isfinite(primal_)) {
    fail(ErrorKind::data,
         "the losses of the examples add up to more than a double holds; scale costs, margins, weights "
         "or rho down");
  }
}

void Certifier::offer_weights(std::vector<double> W, const DualRows* A, std::vector<double>* shares) {
  keep_if_better(W, {A, shares});
  // Where 0 is still the best, a part of the way to W may be better: no weights at all are of no use to anybody.
  constexpr double part = 1.0 / 16.0;
  for (int tries = 0; tries < 4 && nothing_better_ && length(W) > 0.0; ++tries) {
    for (double& w : W) w *= part;
    keep_if_better(W, {});
  }
}

void Certifier::keep_if_better(std::vector<double>& W, Engine::AtRows wanted) {
  engine_.round_weights(W);
  std::vector<std::int32_t> ranks;
  wanted.ranks = &ranks;
  const double primal = primal_bound(problem_, length(W), engine_.loss_sum(W, wanted));
  if (!(primal < primal_)) return;
  primal_ = primal;
  W_ = W;
  ranks_ = std::move(ranks);
  nothing_better_ = false;
}

void Certifier::measure(DualRows& A) {
  RowScratch scratch;
  worst_row_ = 0;
  worst_miss_ = 0.0;
  for (std::int64_t i = 0; i < problem_.n; ++i) {
    SparseRow& alpha = A[static_cast<std::size_t>(i)];
    if (alpha.empty()) continue;
    const double missed = put_inside(problem_.loss, problem_.label(i), alpha, scratch);
    if (missed > worst_miss_) worst_miss_ = missed, worst_row_ = i;
  }
}

double Certifier::certify_dual(DualRows& A, std::vector<double>& W) {
  measure(A);
  engine_.weights_of(A, W);
  return dual_bound(problem_, engine_.geometry(), A, length(W));
}

Certificate Certifier::certificate(double dual) const {
  constexpr double rounding = 1e-9;  // both are bounds: even this is far more than they can be off by
  if (dual > primal_ + rounding * std::abs(primal_)) {
    fail(ErrorKind::internal,
         "the dual {:.10g} is above the primal {:.10g}, which cannot be (row {} missed its set by {:.2g} of sum(rho)); "
         "please report this with the data",
         dual, primal_, worst_row_ + 1, worst_miss_);
  }
  return {primal_, dual};
}

void Certifier::exchange(State& state) {
  state("certified_weights", W_, {engine_.geometry().dimension});
  state("certified_primal", primal_);
  state("certified_nothing", nothing_better_);
  state("certified_ranks", ranks_, {problem_.n});
}

}  // namespace topwolf
