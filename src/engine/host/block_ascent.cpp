// Which rows are visited, in which order, and when they rest. Resting is what makes late epochs cheap: near the optimum
// most rows have no share of the gap, and a visit that changes nothing costs as much as any other.
#include "engine/host/block_ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace topwolf {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

HostBlockAscent::HostBlockAscent(const Problem& problem, double coupling, const std::vector<double>& lengths2,
                                 std::unique_ptr<BlockScores> scores, int threads)
    : problem_(problem), lengths2_(lengths2), scores_(std::move(scores)), coupling_(coupling), threads_(threads) {}

void HostBlockAscent::begin(const BlockOptions& options, double scores_times) {
  const auto n = static_cast<std::size_t>(problem_.n);
  scores_->scale(scores_times);
  rng_ = Rng(options.seed);
  block_rows_ = options.block_rows > 0 ? options.block_rows : scores_->block_rows();
  FaceScores* const face = options.accelerate ? scores_->face() : nullptr;
  face_.reset();
  if (face) face_.emplace(problem_, *face, lengths2_, threads_);
  curved_.reset();
  if (scores_->curved()) curved_.emplace(lengths2_, coupling_);
  share_.assign(n, infinity);
  rest_.assign(n, 0);
  due_.assign(n, 0);
  order_.clear();
  visited_ = resting_ = epoch_ = 0;
  quiet_ = 0.0;
}

std::int64_t HostBlockAscent::epochs_per_face_step() const {
  return face_ ? face_->epochs_per_ascent() : 0;
}

double HostBlockAscent::face_step(Dual& A, const std::function<void()>& pause) {
  return face_->ascend(on_host(A), pause);
}

// The examples whose turn it is, in random order.
BlockAscent::Epoch HostBlockAscent::begin_epoch(std::int64_t epoch) {
  epoch_ = epoch;
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
  visited_ = 0;
  const double left = gap();
  // A twentieth of the mean share: those who rest had, when they were seen, a twentieth of the gap between them at
  // most.
  quiet_ = std::isfinite(left) ? 0.05 * left : 0.0;
  return {static_cast<std::int64_t>(order_.size()), resting_};
}

std::span<const std::int64_t> HostBlockAscent::block_at(std::int64_t first) const {
  return std::span(order_).subspan(
      static_cast<std::size_t>(first),
      static_cast<std::size_t>(std::min(block_rows_, static_cast<std::int64_t>(order_.size()) - first)));
}

// Row by row, exactly: the scores of the block are corrected for the steps before them.
BlockAscent::Step HostBlockAscent::step(Dual& A) {
  const auto rows = block_at(visited_);
  const std::size_t count = rows.size(), m = static_cast<std::size_t>(problem_.m);
  Step out;
  out.rows = static_cast<std::int64_t>(count);
  if (count == 0) {
    order_.clear();
    visited_ = 0;
    return out;
  }
  scores_->load(rows, S_, G_);  // may be stopped: only then has the block begun
  visited_ += out.rows;
  // While this block steps, the memory of the next is on its way.
  scores_->expect(block_at(visited_));
  change_.resize(count);
  spread_.resize(curved_ ? count : 0);
  for (std::size_t r = 0; r < count; ++r) {
    double* s = S_.data() + r * m;
    correct(rows, r, s);
    const double gain = visit(rows[r], s, G_[r * count + r], on_host(A), change_[r]);
    out.gain += problem_.weight(rows[r]) / problem_.N * gain;
    if (curved_ && !change_[r].empty()) spread_[r] = curved_->spread();
    out.moved |= !change_[r].empty();
  }
  // Once for the block: the working scores stand for the dual before it until here.
  if (out.moved) scores_->add(rows, change_);
  return out;
}

void HostBlockAscent::correct(std::span<const std::int64_t> rows, std::size_t r, double* s) const {
  for (std::size_t p = 0; p < r; ++p) {
    const double factor = problem_.factor(rows[p]) * G_[r * rows.size() + p];
    if (!curved_) {
      for (const auto& [j, value] : change_[p]) s[j] += factor * value;
    } else if (!change_[p].empty()) {
      for (std::size_t j = 0; j < spread_[p].size(); ++j) s[j] += factor * spread_[p][j];
    }
  }
}

