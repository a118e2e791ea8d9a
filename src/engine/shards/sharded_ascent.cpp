#include "engine/shards/sharded_ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace topwolf {
namespace {

// As within a batch (B2): at gamma = 1/2 a whole step gains nothing.
constexpr double least_gamma = 0.6;
// Shards that are in each other's way raise their curvature, until whole steps are as good as exact ones.
constexpr double poor_gamma = 1.0, good_gamma = 1.3, raise = 1.05, lower = 0.97;
// Of its epoch, what a shard visits between two meetings: sums of longer rounds overshoot.
constexpr double share_of_epoch = 1.0 / 16.0;

}  // namespace

void ShardedEngine::Ascent::begin(const BlockOptions& options, double scores_times) {
  W_.resize(static_cast<std::size_t>(engine_.geometry().dimension), 0.0);
  for (double& w : W_) w = scores_times == 0.0 ? 0.0 : scores_times * w;
  engine_.ask({.verb = ShardVerb::begin, .duals = {static_cast<std::int64_t>(options.seed), options.block_rows}});
  sigma_ = 1.0;
  gap_ = std::numeric_limits<double>::infinity();
  wake_ = false;
  left_ = 0;
}

void ShardedEngine::Ascent::reset(const std::vector<double>& W, const Dual&) {
  W_ = W;
}

BlockAscent::Epoch ShardedEngine::Ascent::begin_epoch(std::int64_t epoch) {
  const ShardAnswer at = engine_.ask({.verb = ShardVerb::epoch, .duals = {epoch}, .numbers = {wake_ ? 1.0 : 0.0}});
  wake_ = false;
  left_ = static_cast<std::int64_t>(at.sums[0]);
  return {left_, static_cast<std::int64_t>(at.sums[1])};
}

// B3.
BlockAscent::Step ShardedEngine::Ascent::step(Dual& A) {
  Step out;
  if (left_ == 0) return out;
  const Problem& problem = engine_.problem();
  const ShardAnswer at =
      engine_.ask({.verb = ShardVerb::step, .duals = {number_of(A)}, .numbers = {sigma_, share_of_epoch}, .W = W_});
  out.rows = static_cast<std::int64_t>(at.sums[2]);
  left_ = out.rows == 0 ? 0 : left_ - out.rows;
  gap_ = static_cast<double>(at.sums[3]);
  const double norm2 = static_cast<double>(at.sums[1]);
  if (!(norm2 > 0.0)) {
    engine_.gamma_ = 0.0;
    return out;
  }
  const double lambda_N = problem.lambda * problem.N;
  const double slope =
      static_cast<double>(at.sums[0]) - lambda_N * std::inner_product(W_.begin(), W_.end(), at.W.begin(), 0.0);
  const double curvature =
      lambda_N * std::inner_product(at.W.begin(), at.W.end(), at.W.begin(), 0.0) + problem.loss.smoothing * norm2;
  double gain = take(slope, curvature);
  const double gamma = engine_.gamma_;
  for (std::size_t at_w = 0; gamma > 0.0 && at_w < W_.size(); ++at_w) W_[at_w] += gamma * at.W[at_w];
  out.moved = gamma > 0.0;
  if (problem.loss.entropic() && gamma > 0.0 && gamma < 1.0) {
    gain += static_cast<double>(engine_.ask({.verb = ShardVerb::take}).sums[0]);
  }
  out.gain = gain / problem.N;
  return out;
}

// Returns what the dual gains, times N.
double ShardedEngine::Ascent::take(double slope, double curvature) {
  const double best = slope / curvature;  // not a number where both are 0, or overflowed: no step
  steer(best);
  const bool whole = best >= least_gamma || (curvature == 0.0 && slope > 0.0);
  const double gamma = whole ? 1.0 : best > 0.0 ? best : 0.0;
  engine_.gamma_ = gamma;
  return gamma > 0.0 ? gamma * (slope - 0.5 * gamma * curvature) : 0.0;
}

void ShardedEngine::Ascent::steer(double gamma) {
  if (gamma < poor_gamma) sigma_ *= raise;
  if (gamma > good_gamma) sigma_ = std::max(1.0, lower * sigma_);
}

void ShardedEngine::Ascent::exchange(State& state) {
  state("common_weights", W_, {engine_.geometry().dimension});
  state("sigma", sigma_);
  state("gap", gap_);
  state("wake", wake_);
  state.count("left", left_);
  if (!(sigma_ >= 1.0) || !std::isfinite(sigma_)) state.refuse("sigma");
  engine_.exchange_states(state, "ascent", ShardVerb::save_ascent, ShardVerb::restore_ascent, {});
}

}  // namespace topwolf
