// The batch methods: Frank-Wolfe with line search (LSFW), with the standard step (StdFW), and Pegasos' projected
// gradient (PG), which differ in a step rule.
//
// Problem:  max D(A) over A in Q^n (D1).
//
// Kept:     W = W(A) and the sum of <c, alpha>, mixed with those of the directions, and a bound on how far rounding can
//           have driven W away (G1); A itself only with smoothing, or where somebody asked for it; the best W that a
//           pass has seen.
//
// A step:   every example's direction u at its scores (F1, F4), then A <- (1 - gamma) A + gamma U with gamma from the
//           line search (F2), 2 / (t + 1), or 1 / t and back onto a ball (F3).
//
// Cost:     one pass over the rows (n m d), and W(U) from at most K + 1 entries a row.
#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "core/length.hpp"
#include "core/threads.hpp"
#include "solve/certifier.hpp"
#include "solve/objective.hpp"
#include "solve/solvers.hpp"

namespace topwolf {
namespace {

class BatchSolver final : public Solver {
 public:
  BatchSolver(Engine& engine, Start from, const BatchOptions& options)
      : engine_(engine), problem_(engine.problem()), options_(options), certified_(engine) {
    W_.assign(static_cast<std::size_t>(engine.geometry().dimension), 0.0);
    best_W_ = W_;
    const Curvature rows = engine.curvature();
    const double entries =
        static_cast<double>(problem_.loss.entries(problem_.m)) * (static_cast<double>(problem_.n) + rows.plain_lengths);
    length_bound_ = length_bound(problem_, rows);
    sum_error_ =
        sum_rounding(engine.geometry()) * length_bound_ + flushed_weights(problem_, engine.geometry(), entries);
    if (from.A) begin_at(*from.A);
    if (!holds_dual()) return;
    A_ = from.A ? std::move(from.A) : engine.make_dual();
    U_ = engine.make_dual();
    zero_ = engine.make_dual();
  }

  void set_should_stop(std::function<bool()> should_stop) override { engine_.set_should_stop(std::move(should_stop)); }

  Pass step() override {
    const PassSums sums = engine_.pass(W_, options_.direction, A_.get(), U_.get(), W_U_);
    ++t_;
    if (problem_.loss.smoothing > 0.0) c_alpha_ = sums.c_alpha;  // from A itself, so that it never drifts
    Pass seen{{}, primal_value(problem_, W_norm2_, sums.phi), dual_of_mix(sums.alpha_norm2), gamma(sums)};
    remember(seen);
    seen.estimate = {best_primal_, std::max(options_.keep_dual ? 0.0 : best_dual_, seen.dual)};
    move(seen.gamma, sums);
    return seen;
  }

  Certificate certify() override {
    certified_.offer_weights(best_W_);
    certified_.offer_weights(W_);
    best_primal_ = certified_.primal();
    const double dual_now = holds_dual() ? dual_of_held() : dual_of_mix(0.0);
    best_dual_ = std::max(best_dual_, dual_now);
    if (!options_.keep_dual) return certified_.certificate(best_dual_);
    // Whoever asked for A must be able to check the claim with it; where A is worse than 0, 0 is returned.
    returns_zero_ = !(dual_now > 0.0);
    return certified_.certificate(std::max(0.0, dual_now));
  }

  const std::vector<double>& weights() const override { return certified_.weights(); }
  const std::vector<std::int32_t>& ranks() const override { return certified_.ranks(); }
  std::vector<double> current_weights() override { return W_; }
  const Dual* dual() const override { return returns_zero_ ? zero_.get() : A_.get(); }
  std::unique_ptr<Dual> take_dual() override { return std::move(returns_zero_ ? zero_ : A_); }
  std::int64_t row_visits() const override { return t_ * problem_.n; }

  void exchange(State& state) override {
    const std::int64_t weights = engine_.geometry().dimension;
    state.count("t", t_);
    state("W", W_, {weights});
    state("W_norm2", W_norm2_);
    state("c_alpha", c_alpha_);
    state("drift", drift_);
    state("radius", radius_);
    if (A_) engine_.exchange(state, "A", *A_);
    state("best_W", best_W_, {weights});
    state("best_primal", best_primal_);
    state("best_dual", best_dual_);
    certified_.exchange(state);
    state("returns_zero", returns_zero_);
  }

 private:
  void begin_at(Dual& A) {
    if (options_.rule != StepRule::line_search) {
      fail(ErrorKind::option, "a first step of length 1 forgets any start; start lsfw, apg or block");
    }
    certified_.certify_dual(A, W_);
    W_norm2_ = squared_norm(W_);
    c_alpha_ = engine_.sums(A).c_alpha;
    drift_ = sum_error_;
  }

  bool holds_dual() const { return options_.keep_dual || problem_.loss.smoothing > 0.0; }

