// Which rows are visited, in which order, and when they rest. Resting is what makes late epochs cheap: near the optimum
// most rows have no share of the gap, and a visit that changes nothing costs as much as any other.
//
// Nothing here depends on the number of threads: groups have a fixed size, how many step at once follows from what
// their steps were worth together, and sums run in the order of the groups.
#include "engine/host/block_ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/threads.hpp"

namespace topwolf {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// B2: a whole step gains where gamma is above 1/2. At 1/2 it gains nothing, and two rows that are the same would change
// places for ever.
constexpr double least_gamma = 0.6;
// Above the second a batch is as good as its rows one by one; between them it takes somewhat more epochs.
constexpr double poor_gamma = 0.85, good_gamma = 1.1;
constexpr std::int64_t batches_per_judgement = 8;
// After so many epochs in which only one group steps at a time, two are tried again.
constexpr std::int64_t epochs_per_trial = 16;

// What a visit takes besides its classes, in classes, and how many of them are worth a thread.
constexpr double visit_in_classes = 40.0, visits_of_a_thread = 1500.0;

}  // namespace

HostBlockAscent::HostBlockAscent(const Problem& problem, double coupling, const std::vector<double>& lengths2,
                                 std::unique_ptr<BlockScores> scores, int threads)
    : problem_(problem), lengths2_(lengths2), scores_(std::move(scores)), coupling_(coupling), threads_(threads) {}

void HostBlockAscent::begin(const BlockOptions& options, double scores_times) {
  const auto n = static_cast<std::size_t>(problem_.n);
  scores_->scale(scores_times);
  rng_ = Rng(options.seed);
  // Rows that the caller wants in one block step one after another.
  group_rows_ = options.block_rows > 0 ? std::min(options.block_rows, scores_->group_rows()) : scores_->group_rows();
  most_groups_ = options.block_rows > 0 ? 1 : scores_->most_groups();
  groups_ = std::min(most_groups_, scores_->groups_to_begin_with());
  gamma_sum_ = 0.0;
  gamma_count_ = 0;
  space_.resize(static_cast<std::size_t>(threads_));
  // With softmax every row is inside of Q, and the dual is not quadratic there; an oracle says nothing of faces.
  accelerate_ = options.accelerate && !problem_.loss.entropic() && !problem_.loss.oracle;
  FaceScores* const face = accelerate_ ? scores_->face() : nullptr;
  face_.reset();
  if (face) face_.emplace(problem_, *face, lengths2_, threads_);
  curved_.reset();
  if (scores_->curved()) curved_.emplace(lengths2_, coupling_);
  share_.assign(n, infinity);
  rest_.assign(n, 0);
  due_.assign(n, 0);
  order_.clear();
  ends_.clear();
  entered_.reset();
  ascended_ = 0;
  part_gain_ = 0.0;
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
  const auto awake = static_cast<std::int64_t>(order_.size());
  ends_ = order_.empty() ? std::vector<std::int64_t>() : scores_->arrange(order_, rng_);
  ascended_ = 0;
  entered_.reset();
  visited_ = 0;
  if (groups_ == 1 && epoch_ % epochs_per_trial == 0) groups_ = std::min<std::int64_t>(2, most_groups_);
  const double left = gap();
  // A twentieth of the mean share: those who rest had, when they were seen, a twentieth of the gap between them at
  // most.
  quiet_ = std::isfinite(left) ? 0.05 * left : 0.0;
  return {awake * scores_->visits(), resting_};
}

std::span<const std::int64_t> HostBlockAscent::part(std::size_t p) const {
  if (p >= ends_.size()) return {};
  const std::int64_t begin = p == 0 ? 0 : ends_[p - 1];
  return std::span(order_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(ends_[p] - begin));
}

std::size_t HostBlockAscent::part_of(std::int64_t at) const {
  return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
}

void HostBlockAscent::enter_part() {
  const std::size_t p = part_of(visited_);
  if (entered_ == p || p >= ends_.size()) return;
  entered_.reset();
  scores_->enter(part(p), part(p + 1));
  entered_ = p;
}

std::span<const std::int64_t> HostBlockAscent::batch_at(std::int64_t first) const {
  const std::size_t p = part_of(first);
  if (p >= ends_.size()) return {};
  return std::span(order_).subspan(static_cast<std::size_t>(first),
                                   static_cast<std::size_t>(std::min(groups_ * group_rows_, ends_[p] - first)));
}

bool HostBlockAscent::part_ascends() const {
  const std::int64_t between = accelerate_ ? scores_->epochs_per_part_ascent() : 0;
  return between > 0 && epoch_ % between == 0 && entered_ && ascended_ <= static_cast<std::int64_t>(*entered_);
}

