// Newton steps on the primal, for problems with very many rows and few weights.
//
// Problem:  min P(W), through problems with a little more smoothing, which are piecewise quadratic (N1).
//
// Kept:     W and the extra smoothing it is at; U, minus the gradients of the smoothed losses there, which is a
// feasible
//           dual, with W(U); the best such dual so far, A; the best W that a pass has seen.
//
// A step:   W moves along the solution of (I + H) d = W(U) - W, H being minus the derivative of W(U), as far as the
//           smoothed objective falls. P - D at W and U is what the smoothing hides and lambda/2 ||W - W(U)||^2; once
//           the latter is the smaller part, the smoothing shrinks.
//
// Cost:     a pass over the rows (n m d) for every point tried, for those rows whose U is not at a corner of Q a
// product
//           of D^2 numbers for every pair of their classes, and (m D)^3 / 3 for the solution.
#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "solve/certifier.hpp"
#include "solve/cholesky.hpp"
#include "solve/objective.hpp"
#include "solve/solvers.hpp"
#include "topwolf/options.hpp"

namespace topwolf {
namespace {

// The smoothing begins where it blurs all margins, and shrinks to a fifth whenever what it hides is most of the gap.
constexpr double shrink = 0.2, small_part = 0.3;
// A start from elsewhere knows the corners of most rows.
constexpr double smoothing_of_a_start = 0.04;
constexpr double sufficient = 1e-4;  // of the fall that the slope promises
constexpr int most_halvings = 30;

class NewtonSolver final : public Solver {
 public:
  NewtonSolver(Engine& engine, Start from, int threads)
      : engine_(engine),
        problem_(engine.problem()),
        rows_(rows_of(engine)),
        threads_(threads),
        A_(engine.make_dual()),
        U_(engine.make_dual()),
        U_next_(engine.make_dual()),
        W_(static_cast<std::size_t>(engine.geometry().dimension), 0.0),
        best_W_(W_),
        certified_(engine) {
    const double whole = problem_.loss.rho_sum();
    const auto at_zero = static_cast<double>(engine.loss_sum_at_zero() / problem_.N);
    nothing_to_lose_ = !(at_zero > 0.0);
    if (!problem_.loss.entropic()) extra_ = at_zero / (whole * whole);
    best_primal_ = certified_.primal();
    if (!from.A) return;
    A_ = std::move(from.A);
    dual_ = std::max(0.0, certified_.certify_dual(*A_, W_));
    extra_ *= smoothing_of_a_start;
  }

  void set_should_stop(std::function<bool()> should_stop) override { engine_.set_should_stop(std::move(should_stop)); }

  Pass step() override {
    if (nothing_to_lose_) return {{best_primal_, dual_}, best_primal_, dual_, 0.0};
    if (!looked_) look_here();
    const std::vector<double> direction = newton_direction();
    const double before = best_primal_ - dual_;
    const double t = walk(direction);
    const double primal = primal_here();
    // The smaller part of the gap is what the smoothed problem still lacks: then the next one is due. Where no step is
    // left, too.
    const double lacks = 0.5 * problem_.lambda * distance2(W_, W_U_);
    const bool finer = t == 0.0 || lacks <= small_part * hidden();
    // Steps within the rounding of the objective can go on for ever.
    const double rounding = 0.01 * engine_.geometry().epsilon * std::abs(best_primal_);
    const bool closer = t > 0.0 && best_primal_ - dual_ < before - rounding;
    failures_ = closer ? 0 : failures_ + (t > 0.0 ? 1 : idle_steps_of_a_failure);
    const bool stuck = failures_ > most_idle_steps;
    if (finer) {
      extra_ *= shrink;
      looked_ = false;
    }
    return {{best_primal_, dual_}, primal, dual_, stuck ? 0.0 : std::max(t, least_step)};
  }

  Certificate certify() override {
    certified_.offer_weights(best_W_);
    std::vector<double> W_A;
    const double dual = certified_.certify_dual(*A_, W_A);
    best_primal_ = std::min(best_primal_, certified_.primal());
    if (!(dual >= 0.0)) engine_.scale(0.0, *A_), dual_ = 0.0;
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
    state.count("failures", failures_);
    state("extra", extra_);
    state("looked", looked_);
    engine_.exchange(state, "A", *A_);
    engine_.exchange(state, "U", *U_);
    state("W", W_, {weights});
    state("W_U", W_U_, {0, weights});
    state("phi", here_.phi);
    state("smoothed", here_.smoothed);
    state("c_u", here_.c_u);
    state("u_norm2", here_.u_norm2);
    state("dual", dual_);
    state("best_W", best_W_, {weights});
    state("best_primal", best_primal_);
    certified_.exchange(state);
  }

