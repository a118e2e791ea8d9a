// What a pass does with one row's scores. Sums of a pass are in double; what a certificate rests on comes with a bound
// on its rounding.
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
  // In place: the scores are used up, and a row has few entries.
  for (const auto& [j, value] : alpha) s[j] += static_cast<T>(loss.smoothing * value);
  if (direction == Direction::vertex) vertex(loss, delta, s, m, y, space.u, space.scratch);
  double slope = 0.0;
  // From the difference and not as a difference of two sums, which would cancel near the optimum.
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
  mix(1.0 + mu, alpha, -mu, alpha_old, space.alpha_mu);
  block_step(problem.loss, delta, s, problem.m, y, q, space.alpha_mu, next, space.scratch);
  sums.c_alpha += omega * worth(problem.loss, delta, y, next, space.scratch);
  sums.alpha_norm2 += omega * squared_norm(next);
  mix(1.0, next, -1.0, space.alpha_mu, space.step);
  sums.distance2 += omega * squared_norm(space.step);
}

template <class T>
void newton_row(const Problem& problem, const Loss& smooth, std::int64_t i, const T* s, RowSpace& space,
                NewtonSums& sums) {
  const RowMargins delta = problem.margins(i);
  const std::int64_t y = problem.label(i);
  const double omega = problem.weight(i);
  if (smooth.smoothing == 0.0) {  // softmax needs none
    const VertexValue at = vertex(smooth, delta, s, problem.m, y, space.u, space.scratch);
    sums.phi += omega * at.phi;
    sums.smoothed += omega * at.phi;
    sums.c_u += omega * at.c_u;
    sums.u_norm2 += omega * squared_norm(space.u);
    return;
  }
  sums.phi += omega * row_loss(problem, i, s, space);
  sums.smoothed += omega * envelope(smooth, delta, s, problem.m, y, space.u, space.scratch);
  sums.c_u += omega * dot_c(delta, y, space.u);
  sums.u_norm2 += omega * squared_norm(space.u);
}

namespace {

// How far rounding can have driven the difference of two scores, whatever the loss does with it afterwards: a few
// roundings of the longest score for each of its terms and each of the K ranks.
double score_error(const Problem& problem, double longest, std::int64_t terms) {
  constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
  const auto count = static_cast<double>(terms);
  const double roundings = 2.0 * count + 4.0 * static_cast<double>(problem.loss.K()) + 40.0;
  return unit_roundoff * roundings * longest + std::numeric_limits<double>::denorm_min() * count;
}

bool all_finite(const double* s, std::int64_t m) {
  return std::all_of(s, s + m, [](double x) { return std::isfinite(x); });
}

// Each score is off by `off` at most. The loss grows with them by at most sum(rho), and the envelope by the beta it has
// and those it can gain on the way. What underflows is off by `least`, and then multiplied or divided by the smoothing.
// Softmax sums m exponentials of numbers of up to 700, each off by as many roundings, or 0 below that.
LossSum bounded_loss(const Problem& problem, const Loss& loss, const LossBound& at, double off) {
  constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
  constexpr double least = std::numeric_limits<double>::denorm_min();
  const auto m = static_cast<double>(problem.m), K = static_cast<double>(loss.K());
  double rate = loss.rho_sum(), flushed = least * m, roundings = K + 8.0;
  if (loss.entropic()) {
    constexpr double furthest = 700.0, vanished = 1e-304;
    roundings = m + furthest + 64.0;
    flushed += vanished * m * loss.temperature;
  }
  if (loss.smoothing > 0.0) {
    rate = std::min(rate, at.beta_sum + m * off / loss.smoothing);
    flushed *= 1.0 + loss.smoothing + 1.0 / loss.smoothing;
  }
  return {at.phi, rate * off + unit_roundoff * roundings * at.phi + at.rounding + flushed};
}

LossSum bounded_loss(const Problem& problem, std::int64_t i, const Loss& loss, const double* s, double off,
                     RowSpace& space) {
  const RowMargins delta = problem.margins(i);
  const LossBound at = loss_bound(loss, delta, s, problem.m, problem.label(i), space.u, space.scratch);
  return bounded_loss(problem, loss, at, off);
}

// Without scores and margins there is nothing that could be rounded.
bool is_nothing(const Problem& problem, std::int64_t i, double longest) {
  return longest == 0.0 && !(largest_margin(problem, i) > 0.0) && !problem.loss.entropic();
}

// Without smoothing a loss is as steep downwards as upwards.
LossSum with_least(LossSum found) {
  found.least = std::max(0.0L, found.sum - found.rounding);
  return found;
}

}  // namespace

