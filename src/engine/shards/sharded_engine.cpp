#include "engine/shards/sharded_engine.hpp"

#include <utility>

#include "core/fail.hpp"
#include "engine/shards/sharded_ascent.hpp"

namespace topwolf {
namespace {

double number(long double sum) {
  return static_cast<double>(sum);
}

}  // namespace

std::unique_ptr<ShardedEngine> ShardedEngine::make(const Problem& problem, std::unique_ptr<ShardGroup> shards) {
  const ShardAnswer at = shards->ask({.verb = ShardVerb::geometry});
  if (at.lost) throw ShardLost{};
  // Sums over shards are added up in fewer steps than there are rows, but an empty shard is a step, too.
  constexpr std::int64_t levels = 64;
  Geometry geometry;
  geometry.terms = static_cast<std::int64_t>(at.sums[0]) + levels;
  geometry.dimension = static_cast<std::int64_t>(at.most[0]);
  geometry.epsilon = at.most[1];
  geometry.coupling = at.most[2];
  geometry.growth = at.most[3];
  geometry.offset = at.most[4];
  return std::unique_ptr<ShardedEngine>(new ShardedEngine(problem, geometry, at.most[5] == 0.0, std::move(shards)));
}

ShardedEngine::ShardedEngine(const Problem& problem, const Geometry& geometry, bool single,
                             std::unique_ptr<ShardGroup> shards)
    : Engine(problem, geometry), single_(single), shards_(std::move(shards)) {}

ShardedEngine::~ShardedEngine() = default;

// What is on its way to the shards has arrived when all have answered.
ShardAnswer ShardedEngine::ask(ShardQuestion question) {
  question.gamma = gamma_;
  question.dropped = *dropped_;
  ShardAnswer answer = shards_->ask(question);
  if (answer.lost) throw ShardLost{};
  gamma_ = 1.0;
  dropped_->erase(dropped_->begin(), dropped_->begin() + static_cast<std::ptrdiff_t>(question.dropped.size()));
  return answer;
}

void ShardedEngine::set_problem(const Problem& problem) {
  Engine::set_problem(problem);
  shards_->set_problem(problem);
}

void ShardedEngine::set_should_stop(std::function<bool()> should_stop) {
  shards_->set_should_stop(should_stop);
  Engine::set_should_stop(std::move(should_stop));
}

PassSums ShardedEngine::pass(const std::vector<double>& W, Direction direction, const Dual* A, Dual* U,
                             std::vector<double>& W_U) {
  stop_if_asked();
  ShardAnswer at = ask({.verb = ShardVerb::pass,
                        .duals = {number_of(A), number_of(U)},
                        .numbers = {direction == Direction::vertex ? 0.0 : 1.0},
                        .W = W});
  W_U = std::move(at.W);
  return {number(at.sums[0]), number(at.sums[1]), number(at.sums[2]),
          number(at.sums[3]), number(at.sums[4]), number(at.sums[5])};
}

AscentSums ShardedEngine::ascend(const std::vector<double>& W, const Extrapolation& A_mu, double q, Dual& A_next,
                                 std::vector<double>& W_next) {
  stop_if_asked();
  ShardAnswer at = ask({.verb = ShardVerb::ascend,
                        .duals = {number_of(A_mu.A), number_of(A_mu.A_old), number_of(A_next)},
                        .numbers = {A_mu.mu, q},
                        .W = W});
  W_next = std::move(at.W);
  return {number(at.sums[0]), number(at.sums[1]), number(at.sums[2]), number(at.sums[3])};
}

LossSum ShardedEngine::loss_sum(const std::vector<double>& W, const AtRows& wanted) {
  ShardAnswer at = ask({.verb = ShardVerb::loss_sum,
                        .duals = {number_of(wanted.A)},
                        .numbers = {wanted.ascent ? 1.0 : 0.0, wanted.ranks ? 1.0 : 0.0, wanted.least ? 1.0 : 0.0},
                        .W = W});
  if (wanted.ranks) *wanted.ranks = std::move(at.ranks);
  if (wanted.ascent) ascent_->see_gap(number(at.sums[3]));
  return {at.sums[0], at.sums[1], at.sums[2]};
}

long double ShardedEngine::loss_sum_at_zero() {
  return ask({.verb = ShardVerb::loss_sum_at_zero}).sums[0];
}

void ShardedEngine::weights_of(const Dual& A, std::vector<double>& W) {
  W = ask({.verb = ShardVerb::weights_of, .duals = {number_of(A)}}).W;
}

void ShardedEngine::round_weights(std::vector<double>& W) const {
  if (!single_) return;
  for (double& w : W) w = static_cast<double>(static_cast<float>(w));
}

Curvature ShardedEngine::curvature() {
  const ShardAnswer at = ask({.verb = ShardVerb::curvature});
  return {at.most[0], number(at.sums[0]), number(at.sums[1]), number(at.sums[2])};
}

BlockAscent& ShardedEngine::block_ascent() {
  if (!ascent_) ascent_ = std::make_unique<Ascent>(*this);
  return *ascent_;
}

std::unique_ptr<Dual> ShardedEngine::make_dual() {
  const std::int64_t number = next_dual_++;
  ask({.verb = ShardVerb::make_dual, .duals = {number}});
  return std::make_unique<ShardedDual>(number, dropped_);
}

void ShardedEngine::mix(double of_U, const Dual& U, double of_A, Dual& A) {
  ask({.verb = ShardVerb::mix, .duals = {number_of(U), number_of(A)}, .numbers = {of_U, of_A}});
}

void ShardedEngine::scale(double t, Dual& A) {
  ask({.verb = ShardVerb::scale, .duals = {number_of(A)}, .numbers = {t}});
}

DualSums ShardedEngine::sums(const Dual& A) {
  const ShardAnswer at = ask({.verb = ShardVerb::sums, .duals = {number_of(A)}});
  return {number(at.sums[0]), number(at.sums[1])};
}

InsideSums ShardedEngine::put_inside(Dual& A) {
  const ShardAnswer at = ask({.verb = ShardVerb::put_inside, .duals = {number_of(A)}});
  return {at.sums[0], at.sums[1], at.sums[2], at.sums[3], at.sums[4], at.most[0], at.worst_row, at.worst};
}

void ShardedEngine::project(const SparseRows& rows, Dual& A) {
  ask({.verb = ShardVerb::project, .duals = {number_of(A)}, .rows = rows});
}

SparseRows ShardedEngine::rows_of(const Dual& A) {
  return ask({.verb = ShardVerb::rows_of, .duals = {number_of(A)}}).rows;
}

void ShardedEngine::exchange(State& state, std::string_view name, Dual& A) {
  exchange_states(state, name, ShardVerb::save_dual, ShardVerb::restore_dual, {number_of(A)});
}

// A state for each shard, as it is there.
void ShardedEngine::exchange_states(State& state, std::string_view name, ShardVerb save, ShardVerb restore,
                                    std::vector<std::int64_t> duals) {
  std::vector<std::string> states;
  if (!state.restoring()) states = ask({.verb = save, .duals = duals}).states;
  state.within(name, [&](State& of_shards) {
    auto count = static_cast<std::int64_t>(states.size());
    of_shards("shards", count);
    if (count < 1 || count > (std::int64_t{1} << 24)) of_shards.refuse("shards");
    states.resize(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < states.size(); ++k) of_shards(std::to_string(k), states[k]);
  });
  if (state.restoring()) ask({.verb = restore, .duals = std::move(duals), .states = std::move(states)});
}

void ShardedEngine::forget_round(const Dual& A) {
  gamma_ = 0.0;
  ask({.verb = ShardVerb::forget, .duals = {number_of(A)}});
}

}  // namespace topwolf