  double gamma(const PassSums& sums) const {
    switch (options_.rule) {
      case StepRule::standard:
        return 2.0 / static_cast<double>(t_ + 1);
      case StepRule::harmonic:
        return 1.0 / static_cast<double>(t_);
      case StepRule::line_search:
        break;
    }
    const double smoothing = problem_.loss.smoothing;
    const double lambda_N = problem_.lambda * problem_.N;
    // F2: without smoothing the slope is N (P - D), because sum omega <alpha, s> = lambda N ||W||^2.
    const double slope = smoothing > 0.0 ? sums.slope : sums.phi - c_alpha_ + lambda_N * W_norm2_;
    const double curvature = lambda_N * distance2() + smoothing * sums.distance2;
    if (!(slope > 0.0)) return 0.0;
    return curvature > 0.0 ? std::min(1.0, slope / curvature) : 1.0;
  }

  double distance2() const {
    return parallel_sum(static_cast<std::int64_t>(W_.size()), options_.threads, numbers_per_task,
                        [&](std::int64_t from, std::int64_t to) {
                          double sum = 0.0;
                          for (auto p = static_cast<std::size_t>(from); p < static_cast<std::size_t>(to); ++p) {
                            sum += (W_U_[p] - W_[p]) * (W_U_[p] - W_[p]);
                          }
                          return sum;
                        });
  }

  void remember(const Pass& seen) {
    if (t_ == 1) radius_ = std::sqrt(seen.primal / problem_.lambda);
    if (!holds_dual()) best_dual_ = std::max(best_dual_, seen.dual);  // else A itself is asked, when it is certified
    if (t_ > 1 && !(seen.primal < best_primal_)) return;
    best_primal_ = seen.primal;
    best_W_ = W_;
  }

  void move(double gamma, const PassSums& sums) {
    const double keep = 1.0 - gamma;
    W_norm2_ = combine(keep, gamma);
    c_alpha_ = keep * c_alpha_ + gamma * sums.c_u;
    drift_ = keep * drift_ + gamma * sum_error_ + 4.0 * unit_roundoff * length_bound_;
    double shrink = 1.0;
    if (options_.ball && W_norm2_ > radius_ * radius_) {
      shrink = radius_ / std::sqrt(W_norm2_);
      W_norm2_ = combine(shrink, 0.0);
      c_alpha_ *= shrink;
    }
    if (A_) engine_.mix(shrink * gamma, *U_, shrink * keep, *A_);
  }

  // W <- of_W W + of_U W(U); returns the new ||W||^2.
  double combine(double of_W, double of_U) {
    return parallel_sum(static_cast<std::int64_t>(W_.size()), options_.threads, numbers_per_task,
                        [&](std::int64_t from, std::int64_t to) {
                          double sum = 0.0;
                          for (auto at = static_cast<std::size_t>(from); at < static_cast<std::size_t>(to); ++at) {
                            W_[at] = of_W * W_[at] + (of_U != 0.0 ? of_U * W_U_[at] : 0.0);
                            sum += W_[at] * W_[at];
                          }
                          return sum;
                        });
  }

  // D(A) from A alone: W(A) anew.
  double dual_of_held() {
    std::vector<double> W;
    return certified_.certify_dual(*A_, W);
  }

  // A lower bound on D of the mixture of all vertices so far, exact arithmetic understood. Nothing cancels in its sums,
  // so that each step costs them a few roundings and each pass those of n terms.
  double dual_of_mix(double alpha_norm2) const {
    const double operations = 8.0 * static_cast<double>(t_) + static_cast<double>(problem_.n);
    const long double flushed = 2.0L * std::numeric_limits<double>::denorm_min() * operations;
    return dual_bound(problem_, {length(W_), drift_, c_alpha_ - flushed, alpha_norm2, operations * unit_roundoff});
  }

  Engine& engine_;
  const Problem& problem_;
  const BatchOptions options_;

  std::int64_t t_ = 0;
  std::vector<double> W_;    // within drift_ of W(A)
  std::vector<double> W_U_;  // W(U)
  double W_norm2_ = 0.0;
  double c_alpha_ = 0.0;  // sum omega <c, alpha>
  double drift_ = 0.0;
  double radius_ = 0.0;          // of PG's ball
  double length_bound_ = 0.0;    // of ||W(A)||
  double sum_error_ = 0.0;       // of W(U) or W(A)
  std::unique_ptr<Dual> A_, U_;  // only where holds_dual()
  std::vector<double> best_W_;
  double best_primal_ = 0.0;  // in the precision of the passes
  double best_dual_ = 0.0;    // D(0)
  Certifier certified_;
  std::unique_ptr<Dual> zero_;
  bool returns_zero_ = false;
};

}  // namespace

std::unique_ptr<Solver> make_batch_solver(Engine& engine, Start from, const BatchOptions& options) {
  return std::make_unique<BatchSolver>(engine, std::move(from), options);
}

}  // namespace topwolf
