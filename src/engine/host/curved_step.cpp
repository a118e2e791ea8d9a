// A spectral step: the curvature that the last step met is the guess for the next, and the line search makes good what
// the guess gets wrong.
#include "engine/host/curved_step.hpp"

#include <algorithm>

namespace topwolf {

namespace {

// T H(beta), of softmax; 0 of other losses.
double entropy(const Loss& loss, const RowMargins& delta, std::int64_t y, RowView alpha, RowScratch& scratch) {
  return loss.entropic() ? worth(loss, delta, y, alpha, scratch) - dot_c(delta, y, alpha) : 0.0;
}

}  // namespace

double CurvedStep::take(const Problem& problem, BlockScores& scores, std::int64_t i, double* s, double factor,
                        double share, SparseRow& alpha, RowScratch& scratch) {
  constexpr int most_steps = 20;
  constexpr double enough = 0.1;  // of the share: what is left of it can wait for the next visit
  const Loss& loss = problem.loss;
  const RowMargins delta = problem.margins(i);
  const std::int64_t m = problem.m, y = problem.label(i);
  const double longest = problem.factor(i) * lengths2_[static_cast<std::size_t>(i)];
  spread_.assign(static_cast<std::size_t>(m), 0.0);
  double gained = 0.0;
  for (int t = 0; t < most_steps; ++t) {
    if (t > 0 && gap_share(loss, delta, s, m, y, alpha, next_, scratch) <= enough * share) break;
    block_step(loss, delta, s, m, y, ratio_ * longest, alpha, next_, scratch);
    mix(1.0, next_, -1.0, alpha, step_);
    if (step_.empty()) break;
    scores.spread(i, step_, step_spread_);
    // D1 along the step: slope gamma - curvature gamma^2 / 2.
    double slope = 0.0, curvature = 0.0;
    for (const auto& [j, value] : step_) {
      slope -= value * (margin(delta, j, y) + (s[j] - s[y]));
      curvature += value * factor * step_spread_[static_cast<std::size_t>(j)];
    }
    const double length2 = squared_norm(step_);
    // Never above the bound, and not so small that one flat step would make the next one leap.
    if (longest > 0.0) ratio_ = std::clamp(curvature / (longest * length2), 1e-3, coupling_);
    slope -= 0.5 * loss.smoothing * (squared_norm(next_) - squared_norm(alpha) - length2);
    // Concave: on the way there is at least as much of it as on the straight line.
    const double before = entropy(loss, delta, y, alpha, scratch),
                 rise = entropy(loss, delta, y, next_, scratch) - before;
    slope += rise;
    curvature += loss.smoothing * length2;
    if (!(slope > 0.0)) break;
    const double gamma = curvature > slope ? slope / curvature : 1.0;
    gained += gamma * (slope - 0.5 * gamma * curvature);
    // A whole step ends exactly in Q, where the projection did; a mixture of two points of Q is one up to rounding.
    if (gamma == 1.0) {
      alpha.assign(next_.begin(), next_.end());
    } else {
      mix(gamma, next_, 1.0 - gamma, alpha, mixed_);
      alpha.assign(mixed_.begin(), mixed_.end());
      gained += entropy(loss, delta, y, alpha, scratch) - before - gamma * rise;
    }
    for (std::size_t j = 0; j < spread_.size(); ++j) {
      spread_[j] += gamma * step_spread_[j];
      s[j] += gamma * factor * step_spread_[j];
    }
  }
  return gained;
}

}  // namespace topwolf
