#include "solve/block.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/rng.hpp"
#include "solve/certifier.hpp"
#include "solve/curved_step.hpp"
#include "solve/face_ascent.hpp"
#include "solve/objective.hpp"

namespace topwolf {
namespace {

class BlockSolver final : public Solver {
 public:
  BlockSolver(const Problem& problem, Engine& engine, BlockScores& scores, const BlockOptions& options, int threads)
      : problem_(problem),
        engine_(engine),
        scores_(scores),
        options_(options),
        rng_(options.seed),
        block_rows_(options.block_rows > 0 ? options.block_rows : scores.block_rows()),
        lengths2_(engine.geometry().lengths2),
        curved_(engine.geometry()),
        certified_(problem, engine),
        A_(static_cast<std::size_t>(problem.n)),
        share_(static_cast<std::size_t>(problem.n), std::numeric_limits<double>::infinity()),
        rest_(static_cast<std::size_t>(problem.n), 0),
        due_(static_cast<std::size_t>(problem.n), 0),
        change_(static_cast<std::size_t>(block_rows_)) {
    if (FaceScores* face = scores.face(); face && options.accelerate) face_.emplace(problem, *face, lengths2_, threads);
  }

  void start(Start from) override {
    A_ = std::move(from.A);
    started_ = true;
    exact_weights();
    if (from.scores_times == 0.0) return;
    scores_.scale(from.scores_times);
    exact_ = {};
  }

  void set_should_stop(std::function<bool()> should_stop) override { engine_.set_should_stop(std::move(should_stop)); }

  Pass step() override {
    if (!in_epoch_) begin_epoch();
    while (visited_ < static_cast<std::int64_t>(order_.size())) {
      engine_.stop_if_asked();
      const auto block = block_at(static_cast<std::size_t>(visited_));
      visited_ += static_cast<std::int64_t>(block.size());
      scores_.expect(block_at(static_cast<std::size_t>(visited_)));
      moved_ |= ascend(block);
    }
    in_epoch_ = false;
    order_.clear();
    visited_ = 0;
    // Nobody moved: those at rest may have to. Only when everybody was asked is there nowhere to go.
    bool stuck = !moved_ && resting_ == 0;
    if (!moved_) std::fill(due_.begin(), due_.end(), 0);
    if (epoch_ % refresh_epochs == 0 && !refresh()) stuck = true;
    const Certificate estimate{std::min(dual_ + gap_estimate(), certified_.primal()), dual_};
    return {estimate, estimate.primal, estimate.dual, stuck ? 0.0 : 1.0};
  }

  Certificate certify() override {
    certified_.offer_weights(exact_weights(), &A_, &share_);
    std::fill(due_.begin(), due_.end(), 0);  // everybody is looked at again
    return certified_.certificate(dual_);
  }

  const std::vector<double>& weights() const override { return certified_.weights(); }
  const std::vector<std::int32_t>& ranks() const override { return certified_.ranks(); }
  std::vector<double> current_weights() override {
    std::vector<double> W;
    engine_.weights_of(A_, W);
    return W;
  }
  const DualRows& dual() const override { return A_; }
  std::int64_t row_visits() const override { return visits_; }

  void exchange(State& state) override {
    rng_.exchange(state);
    state.count("epoch", epoch_);
    state.count("visits", visits_, std::int64_t{1} << 62);
    state("in_epoch", in_epoch_);
    state("order", order_);
    state("visited", visited_);
    state("moved", moved_);
    state.count("resting", resting_);
    state("quiet", quiet_);
    if (state.restoring()) check_order(state);
    state("started", started_);
    topwolf::exchange(state, "A", A_, problem_.n, problem_.m);
    if (static_cast<std::int64_t>(A_.size()) != problem_.n) state.refuse("A");
    state("exact", exact_, {0, engine_.geometry().dimension});
    state("dual", dual_);
    state("refreshed_dual", refreshed_dual_);
    state("refreshed_gap", refreshed_gap_);
    state("share", share_, {problem_.n});
    state("rest", rest_, {problem_.n});
    state("due", due_, {problem_.n});
    if (face_) face_->exchange(state);
    if (scores_.curved()) curved_.exchange(state);
    certified_.exchange(state);
    scores_.exchange(state);
  }

 private:
  static constexpr std::int64_t refresh_epochs = 64;

