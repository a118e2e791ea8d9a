// The verbs are the engine's own. What is a shard's is the round (B3): its rows step as if the others stood still, with
// their curvature raised, and what becomes of it is decided where all shards are known.
#include "engine/shards/shard.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "core/threads.hpp"

namespace topwolf {
namespace {

constexpr std::int64_t rows_of_piece = 1024;

std::unique_ptr<HostEngine> host_engine(std::unique_ptr<Engine> engine) {
  auto* const host = dynamic_cast<HostEngine*>(engine.get());
  if (!host) fail(ErrorKind::internal, "an engine that keeps its duals elsewhere makes no shards");
  engine.release();
  return std::unique_ptr<HostEngine>(host);
}

double dot(RowView a, RowView b) {
  double sum = 0.0;
  for (auto at = b.begin(); const Entry& entry : a) {
    while (at != b.end() && at->column < entry.column) ++at;
    if (at != b.end() && at->column == entry.column) sum += entry.value * at->value;
  }
  return sum;
}

double weight_of(const Problem& problem) {
  long double sum = 0.0L;
  for (std::int64_t i = 0; i < problem.n; ++i) sum += problem.weight(i);
  return static_cast<double>(sum);
}

}  // namespace

EngineShard::EngineShard(std::int64_t number, std::int64_t first_row, const Problem& problem, const EngineFactory& make,
                         const EngineOptions& options)
    : number_(number),
      first_row_(first_row),
      problem_(problem),
      own_N_(weight_of(problem)),
      threads_(resolve_threads(options.threads)),
      engine_(host_engine(make(problem, options))) {}

void EngineShard::set_problem(const Problem& problem) {
  problem_ = problem;
  own_N_ = weight_of(problem);
  engine_->set_problem(problem);
}

HostDual& EngineShard::dual(std::int64_t number) {
  const auto found = duals_.find(number);
  if (found == duals_.end()) fail(ErrorKind::internal, "a shard was asked about a dual that it never made");
  return *found->second;
}

// B3. With lambda N / sigma in the place of lambda N every change counts sigma times, in scores and curvatures. N is
// that of its own rows, so that a row rests where its share is small among theirs.
Problem EngineShard::rescaled(double sigma) const {
  Problem out = problem_;
  if (own_N_ > 0.0) out.N = own_N_;
  out.lambda = problem_.lambda * problem_.N / (sigma * out.N);
  return out;
}

void EngineShard::copy(const HostDual& from, HostDual& to) const {
  parallel_for((problem_.n + rows_of_piece - 1) / rows_of_piece, threads_, [&](std::int64_t task) {
    const std::int64_t end = std::min(problem_.n, (task + 1) * rows_of_piece);
    for (std::int64_t i = task * rows_of_piece; i < end; ++i) to.assign(i, from[i]);
  });
}

// The whole of the last round, a part of it, or nothing. A whole one leaves every row where its projection put it. The
// entropy of a mixture is more than the mixed entropies: by how much, goes to `out`.
void EngineShard::settle(double gamma, ShardAnswer* out) {
  if (out) out->sums = {0.0L};
  if (pending_ < 0) return;
  const auto found = duals_.find(pending_);
  pending_ = -1;
  if (found == duals_.end() || gamma == 0.0) return;
  auto& A = found->second;
  if (gamma == 1.0) return std::swap(A, now_);
  const double before = out ? engine_->sums(*A).c_alpha : 0.0, after = out ? engine_->sums(*now_).c_alpha : 0.0;
  engine_->mix(gamma, *now_, 1.0 - gamma, *A);
  if (out) out->sums = {engine_->sums(*A).c_alpha - (gamma * after + (1.0 - gamma) * before)};
}

ShardAnswer EngineShard::answer(const ShardQuestion& question) {
  ShardAnswer out;
  const bool forget = question.verb == ShardVerb::forget;
  settle(forget ? 0.0 : question.gamma, question.verb == ShardVerb::take ? &out : nullptr);
  for (const std::int64_t number : question.dropped) duals_.erase(number);
  const auto& duals = question.duals;
  const auto& numbers = question.numbers;
  switch (question.verb) {
    case ShardVerb::geometry: {
      const Geometry& at = engine_->geometry();
      std::vector<double> W{1.0 + std::numeric_limits<double>::epsilon()};
      engine_->round_weights(W);
      out.sums = {static_cast<long double>(at.terms)};
      out.most = {
          static_cast<double>(at.dimension), at.epsilon, at.coupling, at.growth, at.offset, W[0] == 1.0 ? 0.0 : 1.0};
      break;
    }
    case ShardVerb::pass:
      pass(question, out);
      break;
    case ShardVerb::ascend:
      ascend(question, out);
      break;
    case ShardVerb::loss_sum:
      loss_sum(question, out);
      break;
    case ShardVerb::loss_sum_at_zero:
      out.sums = {engine_->loss_sum_at_zero()};
      break;
    case ShardVerb::weights_of:
      engine_->weights_of(dual(duals[0]), out.W);
      break;
    case ShardVerb::curvature: {
      const Curvature at = engine_->curvature();
      out.sums = {at.total, at.lengths, at.plain_lengths};
      out.most = {at.largest};
      break;
    }
    case ShardVerb::forget:
    case ShardVerb::make_dual:
      for (const std::int64_t number : duals) {
        auto& A = duals_[number];
        if (!A) A = std::make_unique<HostDual>(problem_.n);
      }
      break;
    case ShardVerb::mix:
      engine_->mix(numbers[0], dual(duals[0]), numbers[1], dual(duals[1]));
      break;
    case ShardVerb::scale:
      engine_->scale(numbers[0], dual(duals[0]));
      break;
    case ShardVerb::sums: {
      const DualSums sums = engine_->sums(dual(duals[0]));
      out.sums = {sums.c_alpha, sums.alpha_norm2};
      break;
    }
    case ShardVerb::put_inside:
      put_inside(dual(duals[0]), out);
      break;
    case ShardVerb::project:
      project(question.rows, dual(duals[0]));
      break;
    case ShardVerb::rows_of:
      out.rows = engine_->rows_of(dual(duals[0]));
      break;
    case ShardVerb::begin:
      epoch_rows_ = 0;
      engine_->block_ascent().begin({.seed = static_cast<std::uint64_t>(question.duals[0]) +
                                             static_cast<std::uint64_t>(number_) * 0x9e3779b97f4a7c15u,
                                     .block_rows = question.duals[1],
                                     .accelerate = false},
                                    0.0);
      break;
    case ShardVerb::epoch:
      epoch(question, out);
      break;
    case ShardVerb::step:
      step(question, out);
      break;
    case ShardVerb::take:
      break;
    case ShardVerb::describe:
    case ShardVerb::prepare:
    case ShardVerb::problem:
      fail(ErrorKind::internal, "an engine's shard was asked what is its owner's business");
    case ShardVerb::save_dual:
    case ShardVerb::save_ascent:
      save(question, out);
      break;
    case ShardVerb::restore_dual:
    case ShardVerb::restore_ascent:
      restore(question);
      break;
  }
  return out;
}

void EngineShard::pass(const ShardQuestion& question, ShardAnswer& out) {
  const auto direction = question.numbers[0] == 0.0 ? Direction::vertex : Direction::gradient;
  const PassSums sums =
      engine_->pass(question.W, direction, dual_or_none(question.duals[0]), dual_or_none(question.duals[1]), out.W);
  out.sums = {sums.phi, sums.c_u, sums.c_alpha, sums.alpha_norm2, sums.slope, sums.distance2};
}

void EngineShard::ascend(const ShardQuestion& question, ShardAnswer& out) {
  const Extrapolation from{dual(question.duals[0]), dual(question.duals[1]), question.numbers[0]};
  const AscentSums sums = engine_->ascend(question.W, from, question.numbers[1], dual(question.duals[2]), out.W);
  out.sums = {sums.phi, sums.c_alpha, sums.alpha_norm2, sums.distance2};
}

void EngineShard::loss_sum(const ShardQuestion& question, ShardAnswer& out) {
  const auto wants = [&](std::size_t what) { return question.numbers[what] != 0.0; };
  Engine::AtRows wanted{.A = dual_or_none(question.duals[0]), .least = wants(2)};
  if (wants(0)) wanted.ascent = &engine_->block_ascent();
  if (wants(1)) wanted.ranks = &out.ranks;
  const LossSum sums = engine_->loss_sum(question.W, wanted);
  out.sums = {sums.sum, sums.rounding, sums.least, wants(0) ? engine_->block_ascent().gap() : 0.0};
}

void EngineShard::put_inside(HostDual& A, ShardAnswer& out) {
  const InsideSums sums = engine_->put_inside(A);
  out.sums = {sums.c_alpha, sums.alpha_norm2, sums.terms, sums.moved, sums.flushed};
  out.most = {sums.over};
  out.worst = sums.worst_miss;
  out.worst_row = first_row_ + sums.worst_row;
}

// Its own among the rows of all.
void EngineShard::project(const SparseRows& all, HostDual& A) {
  const auto begin = all.row_begin.begin() + first_row_;
  SparseRows own;
  own.row_begin.assign(begin, begin + problem_.n + 1);
  const std::int64_t from = own.row_begin.front(), to = own.row_begin.back();
  for (std::int64_t& at : own.row_begin) at -= from;
  own.column.assign(all.column.begin() + from, all.column.begin() + to);
  own.values.assign(all.values.begin() + from, all.values.begin() + to);
  engine_->project(own, A);
}

void EngineShard::epoch(const ShardQuestion& question, ShardAnswer& out) {
  BlockAscent& ascent = engine_->block_ascent();
  if (question.numbers[0] != 0.0) ascent.wake();
  engine_->set_problem(rescaled(1.0));
  const BlockAscent::Epoch chosen = ascent.begin_epoch(question.duals[0]);
  engine_->set_problem(problem_);
  epoch_rows_ = chosen.rows;
  out.sums = {static_cast<long double>(chosen.rows), static_cast<long double>(chosen.resting)};
}

// B3. A round from the dual as it is, which stays as it is: asked again, or not taken, nothing has happened but that
// rows were visited.
void EngineShard::step(const ShardQuestion& question, ShardAnswer& out) {
  HostDual& A = dual(question.duals[0]);
  if (!now_) now_ = std::make_unique<HostDual>(problem_.n);
  copy(A, *now_);
  pending_ = question.duals[0];
  const double sigma = question.numbers[0], share = question.numbers[1];
  BlockAscent& ascent = engine_->block_ascent();
  engine_->set_problem(rescaled(sigma));
  ascent.reset(question.W, A);
  const auto wanted = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(epoch_rows_)));
  std::int64_t visited = 0;
  while (visited < wanted) {
    const BlockAscent::Step taken = ascent.step(*now_);
    if (taken.rows == 0) break;
    visited += taken.rows;
  }
  engine_->set_problem(problem_);
  measure(A, out);
  out.sums.push_back(static_cast<long double>(visited));
  out.sums.push_back(ascent.gap());
}