// `length2`: what G says about the row itself. Returns what the example's part of the dual gains.
double HostBlockAscent::visit(std::int64_t i, double* s, double length2, HostDual& A, SparseRow& change) {
  const auto at = static_cast<std::size_t>(i);
  change.clear();
  share_[at] = gap_share(problem_.loss, problem_.margins(i), s, problem_.m, problem_.label(i), A[i], next_, scratch_);
  rest(at);
  // Where a score overflowed nobody knows where to go.
  if (share_[at] <= 0.0 || !std::isfinite(share_[at])) return 0.0;
  return curved_ ? curved_step(i, s, problem_.factor(i) * length2, A, change) : exact_step(i, s, A, change);
}

double HostBlockAscent::exact_step(std::int64_t i, const double* s, HostDual& A, SparseRow& change) {
  const Loss& loss = problem_.loss;
  const RowMargins delta = problem_.margins(i);
  const std::int64_t y = problem_.label(i);
  const double q = problem_.factor(i) * lengths2_[static_cast<std::size_t>(i)];
  const RowView alpha = A[i];
  block_step(loss, delta, s, problem_.m, y, q, alpha, next_, scratch_);
  mix(1.0, next_, -1.0, alpha, change);
  if (change.empty()) return 0.0;
  // D1: what the step adds to the dual.
  double gain = -0.5 * q * squared_norm(change) - 0.5 * loss.smoothing * (squared_norm(next_) - squared_norm(alpha));
  for (const auto& [j, value] : change) gain -= value * (margin(delta, j, y) + (s[j] - s[y]));
  A.assign(i, next_);
  return gain;
}

double HostBlockAscent::curved_step(std::int64_t i, double* s, double factor, HostDual& A, SparseRow& change) {
  moved_.assign(A[i].begin(), A[i].end());
  const double gain =
      curved_->take(problem_, *scores_, i, s, factor, share_[static_cast<std::size_t>(i)], moved_, scratch_);
  mix(1.0, moved_, -1.0, A[i], change);
  A.assign(i, moved_);
  return gain;
}

// An example with next to no share of the gap rests for 1, 2, 4, ... epochs.
void HostBlockAscent::rest(std::size_t at) {
  if (share_[at] > quiet_) {
    rest_[at] = 0;
    return;
  }
  // At most 16 epochs: shares change while their row rests.
  rest_[at] = std::min<std::int64_t>(16, rest_[at] == 0 ? 1 : 2 * rest_[at]);
  due_[at] = epoch_ + 1 + rest_[at];
}

double HostBlockAscent::gap() const {
  double sum = 0.0;
  for (std::int64_t i = 0; i < problem_.n; ++i) {
    const double omega = problem_.weight(i);
    if (omega > 0.0) sum += omega * share_[static_cast<std::size_t>(i)];
  }
  return sum / problem_.N;
}

void HostBlockAscent::wake() {
  std::fill(due_.begin(), due_.end(), 0);
}

void HostBlockAscent::exchange(State& state) {
  rng_.exchange(state);
  state.count("ascent_epoch", epoch_);
  state("order", order_);
  state("visited", visited_);
  state.count("resting", resting_);
  state("quiet", quiet_);
  if (state.restoring()) check_order(state);
  state("share", share_, {problem_.n});
  state("rest", rest_, {problem_.n});
  state("due", due_, {problem_.n});
  if (face_) face_->exchange(state);
  if (curved_) curved_->exchange(state);
  scores_->exchange(state);
}

// An order from a file must name the rows that do not rest, or none between two epochs.
void HostBlockAscent::check_order(State& state) const {
  const auto size = static_cast<std::int64_t>(order_.size());
  std::int64_t expected = -resting_;
  for (std::int64_t i = 0; i < problem_.n; ++i) expected += problem_.weight(i) > 0.0 ? 1 : 0;
  const bool rows = std::all_of(order_.begin(), order_.end(), [&](std::int64_t i) { return i >= 0 && i < problem_.n; });
  if (!rows || (size != 0 && size != expected) || visited_ < 0 || visited_ > size) state.refuse("order");
}

}  // namespace topwolf