  // W(A) and D(A) from A alone, in double. If there is another step, it puts the working scores right first.
  const std::vector<double>& exact_weights() {
    dual_ = certified_.certify_dual(A_, exact_);
    if (!(dual_ >= 0.0)) {  // worse than nothing, which only scores that overflow can bring about
      for (SparseRow& alpha : A_) alpha.clear();
      std::fill(exact_.begin(), exact_.end(), 0.0);
      dual_ = 0.0;
    }
    return exact_;
  }

  // Takes the drift out of long runs. False if since the last time the dual has gained no more than the rounding of the
  // working scores, and the gap has not fallen either.
  bool refresh() {
    exact_weights();
    const double gap = gap_estimate();
    const double rounding = engine_.geometry().epsilon * std::abs(dual_);
    const bool gained = dual_ > refreshed_dual_ + rounding || gap < 0.9 * refreshed_gap_;
    refreshed_dual_ = dual_;
    refreshed_gap_ = gap;
    return gained;
  }

  // Asked to stop in here it has not begun: all of it is done again.
  void begin_epoch() {
    engine_.stop_if_asked();
    if (!exact_.empty()) scores_.reset(std::exchange(exact_, {}), A_);
    const std::int64_t epoch = epoch_ + 1;
    // Before the visits, which then see what became of the shares.
    if (face_ && (epoch % face_->epochs_per_ascent() == 0 || (started_ && epoch == 1))) {
      dual_ += face_->ascend(A_, [this] { engine_.stop_if_asked(); });
    }
    epoch_ = epoch;
    choose_rows();
    visited_ = 0;
    moved_ = false;
    in_epoch_ = true;
  }

  // An order from a file must name the rows that do not rest.
  void check_order(State& state) const {
    const auto size = static_cast<std::int64_t>(order_.size());
    std::int64_t expected = -resting_;
    for (std::int64_t i = 0; i < problem_.n; ++i) expected += problem_.weight(i) > 0.0 ? 1 : 0;
    const bool rows =
        std::all_of(order_.begin(), order_.end(), [&](std::int64_t i) { return i >= 0 && i < problem_.n; });
    if (!rows || size != (in_epoch_ ? expected : 0) || visited_ < 0 || visited_ > size) state.refuse("order");
  }

  // The examples whose turn it is, in random order.
  void choose_rows() {
    order_.clear();
    resting_ = 0;
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      if (!(problem_.weight(i) > 0.0)) continue;
      if (due_[static_cast<std::size_t>(i)] <= epoch_) {
        order_.push_back(i);
      } else {
        ++resting_;
      }
    }
    rng_.shuffle(order_);
    visits_ += static_cast<std::int64_t>(order_.size());
    const double gap = gap_estimate();
    quiet_ = std::isfinite(gap) ? 0.05 * gap : 0.0;
  }

  std::span<const std::int64_t> block_at(std::size_t first) const {
    return {order_.data() + first, std::min(static_cast<std::size_t>(block_rows_), order_.size() - first)};
  }

  // Row by row, exactly: the scores of the block are corrected for the steps before them.
  bool ascend(std::span<const std::int64_t> rows) {
    const std::size_t count = rows.size(), m = static_cast<std::size_t>(problem_.m);
    scores_.load(rows, S_, G_);
    const bool curved = scores_.curved();
    bool moved = false;
    change_.resize(count);
    spread_.resize(curved ? count : 0);
    for (std::size_t r = 0; r < count; ++r) {
      double* s = S_.data() + r * m;
      for (std::size_t p = 0; p < r; ++p) {
        const double factor = problem_.factor(rows[p]) * G_[r * count + p];
        if (!curved) {
          for (const auto& [j, value] : change_[p]) s[j] += factor * value;
        } else if (!change_[p].empty()) {
          for (std::size_t j = 0; j < m; ++j) s[j] += factor * spread_[p][j];
        }
      }
      visit(rows[r], s, G_[r * count + r], change_[r]);
      if (curved && !change_[r].empty()) spread_[r] = curved_.spread();
      moved |= !change_[r].empty();
    }
    if (moved) scores_.add(rows, change_);
    return moved;
  }