 private:
  static constexpr std::int64_t most_idle_steps = 51, idle_steps_of_a_failure = 13;  // four failures end it
  static constexpr double least_step = 1e-9;  // what a pass says of a step that failed, as long as another may not

  static NewtonRows& rows_of(Engine& engine) {
    if (engine.problem().loss.oracle) {
      fail(ErrorKind::option, "{} wants second derivatives, which no oracle tells",
           Field{"solver", to_string(SolverName::newton)});
    }
    if (!engine.newton()) {
      fail(ErrorKind::option, "{} wants weights of its own for every class",
           Field{"solver", to_string(SolverName::newton)});
    }
    return *engine.newton();
  }

  double smoothed_value(const std::vector<double>& W, const NewtonSums& sums) const {
    return primal_value(problem_, squared_norm(W), sums.smoothed);
  }
  double primal_here() const { return primal_value(problem_, squared_norm(W_), here_.phi); }
  double dual_here() const { return dual_value(problem_, squared_norm(W_U_), here_.c_u, here_.u_norm2); }
  // What the extra smoothing hides of P - D.
  double hidden() const { return (here_.phi - here_.smoothed - 0.5 * extra_ * here_.u_norm2) / problem_.N; }

  static double distance2(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t p = 0; p < a.size(); ++p) sum += (a[p] - b[p]) * (a[p] - b[p]);
    return sum;
  }

  void look_here() {
    here_ = rows_.look(W_, extra_, *U_, W_U_);
    looked_ = true;
    ++passes_;
    remember();
  }

  void remember() {
    const double primal = primal_here(), dual = dual_here();
    if (primal < best_primal_) {
      best_primal_ = primal;
      best_W_ = W_;
    }
    if (dual > dual_) {
      dual_ = dual;
      engine_.mix(1.0, *U_, 0.0, *A_);
    }
  }

  // Minus the gradient over lambda, where the matrix is no help: what overflowed may be anything.
  std::vector<double> newton_direction() {
    std::vector<double> d(W_.size());
    for (std::size_t p = 0; p < d.size(); ++p) d[p] = W_U_[p] - W_[p];
    rows_.derivative(*U_, problem_.loss.smoothing + extra_, H_);
    for (std::size_t p = 0; p < d.size(); ++p) H_[p * d.size() + p] += 1.0;
    if (factorise(H_, static_cast<std::int64_t>(d.size()), threads_)) solve(H_, d);
    return d;
  }

  // Halves the step until the smoothed objective falls; returns the step, 0 where none was found.
  double walk(const std::vector<double>& direction) {
    double slope = 0.0;
    for (std::size_t p = 0; p < direction.size(); ++p) slope += direction[p] * (W_[p] - W_U_[p]);
    slope *= problem_.lambda;
    const double value = smoothed_value(W_, here_);
    const double rounding = engine_.geometry().epsilon * std::abs(value);
    double t = 1.0;
    int tries = 0;  // counted when they are over: a step that is stopped is taken again
    for (; tries < most_halvings && slope < 0.0; t *= 0.5) {
      ++tries;
      W_next_ = W_;
      for (std::size_t p = 0; p < direction.size(); ++p) W_next_[p] += t * direction[p];
      const NewtonSums there = rows_.look(W_next_, extra_, *U_next_, W_U_next_);
      if (!(smoothed_value(W_next_, there) <= value + sufficient * t * slope + rounding)) continue;
      std::swap(W_, W_next_);
      std::swap(W_U_, W_U_next_);
      std::swap(U_, U_next_);
      here_ = there;
      passes_ += tries;
      remember();
      return t;
    }
    passes_ += tries;
    return 0.0;
  }

  Engine& engine_;
  const Problem& problem_;
  NewtonRows& rows_;
  const int threads_;

  std::int64_t passes_ = 0, failures_ = 0;  // in a row, in idle steps
  double extra_ = 0.0;                      // smoothing
  bool nothing_to_lose_ = false;            // W = 0 is the optimum
  bool looked_ = false;                     // U_, W_U_ and here_ are those of W_ and extra_
  std::unique_ptr<Dual> A_, U_, U_next_;
  std::vector<double> W_, W_U_, W_next_, W_U_next_;
  NewtonSums here_;
  double dual_ = 0.0;  // D(A), in the precision of the passes
  std::vector<double> best_W_;
  double best_primal_ = 0.0;
  std::vector<double> H_;  // of a step; its room stays
  Certifier certified_;
};

}  // namespace

std::unique_ptr<Solver> make_newton_solver(Engine& engine, Start from, int threads) {
  return std::make_unique<NewtonSolver>(engine, std::move(from), threads);
}

}  // namespace topwolf
