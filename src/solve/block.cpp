// Exact block ascent on the dual.
//
// Problem:  max D(A) over A in Q^n (D1).
//
// Kept:     A; D(A), as the steps add up and, now and then, anew; the engine's working scores and the rows' shares of
//           the gap (G2), which only the engine looks at.
//
// A step:   an epoch over the examples that still have a share of the gap, in a fresh random order. Each example's
//           alpha is set to its maximiser, all others fixed, in closed form (L6), or moved towards it where its classes
//           are coupled (L8); before every few epochs all free entries take a step together (B1).
//
// Cost:     scores of the rows visited (n m d where nobody rests), and for each row that moves an update of the classes
//           that changed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "solve/certifier.hpp"
#include "solve/objective.hpp"
#include "solve/solvers.hpp"

namespace topwolf {
namespace {

class BlockSolver final : public Solver {
 public:
  BlockSolver(Engine& engine, Start from, const BlockOptions& options)
      : engine_(engine), ascent_(engine.block_ascent()), certified_(engine) {
    started_ = from.A != nullptr;
    A_ = started_ ? std::move(from.A) : engine.make_dual();
    ascent_.begin(options, from.scores_times);
    if (!started_) return;
    exact_weights();
    if (from.scores_times != 0.0) exact_ = {};
  }

  void set_should_stop(std::function<bool()> should_stop) override { engine_.set_should_stop(std::move(should_stop)); }

  Pass step() override {
    if (!in_epoch_) begin_epoch();
    for (;;) {
      engine_.stop_if_asked();
      const BlockAscent::Step taken = ascent_.step(*A_);
      if (taken.rows == 0) break;
      dual_ += taken.gain;
      moved_ |= taken.moved;
    }
    in_epoch_ = false;
    // Nobody moved: those at rest may have to. Only when everybody was asked is there nowhere to go.
    bool stuck = !moved_ && resting_ == 0;
    if (!moved_) ascent_.wake();
    if (epoch_ % refresh_epochs == 0 && !refresh()) stuck = true;
    const Certificate estimate{std::min(dual_ + ascent_.gap(), certified_.primal()), dual_};
    return {estimate, estimate.primal, estimate.dual, stuck ? 0.0 : 1.0, true};
  }

  Certificate certify() override {
    certified_.offer_weights(exact_weights(), {.A = A_.get(), .ascent = &ascent_});
    ascent_.wake();
    return certified_.certificate(dual_);
  }

  const std::vector<double>& weights() const override { return certified_.weights(); }
  const std::vector<std::int32_t>& ranks() const override { return certified_.ranks(); }
  std::vector<double> current_weights() override {
    std::vector<double> W;
    engine_.weights_of(*A_, W);
    return W;
  }
  const Dual* dual() const override { return A_.get(); }
  std::unique_ptr<Dual> take_dual() override { return std::move(A_); }
  void recover() override {
    exact_weights();
    ascent_.wake();
    in_epoch_ = false;
    refreshed_dual_ = dual_;  // what was gained before is no measure any more
    refreshed_gap_ = std::numeric_limits<double>::infinity();
  }
  std::int64_t row_visits() const override { return visits_; }

  void exchange(State& state) override {
    state.count("epoch", epoch_);
    state.count("visits", visits_, std::int64_t{1} << 62);
    state("in_epoch", in_epoch_);
    state("moved", moved_);
    state.count("resting_rows", resting_);
    state("started", started_);
    engine_.exchange(state, "A", *A_);
    state("exact", exact_, {0, engine_.geometry().dimension});
    state("dual", dual_);
    state("refreshed_dual", refreshed_dual_);
    state("refreshed_gap", refreshed_gap_);
    certified_.exchange(state);
    ascent_.exchange(state);
  }

 private:
  static constexpr std::int64_t refresh_epochs = 64;

  // W(A) and D(A) from A alone, in double. If there is another step, it puts the working scores right first.
  const std::vector<double>& exact_weights() {
    dual_ = certified_.certify_dual(*A_, exact_);
    if (!(dual_ >= 0.0)) {  // worse than nothing, which only scores that overflow can bring about
      engine_.scale(0.0, *A_);
      std::fill(exact_.begin(), exact_.end(), 0.0);
      dual_ = 0.0;
    }
    return exact_;
  }

  // Takes the drift out of long runs. False if since the last time the dual has gained no more than the rounding of the
  // working scores, and the gap has not fallen either.
  bool refresh() {
    exact_weights();
    const double gap = ascent_.gap();
    const double rounding = engine_.geometry().epsilon * std::abs(dual_);
    const bool gained = dual_ > refreshed_dual_ + rounding || gap < 0.9 * refreshed_gap_;
    refreshed_dual_ = dual_;
    refreshed_gap_ = gap;
    return gained;
  }

  // Asked to stop in here it has not begun: all of it is done again.
  void begin_epoch() {
    engine_.stop_if_asked();
    if (!exact_.empty()) ascent_.reset(std::exchange(exact_, {}), *A_);
    const std::int64_t epoch = epoch_ + 1, between = ascent_.epochs_per_face_step();
    // Before the visits, which then see what became of the shares.
    if (between > 0 && (epoch % between == 0 || (started_ && epoch == 1))) {
      dual_ += ascent_.face_step(*A_, [this] { engine_.stop_if_asked(); });
    }
    epoch_ = epoch;
    const BlockAscent::Epoch chosen = ascent_.begin_epoch(epoch_);
    visits_ += chosen.rows;
    resting_ = chosen.resting;
    moved_ = false;
    in_epoch_ = true;
  }

  Engine& engine_;
  BlockAscent& ascent_;
  Certifier certified_;

  std::unique_ptr<Dual> A_;
  double dual_ = 0.0;                                                                      // D(A)
  std::vector<double> exact_;                                                              // W(A), for the scores
  double refreshed_dual_ = 0.0, refreshed_gap_ = std::numeric_limits<double>::infinity();  // at the last refresh
  std::int64_t epoch_ = 0, visits_ = 0;
  bool started_ = false;  // elsewhere than at 0, so that the first step already knows a face
  // Of the epoch.
  bool in_epoch_ = false, moved_ = false;
  std::int64_t resting_ = 0;
};

}  // namespace

std::unique_ptr<Solver> make_block_solver(Engine& engine, Start from, const BlockOptions& options) {
  return std::make_unique<BlockSolver>(engine, std::move(from), options);
}

}  // namespace topwolf