  // `length2`: what G says about the row itself.
  void visit(std::int64_t i, double* s, double length2, SparseRow& change) {
    const auto at = static_cast<std::size_t>(i);
    change.clear();
    share_[at] =
        gap_share(problem_.loss, problem_.margins(i), s, problem_.m, problem_.label(i), A_[at], next_, scratch_);
    rest(at);
    if (share_[at] <= 0.0 || !std::isfinite(share_[at])) return;  // where a score overflowed nobody knows where to go
    const double gain =
        scores_.curved() ? curved_step(i, s, problem_.factor(i) * length2, change) : exact_step(i, s, change);
    dual_ += problem_.weight(i) / problem_.N * gain;
  }

  // Both move alpha, and return what that adds to the example's part of the dual.
  double exact_step(std::int64_t i, const double* s, SparseRow& change) {
    const auto at = static_cast<std::size_t>(i);
    const Loss& loss = problem_.loss;
    const RowMargins delta = problem_.margins(i);
    const std::int64_t y = problem_.label(i);
    const double q = problem_.factor(i) * lengths2_[at];
    SparseRow& alpha = A_[at];
    block_step(loss, delta, s, problem_.m, y, q, alpha, next_, scratch_);
    mix(1.0, next_, -1.0, alpha, change);
    if (change.empty()) return 0.0;
    // D1: what the step adds to the dual.
    double gain = -0.5 * q * squared_norm(change) - 0.5 * loss.smoothing * (squared_norm(next_) - squared_norm(alpha));
    for (const auto& [j, value] : change) gain -= value * (margin(delta, j, y) + (s[j] - s[y]));
    alpha.assign(next_.begin(), next_.end());
    return gain;
  }

  double curved_step(std::int64_t i, double* s, double q, SparseRow& change) {
    const auto at = static_cast<std::size_t>(i);
    before_ = A_[at];
    const double gain = curved_.take(problem_, scores_, i, s, q, share_[at], A_[at], scratch_);
    mix(1.0, A_[at], -1.0, before_, change);
    return gain;
  }

  // An example with next to no share of the gap rests for 1, 2, 4, ... epochs.
  void rest(std::size_t at) {
    if (!options_.shrink || share_[at] > quiet_) {
      rest_[at] = 0;
      return;
    }
    rest_[at] = std::min<std::int64_t>(16, rest_[at] == 0 ? 1 : 2 * rest_[at]);
    due_[at] = epoch_ + 1 + rest_[at];
  }

  // From the shares as last seen, per unit of N.
  double gap_estimate() const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      const double omega = problem_.weight(i);
      if (omega > 0.0) sum += omega * share_[static_cast<std::size_t>(i)];
    }
    return sum / problem_.N;
  }

  const Problem& problem_;
  Engine& engine_;
  BlockScores& scores_;
  const BlockOptions options_;
  Rng rng_;
  const std::int64_t block_rows_;
  const std::vector<double>& lengths2_;

  std::optional<FaceAscent> face_;
  CurvedStep curved_;
  Certifier certified_;

  std::int64_t epoch_ = 0, visits_ = 0;
  bool started_ = false;  // elsewhere than at 0, so that the first step already knows a face
  DualRows A_;
  std::vector<double> exact_;                                                              // W(A), for the scores
  double dual_ = 0.0;                                                                      // D(A)
  double refreshed_dual_ = 0.0, refreshed_gap_ = std::numeric_limits<double>::infinity();  // at the last refresh
  std::vector<double> share_;                                                              // of the gap, as last seen
  std::vector<std::int64_t> rest_, due_;
  std::int64_t resting_ = 0;
  double quiet_ = 0.0;  // a share below this is next to none
  // Where in its epoch the solver is.
  bool in_epoch_ = false, moved_ = false;
  std::vector<std::int64_t> order_;
  std::int64_t visited_ = 0;   // of order_
  std::vector<double> S_, G_;  // of a block
  std::vector<SparseRow> change_;
  std::vector<std::vector<double>> spread_;  // of the changes, where psi is curved
  SparseRow next_, before_;
  RowScratch scratch_;
};

}  // namespace

std::unique_ptr<Solver> make_block_solver(const Problem& problem, Engine& engine, BlockScores& scores,
                                          const BlockOptions& options, int threads) {
  return std::make_unique<BlockSolver>(problem, engine, scores, options, threads);
}

}  // namespace topwolf
