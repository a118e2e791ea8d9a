// The best certified W so far, and duals made fit for a certificate. Nothing here believes what a pass said.
#include "solve/certifier.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "core/length.hpp"

namespace topwolf {
Certifier::Certifier(Engine& engine)
    : engine_(engine),
      W_(static_cast<std::size_t>(engine.geometry().dimension), 0.0),
      primal_(primal_bound(engine.problem(), 0.0, {engine.loss_sum_at_zero(), 0.0})),
      ranks_(engine.problem().y.begin(), engine.problem().y.end()) {  // ties go to the lower class
  if (!std::isfinite(primal_)) {
    fail(ErrorKind::data,
         "the losses of the examples add up to more than a double holds; scale costs, margins, weights "
         "or rho down");
  }
}

void Certifier::offer_weights(std::vector<double> W, const Engine::AtRows& wanted) {
  const Problem& problem = engine_.problem();
  if (problem.mean) {
    engine_.round_weights(W);  // first, so that what the mean is worth is that of the weights that stay
    fold(*problem.mean, problem.bias, W);
  }
  keep_if_better(W, wanted);
  // Where 0 is still the best, a part of the way to W may be better: no weights at all are of no use to anybody.
  constexpr double part = 1.0 / 16.0;
  for (int tries = 0; tries < 4 && nothing_better_ && length(W) > 0.0; ++tries) {
    for (double& w : W) w *= part;
    keep_if_better(W, {});
  }
}

void Certifier::keep_if_better(std::vector<double>& W, Engine::AtRows wanted) {
  // As the model will store them: what is certified is what is returned.
  engine_.round_weights(W);
  std::vector<std::int32_t> ranks;
  if (!engine_.problem().y.empty()) wanted.ranks = &ranks;  // labels are elsewhere, and so are they
  const double primal =
      primal_bound(engine_.problem(), weight_length(engine_.problem(), W).most, engine_.loss_sum(W, wanted));
  if (!(primal < primal_)) return;
  primal_ = primal;
  W_ = W;
  ranks_ = std::move(ranks);
  nothing_better_ = false;
}

double Certifier::certify_dual(Dual& A, std::vector<double>& W) {
  const InsideSums sums = engine_.put_inside(A);
  worst_row_ = sums.worst_row;
  worst_miss_ = sums.worst_miss;
  // After put_inside, and from A alone: a W that was carried along would have drifted.
  engine_.weights_of(A, W);
  return dual_bound(engine_.problem(), engine_.geometry(), sums, length(W));
}

Certificate Certifier::certificate(double dual) const {
  if (!std::isfinite(dual)) dual = 0.0;  // no number, but A = 0 has one
  constexpr double rounding = 1e-9;      // both are bounds: even this is far more than they can be off by
  if (dual > primal_ + rounding * std::abs(primal_)) {
    if (const auto& oracle = engine_.problem().loss.oracle) {
      fail(ErrorKind::option,
           "the oracle of the loss {} is wrong: with its values the dual {:.10g} is above the primal {:.10g}",
           oracle->name(), dual, primal_);
    }
    fail(ErrorKind::internal,
         "the dual {:.10g} is above the primal {:.10g}, which cannot be (row {} missed its set by {:.2g} of sum(rho)); "
         "please report this with the data",
         dual, primal_, worst_row_ + 1, worst_miss_);
  }
  return {primal_, dual};
}

void Certifier::exchange(State& state) {
  state("certified_weights", W_, {engine_.geometry().dimension});
  if (!std::all_of(W_.begin(), W_.end(), [](double w) { return std::isfinite(w); })) state.refuse("certified_weights");
  state("certified_primal", primal_);
  state("certified_nothing", nothing_better_);
  state("certified_ranks", ranks_, {static_cast<std::int64_t>(engine_.problem().y.size())});
  if (!state.from_file()) return;
  // What is certified here was computed here.
  if (nothing_better_) {
    std::fill(W_.begin(), W_.end(), 0.0);
    primal_ = primal_bound(engine_.problem(), 0.0, {engine_.loss_sum_at_zero(), 0.0});
  } else {
    primal_ = primal_bound(engine_.problem(), weight_length(engine_.problem(), W_).most,
                           engine_.loss_sum(W_, {.ranks = ranks_.empty() ? nullptr : &ranks_}));
  }
}

}  // namespace topwolf
