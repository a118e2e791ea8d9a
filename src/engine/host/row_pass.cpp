#include "engine/host/row_pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace topwolf {
namespace {

template <class T>
double row_loss(const Problem& problem, std::int64_t i, const T* s, RowSpace& space) {
  const Loss& loss = problem.loss;
  const std::int64_t m = problem.m, y = problem.label(i);
  if (loss.smoothing > 0.0) return envelope(loss, problem.margins(i), s, m, y, space.u, space.scratch);
  return vertex(loss, problem.margins(i), s, m, y, space.u, space.scratch).phi;
}

// F4: the envelope at s, then the direction at s + smoothing alpha, and what the line search needs.
template <class T>
void smoothed_row(const Problem& problem, std::int64_t i, T* s, Direction direction, RowView alpha, RowSpace& space,
                  PassSums& sums) {
  const Loss& loss = problem.loss;
  const RowMargins delta = problem.margins(i);
  const std::int64_t m = problem.m, y = problem.label(i);
  const double omega = problem.weight(i);
  sums.phi += omega * envelope(loss, delta, s, m, y, space.u, space.scratch);
  for (const auto& [j, value] : alpha) s[j] += static_cast<T>(loss.smoothing * value);
  if (direction == Direction::vertex) vertex(loss, delta, s, m, y, space.u, space.scratch);
  double slope = 0.0;
  mix(1.0, space.u, -1.0, alpha, space.step);
  for (const auto& [j, value] : space.step) slope -= value * (margin(delta, j, y) + static_cast<double>(s[j]));
  sums.slope += omega * slope;
  sums.distance2 += omega * squared_norm(space.step);
  sums.c_u += omega * dot_c(delta, y, space.u);
  sums.c_alpha += omega * dot_c(delta, y, alpha);
  sums.alpha_norm2 += omega * squared_norm(alpha);
}

}  // namespace

template <class T>
void pass_row(const Problem& problem, std::int64_t i, T* s, Direction direction, RowView alpha, RowSpace& space,
              PassSums& sums) {
  if (problem.loss.smoothing > 0.0) {
    smoothed_row(problem, i, s, direction, alpha, space, sums);
    return;
  }
  const auto [phi, c_u] =
      vertex(problem.loss, problem.margins(i), s, problem.m, problem.label(i), space.u, space.scratch);
  sums.phi += problem.weight(i) * phi;
  sums.c_u += problem.weight(i) * c_u;
}

template <class T>
void ascend_row(const Problem& problem, std::int64_t i, const T* s, RowView alpha, RowView alpha_old, double mu,
                double q, SparseRow& next, RowSpace& space, AscentSums& sums) {
  const RowMargins delta = problem.margins(i);
  const std::int64_t y = problem.label(i);
  const double omega = problem.weight(i);
  sums.phi += omega * row_loss(problem, i, s, space);
  mix(1.0 + mu, alpha, -mu, alpha_old, space.v);
  block_step(problem.loss, delta, s, problem.m, y, q, space.v, next, space.scratch);
  sums.c_alpha += omega * dot_c(delta, y, next);
  sums.alpha_norm2 += omega * squared_norm(next);
  mix(1.0, next, -1.0, space.v, space.step);
  sums.distance2 += omega * squared_norm(space.step);
}

// Each score is off by `terms` roundings of the longest that it can be, and by a few for each of the K ranks. The loss
// grows with them by at most sum(rho), and the envelope by the beta it has and those it can gain on the way.
LossSum certified_row(const Problem& problem, std::int64_t i, const double* s, double longest, std::int64_t terms,
                      RowSpace& space) {
  constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
  if (!std::all_of(s, s + problem.m, [](double x) { return std::isfinite(x); })) return {NAN, 0.0};
  const LossBound at =
      loss_bound(problem.loss, problem.margins(i), s, problem.m, problem.label(i), space.u, space.scratch);
  const auto K = static_cast<double>(problem.loss.K());
  const double off = unit_roundoff * longest * (2.0 * static_cast<double>(terms) + 4.0 * K + 40.0);
  double rate = problem.loss.rho_sum();
  if (problem.loss.smoothing > 0.0) {
    rate = std::min(rate, at.beta_sum + static_cast<double>(problem.m) * off / problem.loss.smoothing);
  }
  return {at.phi, rate * off + unit_roundoff * (K + 8.0) * at.phi};
}

std::int32_t rank(const double* s, std::int64_t m, std::int64_t y) {
  std::int32_t before = 0;
  for (std::int64_t j = 0; j < m; ++j) before += s[j] > s[y] || (s[j] == s[y] && j < y) ? 1 : 0;
  return before;
}

void add(const PassSums& part, PassSums& total) {
  total.phi += part.phi;
  total.c_u += part.c_u;
  total.c_alpha += part.c_alpha;
  total.alpha_norm2 += part.alpha_norm2;
  total.slope += part.slope;
  total.distance2 += part.distance2;
}

void add(const AscentSums& part, AscentSums& total) {
  total.phi += part.phi;
  total.c_alpha += part.c_alpha;
  total.alpha_norm2 += part.alpha_norm2;
  total.distance2 += part.distance2;
}

template void pass_row(const Problem&, std::int64_t, float*, Direction, RowView, RowSpace&, PassSums&);
template void pass_row(const Problem&, std::int64_t, double*, Direction, RowView, RowSpace&, PassSums&);
template void ascend_row(const Problem&, std::int64_t, const float*, RowView, RowView, double, double, SparseRow&,
                         RowSpace&, AscentSums&);
template void ascend_row(const Problem&, std::int64_t, const double*, RowView, RowView, double, double, SparseRow&,
                         RowSpace&, AscentSums&);

}  // namespace topwolf