namespace {

// The envelope is a maximum over Q (L4), hence not below what any point of Q is worth: here one near the maximiser,
// as far as that misses Q (L9). Each score is off by `off` at most, and no longer than `longest`.
double least_envelope(const Problem& problem, std::int64_t i, const double* s, double off, double longest,
                      RowSpace& space) {
  constexpr long double epsilon = std::numeric_limits<long double>::epsilon();
  const Loss& loss = problem.loss;
  const RowMargins delta = problem.margins(i);
  const std::int64_t y = problem.label(i);
  envelope(loss, delta, s, problem.m, y, space.u, space.scratch);
  const Membership miss = membership(loss, y, space.u, space.scratch);
  long double worth = 0.0L, size = 0.0L, beta_sum = 0.0L, norm2 = 0.0L;
  for (const auto& [j, value] : space.u) {
    if (j == y || value >= 0.0) continue;
    const long double beta = -value, cost = margin(delta, j, y), s_j = s[j], s_y = s[y];
    worth += beta * (cost + s_j - s_y);
    size += beta * (cost + std::abs(s_j) + std::abs(s_y));
    beta_sum += beta;
    norm2 += beta * beta;
  }
  const long double squares = 0.5L * loss.smoothing * (norm2 + beta_sum * beta_sum);
  const long double few = epsilon * static_cast<long double>(space.u.size() + loss.rho.size() + 8);
  worth -= squares + few * (size + squares);
  if (!(worth > 0.0L)) return 0.0;
  // Divided by the ratio it keeps at least that part of its worth; then it moves to Q. What is measured is rounded too,
  // and divided by a rank's weight in the top-k family.
  const bool ranked = loss.family == Family::top_k && loss.rho.size() > 1;
  const long double R = loss.rho_sum(), ratio = miss.ratio, mend = ranked ? 2.0L * R / *(loss.rho.end() - 2) : 0.0L;
  const long double moved = miss.distance + few * (1.0L + mend) * R * ratio;
  const long double steepest = largest_margin(problem, i) + 2.0L * longest + loss.smoothing * (2.0L * beta_sum + moved);
  worth = worth / (std::max(1.0L, ratio) * (1.0L + few)) - moved * steepest - (beta_sum + moved) * off;
  return worth > 0.0L ? static_cast<double>(worth * (1.0L - 1e-15L)) : 0.0;
}

}  // namespace

LossSum certified_row(const Problem& problem, std::int64_t i, const double* s, double longest, std::int64_t terms,
                      RowSpace& space, bool least) {
  if (!all_finite(s, problem.m)) return {NAN, 0.0};
  if (is_nothing(problem, i, longest)) return {0.0, 0.0};
  const double off = score_error(problem, longest, terms);
  LossSum found = bounded_loss(problem, i, problem.loss, s, off, space);
  if (problem.loss.smoothing == 0.0) return with_least(found);
  if (least) found.least = least_envelope(problem, i, s, off, longest, space);
  // An envelope that is nothing beside its loss has no precision left; the loss itself bounds it too.
  Loss sharp = problem.loss;
  sharp.smoothing = 0.0;
  const LossSum plain = bounded_loss(problem, i, sharp, s, off, space);
  if (plain.sum + plain.rounding < found.sum + found.rounding) return {plain.sum, plain.rounding, found.least};
  return found;
}

LossSum certified_loss(const Problem& problem, std::int64_t i, double phi, double longest, std::int64_t terms) {
  if (std::isnan(phi)) return {NAN, 0.0};
  if (is_nothing(problem, i, longest)) return {0.0, 0.0};
  const LossBound at{phi, problem.loss.rho_sum()};
  return with_least(bounded_loss(problem, problem.loss, at, score_error(problem, longest, terms)));
}

double largest_margin(const Problem& problem, std::int64_t i) {
  const RowMargins delta = problem.margins(i);
  if (delta.values) return *std::max_element(delta.values, delta.values + problem.m);
  double largest = 0.0;
  std::int64_t others = problem.m - 1;  // that have no margin of their own
  for (std::int64_t e = 0; e < delta.exceptions; ++e) {
    largest = std::max(largest, delta.exception[e]);
    others -= delta.column[e] != problem.label(i) ? 1 : 0;
  }
  return others > 0 ? std::max(largest, delta.other) : largest;
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

void add(const NewtonSums& part, NewtonSums& total) {
  total.phi += part.phi;
  total.smoothed += part.smoothed;
  total.c_u += part.c_u;
  total.u_norm2 += part.u_norm2;
}

void add(const LossSum& part, LossSum& total) {
  total.sum += part.sum;
  total.rounding += part.rounding;
  total.least += part.least;
}

template void pass_row(const Problem&, std::int64_t, float*, Direction, RowView, RowSpace&, PassSums&);
template void pass_row(const Problem&, std::int64_t, double*, Direction, RowView, RowSpace&, PassSums&);
template void newton_row(const Problem&, const Loss&, std::int64_t, const float*, RowSpace&, NewtonSums&);
template void newton_row(const Problem&, const Loss&, std::int64_t, const double*, RowSpace&, NewtonSums&);
template void ascend_row(const Problem&, std::int64_t, const float*, RowView, RowView, double, double, SparseRow&,
                         RowSpace&, AscentSums&);
template void ascend_row(const Problem&, std::int64_t, const double*, RowView, RowView, double, double, SparseRow&,
                         RowSpace&, AscentSums&);

}  // namespace topwolf
