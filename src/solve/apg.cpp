// Accelerated projected gradient on the dual.
//
// Problem:  max D(A) over A in Q^n (D1).
//
// Kept:     A, the A before it and the one that is tried, with their W(A), each summed anew in every pass; the q that
//           bounds the curvature along the last steps, and Nesterov's number (A2); the best W that a pass has seen.
//
// A step:   all examples move at once from A_mu = A + mu (A - A_old), and each is projected exactly onto Q (A1, L5).
//           Where q was too small the step is refused and q doubled; where the dual did not rise the momentum is
//           dropped.
//
// Cost:     one pass over the rows (n m d) and n projections, whether the step is taken or refused.
#include <algorithm>
#include <cmath>

#include "core/threads.hpp"
#include "solve/certifier.hpp"
#include "solve/objective.hpp"
#include "solve/solvers.hpp"

namespace topwolf {
namespace {

constexpr double grow = 2.0;   // of q, where it was too small
constexpr double ease = 0.95;  // of q, where it was large enough; 0.9 and 0.98 need 7 % and 1 % more passes

class ApgSolver final : public Solver {
 public:
  ApgSolver(Engine& engine, Start from, int threads)
      : engine_(engine),
        problem_(engine.problem()),
        threads_(threads),
        A_(engine.make_dual()),
        A_old_(engine.make_dual()),
        A_next_(engine.make_dual()),
        W_(static_cast<std::size_t>(engine.geometry().dimension), 0.0),
        W_old_(W_),
        W_mu_(W_),
        best_W_(W_),
        certified_(engine) {
    const Curvature curvature = engine.curvature();
    q_ = q_taken_ = curvature.largest;
    q_bound_ = curvature.total * engine.geometry().coupling;
    if (!from.A) return;
    A_ = std::move(from.A);
    dual_ = certified_.certify_dual(*A_, W_);
    W_old_ = W_;
    engine_.mix(1.0, *A_, 0.0, *A_old_);
  }

  void set_should_stop(std::function<bool()> should_stop) override { engine_.set_should_stop(std::move(should_stop)); }

  Pass step() override {
    const double t_next = next_momentum();
    const double mu = (t_ - 1.0) / t_next;
    const double W_mu_norm2 = extrapolate(mu);
    const AscentSums sums = engine_.ascend(W_mu_, {*A_, *A_old_, mu}, q_, *A_next_, W_next_);
    ++passes_;
    const double primal = primal_value(problem_, W_mu_norm2, sums.phi);
    remember(primal);
    const double dual = dual_value(problem_, squared_norm(W_next_), sums.c_alpha, sums.alpha_norm2);
    double gamma = 1.0 / (q_ + problem_.loss.smoothing);
    if (!large_enough(sums)) {
      q_ = std::min(grow * q_, q_bound_);
    } else if (dual > dual_) {
      take(t_next, dual);
    } else {
      if (mu == 0.0) gamma = 0.0;  // a plain step that does not rise: this precision has nowhere to go
      t_ = 1.0;
    }
    return {{best_primal_, dual_}, primal, dual_, gamma};
  }

  Certificate certify() override {
    certified_.offer_weights(best_W_);
    certified_.offer_weights(W_);
    best_primal_ = certified_.primal();
    const double dual = certified_.certify_dual(*A_, W_);
    if (!(dual >= 0.0)) forget();
    return certified_.certificate(std::max(0.0, dual));
  }

  const std::vector<double>& weights() const override { return certified_.weights(); }
  const std::vector<std::int32_t>& ranks() const override { return certified_.ranks(); }
  std::vector<double> current_weights() override { return W_; }
  const Dual* dual() const override { return A_.get(); }
  std::unique_ptr<Dual> take_dual() override { return std::move(A_); }
  std::int64_t row_visits() const override { return passes_ * problem_.n; }

  void exchange(State& state) override {
    const std::int64_t weights = engine_.geometry().dimension;
    state.count("passes", passes_);
    engine_.exchange(state, "A", *A_);
    engine_.exchange(state, "A_old", *A_old_);
    state("W", W_, {weights});
    state("W_old", W_old_, {weights});
    state("dual", dual_);
    state("t", t_);
    state("q", q_);
    state("q_taken", q_taken_);
    state("best_W", best_W_, {weights});
    state("best_primal", best_primal_);
    certified_.exchange(state);
  }

 private:
  // Back to A = 0, where A is worse, which only scores that overflow can bring about.
  void forget() {
    engine_.scale(0.0, *A_);
    engine_.scale(0.0, *A_old_);
    W_.assign(W_.size(), 0.0);
    W_old_ = W_;
    dual_ = 0.0;
    t_ = 1.0;
  }

  // A2. Nesterov's numbers for a step length that varies.
  double next_momentum() const {
    const double smoothing = problem_.loss.smoothing;
    const double taken = q_taken_ + smoothing;
    const double ratio = taken > 0.0 ? (q_ + smoothing) / taken : 1.0;
    return 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * t_ * t_ * ratio));
  }

  // W(A_mu) = W + mu (W - W_old); returns ||W(A_mu)||^2.
  double extrapolate(double mu) {
    return over_weights([&](std::size_t p) {
      W_mu_[p] = W_[p] + mu * (W_[p] - W_old_[p]);
      return W_mu_[p] * W_mu_[p];
    });
  }

  // A1: whether q bounds the curvature along the step from A_mu. The sum of all q_i bounds it along every step.
  bool large_enough(const AscentSums& sums) const {
    const double distance2 = over_weights([&](std::size_t p) {
      const double change = W_next_[p] - W_mu_[p];
      return change * change;
    });
    return q_ >= q_bound_ || problem_.lambda * problem_.N * distance2 <= q_ * sums.distance2;
  }

  template <class Term>
  double over_weights(const Term& term) const {
    return parallel_sum(static_cast<std::int64_t>(W_.size()), threads_, numbers_per_task,
                        [&](std::int64_t from, std::int64_t to) {
                          double sum = 0.0;
                          for (auto p = static_cast<std::size_t>(from); p < static_cast<std::size_t>(to); ++p)
                            sum += term(p);
                          return sum;
                        });
  }

  void remember(double primal) {
    if (passes_ > 1 && !(primal < best_primal_)) return;
    best_primal_ = primal;
    best_W_ = W_mu_;
  }

  void take(double t_next, double dual) {
    std::swap(A_old_, A_);
    std::swap(A_, A_next_);
    std::swap(W_old_, W_);
    std::swap(W_, W_next_);
    dual_ = dual;
    t_ = t_next;
    q_taken_ = q_;
    q_ *= ease;
  }

  Engine& engine_;
  const Problem& problem_;
  const int threads_;

  std::int64_t passes_ = 0;
  std::unique_ptr<Dual> A_, A_old_, A_next_;
  std::vector<double> W_, W_old_, W_next_;  // of these, summed anew in every pass
  std::vector<double> W_mu_;                // of A_mu
  double dual_ = 0.0;                       // D(A), never falls
  double t_ = 1.0;                          // Nesterov's number; 1: no momentum
  double q_ = 0.0;                          // to be tried next: at first that of the longest row
  double q_taken_ = 0.0;                    // of the last step taken
  double q_bound_ = 0.0;                    // above the curvature along any step: the trace of X X^T / (lambda N)
  std::vector<double> best_W_;
  double best_primal_ = 0.0;  // in the precision of the passes
  Certifier certified_;
};

}  // namespace

std::unique_ptr<Solver> make_apg_solver(Engine& engine, Start from, int threads) {
  return std::make_unique<ApgSolver>(engine, std::move(from), threads);
}

}  // namespace topwolf