BlockAscent::Step HostBlockAscent::step(Dual& A) {
  enter_part();
  if (part_ascends()) {  // what it gains is told with the next batch, which may yet be stopped
    part_gain_ += scores_->ascend_part(on_host(A));
    ascended_ = static_cast<std::int64_t>(*entered_) + 1;
  }
  const auto rows = batch_at(visited_);
  const std::size_t count = rows.size(), group = static_cast<std::size_t>(group_rows_);
  Step out;
  out.rows = static_cast<std::int64_t>(count);
  if (count == 0) {
    order_.clear();
    ends_.clear();
    visited_ = 0;
    return out;
  }
  scores_->load(rows, group_rows_, S_, G_);  // may be stopped: only then has the batch begun
  visited_ += out.rows;
  // While this batch steps, the memory of the next is on its way.
  scores_->expect(batch_at(visited_));
  change_.resize(count);
  spread_.resize(curved_ ? count : 0);
  gain_.assign((count + group - 1) / group, {});
  const double visits = static_cast<double>(count) * (static_cast<double>(problem_.m) + visit_in_classes);
  const int threads = threads_worth(visits, threads_, visits_of_a_thread);
  parallel_for(static_cast<std::int64_t>(gain_.size()), threads, [&](std::int64_t g) {
    const std::size_t first = static_cast<std::size_t>(g) * group;
    gain_[static_cast<std::size_t>(g)] = step_group(rows, first, std::min(count, first + group), on_host(A),
                                                    space_[static_cast<std::size_t>(thread_number())]);
  });
  Gain sum;
  for (const Gain& one : gain_) {
    sum.gain += one.gain;
    sum.curvature += one.curvature;
    sum.smoothing += one.smoothing;
    sum.moved |= one.moved;
  }
  out.gain = std::exchange(part_gain_, 0.0);
  out.moved = sum.moved || out.gain > 0.0;
  if (!sum.moved) return out;
  // Once for the batch: the working scores stand for the dual before it until here.
  if (gain_.size() == 1) {
    scores_->add(rows, change_, 1.0);
    out.gain += sum.gain / problem_.N;
  } else {
    out.gain += take_together(rows, sum, on_host(A)) / problem_.N;
  }
  return out;
}

// Row by row, exactly: the scores of the group are corrected for the steps before them.
HostBlockAscent::Gain HostBlockAscent::step_group(std::span<const std::int64_t> rows, std::size_t first,
                                                  std::size_t last, HostDual& A, Space& space) {
  const auto m = static_cast<std::size_t>(problem_.m), group = static_cast<std::size_t>(group_rows_);
  space.disturbed.resize(m, 0.0);
  Gain out;
  for (std::size_t r = first; r < last; ++r) {
    double* s = S_.data() + r * m;
    correct(rows, first, r, s, space);
    const double length2 = G_[r * group + (r - first)], omega = problem_.weight(rows[r]);
    out.gain += omega * visit(rows[r], s, length2, A, change_[r], space);
    if (curved_ && !change_[r].empty()) spread_[r] = curved_->spread();
    out.moved |= !change_[r].empty();
    if (gain_.size() == 1) continue;  // nobody asks what it does to others
    // Of the whole group, row by row: its own, and twice what it has with those before it.
    double norm2 = 0.0, across = 0.0;
    for (const auto& [j, value] : change_[r]) {
      norm2 += value * value;
      across += value * space.disturbed[static_cast<std::size_t>(j)];
    }
    out.curvature += omega * (problem_.factor(rows[r]) * length2 * norm2 + 2.0 * across);
    out.smoothing += omega * problem_.loss.smoothing * norm2;
    for (std::size_t p = first; p < r; ++p) {
      for (const auto& [j, value] : change_[p]) space.disturbed[static_cast<std::size_t>(j)] = 0.0;
    }
  }
  return out;
}

void HostBlockAscent::correct(std::span<const std::int64_t> rows, std::size_t first, std::size_t r, double* s,
                              Space& space) const {
  const auto group = static_cast<std::size_t>(group_rows_);
  for (std::size_t p = first; p < r; ++p) {
    if (change_[p].empty()) continue;
    const double factor = problem_.factor(rows[p]) * G_[r * group + (p - first)];
    if (!curved_) {
      for (const auto& [j, value] : change_[p]) s[j] += factor * value;
      if (gain_.size() == 1) continue;
      for (const auto& [j, value] : change_[p]) space.disturbed[static_cast<std::size_t>(j)] += factor * value;
    } else {
      for (std::size_t j = 0; j < spread_[p].size(); ++j) s[j] += factor * spread_[p][j];
    }
  }
}