// B3. What the round has changed: W(d), and the sums of omega (<c, d> - smoothing <alpha, d>), with softmax the
// entropy's part for <c, d>, and of omega ||d||^2.
void EngineShard::measure(const HostDual& A, ShardAnswer& out) {
  if (!change_) change_ = std::make_unique<HostDual>(problem_.n);
  const Loss& loss = problem_.loss;
  const std::int64_t tasks = (problem_.n + rows_of_piece - 1) / rows_of_piece;
  std::vector<double> slope(static_cast<std::size_t>(tasks), 0.0), norm2 = slope;
  parallel_for(tasks, threads_, [&](std::int64_t task) {
    const std::int64_t end = std::min(problem_.n, (task + 1) * rows_of_piece);
    RowScratch scratch;
    SparseRow d;
    for (std::int64_t i = task * rows_of_piece; i < end; ++i) {
      const RowView before = A[i], after = (*now_)[i];
      mix(1.0, after, -1.0, before, d);
      change_->assign(i, d);
      if (d.empty()) continue;
      const RowMargins delta = problem_.margins(i);
      const std::int64_t y = problem_.label(i);
      const double d2 = squared_norm(d), omega = problem_.weight(i);
      double gain = loss.entropic() ? worth(loss, delta, y, after, scratch) - worth(loss, delta, y, before, scratch)
                                    : dot_c(delta, y, d);
      // <alpha, d> from three lengths would cancel.
      if (loss.smoothing > 0.0) gain -= loss.smoothing * dot(before, d);
      slope[static_cast<std::size_t>(task)] += omega * gain;
      norm2[static_cast<std::size_t>(task)] += omega * d2;
    }
  });
  out.sums = {0.0L, 0.0L};
  for (std::size_t task = 0; task < slope.size(); ++task) {
    out.sums[0] += slope[task];
    out.sums[1] += norm2[task];
  }
  engine_->weights_of(*change_, out.W);
}

void EngineShard::save(const ShardQuestion& question, ShardAnswer& out) {
  State state;
  if (question.verb == ShardVerb::save_dual) {
    engine_->exchange(state, "A", dual(question.duals[0]));
  } else {
    state.count("epoch_rows", epoch_rows_);
    engine_->block_ascent().exchange(state);
  }
  out.states = {state.pack()};
}

void EngineShard::restore(const ShardQuestion& question) {
  State state = State::unpack(question.states.at(static_cast<std::size_t>(number_)), "the checkpoint");
  if (question.verb == ShardVerb::restore_dual) {
    engine_->exchange(state, "A", dual(question.duals[0]));
  } else {
    state.count("epoch_rows", epoch_rows_);
    engine_->block_ascent().exchange(state);
  }
}

}  // namespace topwolf