// B2. The groups know what they gain alone; what they do to each other is in the length of the sum. Takes all of it
// where that ascends, else the part that ascends most.
double HostBlockAscent::take_together(std::span<const std::int64_t> rows, const Gain& apart, HostDual& A) {
  const double slope = apart.gain + 0.5 * (apart.curvature + apart.smoothing);
  const double curvature = scores_->add(rows, change_, 1.0) + apart.smoothing;
  const double gamma = slope / curvature;
  steer(gamma);
  // Not a number where both are 0, or overflowed: no step.
  const bool whole = gamma >= least_gamma || (curvature == 0.0 && slope > 0.0);
  if (whole) return slope - 0.5 * curvature;
  const double part = gamma > 0.0 ? gamma : 0.0;
  scores_->add(rows, change_, part - 1.0);
  SparseRow& back = space_[0].next;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (change_[r].empty()) continue;
    mix(part - 1.0, change_[r], 1.0, A[rows[r]], back);
    A.assign(rows[r], back);
  }
  return part * (slope - 0.5 * part * curvature);
}

// gamma is the thermometer: fewer groups at once where they were in each other's way, more where they were not.
void HostBlockAscent::steer(double gamma) {
  gamma_sum_ += std::isfinite(gamma) ? std::clamp(gamma, 0.0, 2.0) : 0.0;
  if (++gamma_count_ < batches_per_judgement) return;
  const double mean = gamma_sum_ / static_cast<double>(gamma_count_);
  if (mean < poor_gamma) groups_ = std::max<std::int64_t>(1, groups_ / 2);
  if (mean > good_gamma) groups_ = std::min(most_groups_, 2 * groups_);
  gamma_sum_ = 0.0;
  gamma_count_ = 0;
}

// `length2`: what G says about the row itself. Returns what the example's part of the dual gains.
double HostBlockAscent::visit(std::int64_t i, double* s, double length2, HostDual& A, SparseRow& change, Space& space) {
  const auto at = static_cast<std::size_t>(i);
  change.clear();
  share_[at] =
      gap_share(problem_.loss, problem_.margins(i), s, problem_.m, problem_.label(i), A[i], space.next, space.scratch);
  rest(at);
  // Where a score overflowed nobody knows where to go.
  if (share_[at] <= 0.0 || !std::isfinite(share_[at])) return 0.0;
  return curved_ ? curved_step(i, s, problem_.factor(i) * length2, A, change, space)
                 : exact_step(i, s, A, change, space);
}

double HostBlockAscent::exact_step(std::int64_t i, const double* s, HostDual& A, SparseRow& change, Space& space) {
  const Loss& loss = problem_.loss;
  const RowMargins delta = problem_.margins(i);
  const std::int64_t y = problem_.label(i);
  const double q = problem_.factor(i) * lengths2_[static_cast<std::size_t>(i)];
  const RowView alpha = A[i];
  SparseRow& next = space.next;
  block_step(loss, delta, s, problem_.m, y, q, alpha, next, space.scratch);
  mix(1.0, next, -1.0, alpha, change);
  if (change.empty()) return 0.0;
  // D1: what the step adds to the dual.
  double gain = -0.5 * q * squared_norm(change) - 0.5 * loss.smoothing * (squared_norm(next) - squared_norm(alpha));
  if (loss.entropic()) {
    gain += worth(loss, delta, y, next, space.scratch) - worth(loss, delta, y, alpha, space.scratch);
    for (const auto& [j, value] : change) gain -= value * (s[j] - s[y]);
    if (!(gain > 0.0)) {  // its step is found by iteration: rounding may have made it one down
      change.clear();
      return 0.0;
    }
  } else {
    for (const auto& [j, value] : change) gain -= value * (margin(delta, j, y) + (s[j] - s[y]));
  }
  A.assign(i, next);
  return gain;
}

double HostBlockAscent::curved_step(std::int64_t i, double* s, double factor, HostDual& A, SparseRow& change,
                                    Space& space) {
  space.moved.assign(A[i].begin(), A[i].end());
  const double share = share_[static_cast<std::size_t>(i)];
  const double gain = curved_->take(problem_, *scores_, i, s, factor, share, space.moved, space.scratch);
  mix(1.0, space.moved, -1.0, A[i], change);
  A.assign(i, space.moved);
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
  state("order_ends", ends_);
  state.count("order_ascended", ascended_);
  state("order_part_gain", part_gain_);
  state("visited", visited_);
  state.count("resting", resting_);
  state.count("groups", groups_, most_groups_);
  state("gamma_sum", gamma_sum_);
  state.count("gamma_count", gamma_count_, batches_per_judgement);
  state("quiet", quiet_);
  if (state.restoring()) {
    check_order(state);
    entered_.reset();
  }
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
  if (groups_ < 1) state.refuse("groups");
  expected *= scores_->visits();
  std::int64_t end = 0;  // no part is empty
  const bool ends =
      std::all_of(ends_.begin(), ends_.end(), [&](std::int64_t next) { return std::exchange(end, next) < next; });
  if (!ends || end != size) state.refuse("order_ends");
  if (!rows || (size != 0 && size != expected) || visited_ < 0 || visited_ > size) state.refuse("order");
}

}  // namespace topwolf
