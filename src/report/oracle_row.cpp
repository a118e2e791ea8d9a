// Wolfe's way to the nearest point of a polytope, in the plainest words.
#include "report/oracle_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/fail.hpp"

namespace topwolf {
namespace {

using Violations = std::vector<double>;

long double dot(const LongRow& a, const LongRow& b) {
  long double sum = 0.0L;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

// The beta of what the oracle names at z; 0 at y.
LongRow named_at(const Loss& loss, const Violations& z, std::int64_t y) {
  constexpr double allowed = 1e-9;
  std::vector<double> u(z.size(), 0.0);
  loss.oracle->vertex(z, y, u);
  const double reach = loss.rho.front();
  LongRow beta(z.size(), 0.0L);
  long double sum = 0.0L;
  bool sound = true;
  for (std::size_t j = 0; j < u.size(); ++j) {
    if (static_cast<std::int64_t>(j) == y) continue;
    sound = sound && u[j] <= allowed * reach && std::isfinite(u[j]);
    beta[j] = std::max(0.0, -u[j]);
    sum += beta[j];
  }
  if (!sound || !(std::abs(u[y] - sum) <= 10.0L * allowed * reach) || !(sum <= reach * (1.0L + allowed))) {
    fail(ErrorKind::option, "the oracle of the loss {} is wrong: what it names where the label is {} is no direction",
         loss.oracle->name(), y);
  }
  return beta;
}

// In alpha, whose entry at y is the sum of the others: <alpha, alpha'>.
long double inner(const LongRow& a, const LongRow& b) {
  long double of_a = 0.0L, of_b = 0.0L;
  for (const long double x : a) of_a += x;
  for (const long double x : b) of_b += x;
  return dot(a, b) + of_a * of_b;
}

}  // namespace

long double oracle_bound(const Loss& loss, const LongRow& z, std::int64_t y) {
  Violations up(z.size());
  double size = 0.0;
  for (std::size_t j = 0; j < z.size(); ++j) {
    up[j] = static_cast<double>(z[j]);
    if (static_cast<long double>(up[j]) < z[j]) up[j] = std::nextafter(up[j], std::numeric_limits<double>::infinity());
    size = std::max(size, std::abs(up[j]));
  }
  if (!std::isfinite(size)) return std::numeric_limits<long double>::quiet_NaN();
  up[static_cast<std::size_t>(y)] = 0.0;
  const long double value = loss.oracle->value(up, y), reach = loss.rho.front();
  long double named = 0.0L;
  const LongRow beta = named_at(loss, up, y);
  for (std::size_t j = 0; j < up.size(); ++j) named += beta[j] * up[j];
  const long double honest = 1e-9L * reach * size;
  if (!(value >= -honest && std::abs(value - named) <= honest)) {
    fail(ErrorKind::option,
         "the oracle of the loss {} is wrong: its value is {:.9g} where the label is {}, but its vertex there is worth "
         "{:.9g}",
         loss.oracle->name(), static_cast<double>(value), y, static_cast<double>(named));
  }
  constexpr long double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
  const auto terms = static_cast<long double>(2 * z.size() + 32);
  return std::max(0.0L, value) + unit_roundoff * terms * reach * size;
}

namespace {

// Of all points sum_i weight_i vertex_i with weights of sum 1, below 0 or not, the one nearest to that of b: the change
// of the weights, from what the vertices say about `missing`, so that its error is a part of the change; by Gauss and
// Jordan on the conditions that no vertex leads on. Where the vertices depend on each other, instead a change that
// leaves the point where it is.
struct Change {
  LongRow of_weights;
  bool moves = true;
};
Change affine_change(const std::vector<LongRow>& vertex, const LongRow& missing) {
  const std::size_t size = vertex.size() + 1;
  std::vector<LongRow> row(size, LongRow(size + 1, 0.0L));
  for (std::size_t i = 0; i + 1 < size; ++i) {
    for (std::size_t j = 0; j + 1 < size; ++j) row[i][j] = inner(vertex[i], vertex[j]);
    row[i][size - 1] = row[size - 1][i] = 1.0L;
    row[i][size] = dot(vertex[i], missing);
  }
  for (std::size_t c = 0; c < size; ++c) {
    std::size_t best = c;
    for (std::size_t r = c; r < size; ++r) best = std::abs(row[r][c]) > std::abs(row[best][c]) ? r : best;
    if (!(std::abs(row[best][c]) > 1e-15L)) {
      LongRow idle(vertex.size(), 0.0L);
      for (std::size_t k = 0; k < std::min(c, vertex.size()); ++k) idle[k] = row[k][c] / row[k][k];
      if (c < vertex.size()) idle[c] = -1.0L;
      return {idle, false};
    }
    std::swap(row[c], row[best]);
    for (std::size_t r = 0; r < size; ++r) {
      if (r == c || row[r][c] == 0.0L) continue;
      const long double factor = row[r][c] / row[c][c];
      for (std::size_t k = c; k <= size; ++k) row[r][k] -= factor * row[c][k];
    }
  }
  LongRow out;
  for (std::size_t i = 0; i + 1 < size; ++i) out.push_back(row[i][size] / row[i][i]);
  return {out};
}

LongRow mixture(const std::vector<LongRow>& vertex, const LongRow& weight, std::size_t m) {
  LongRow beta(m, 0.0L);
  long double total = 0.0L;
  for (const long double w : weight) total += w;
  for (std::size_t i = 0; i < vertex.size(); ++i) {
    for (std::size_t j = 0; j < m; ++j) beta[j] += weight[i] / total * vertex[i][j];
  }
  return beta;
}

// Minus the derivative of |alpha - a|^2 / 2 by beta_j, where a_j = -b_j and a_y = 0.
LongRow missing_at(const LongRow& beta, const LongRow& b, std::int64_t y) {
  const long double sum = std::accumulate(beta.begin(), beta.end(), 0.0L);
  LongRow out(b.size());
  for (std::size_t j = 0; j < b.size(); ++j) out[j] = static_cast<std::int64_t>(j) == y ? 0.0L : b[j] - beta[j] - sum;
  return out;
}

// Wolfe's minor cycles: as far towards the affine weights as none falls below 0, without the vertex that is at 0,
// again.
void settle(std::vector<LongRow>& vertex, LongRow& weight, const LongRow& b, std::int64_t y) {
  while (vertex.size() > 1) {
    const Change change = affine_change(vertex, missing_at(mixture(vertex, weight, b.size()), b, y));
    long double part = change.moves ? 1.0L : std::numeric_limits<long double>::infinity();
    std::size_t first = vertex.size();
    for (std::size_t i = 0; i < vertex.size(); ++i) {
      if (!(change.of_weights[i] < 0.0L) || !(weight[i] / -change.of_weights[i] < part)) continue;
      part = weight[i] / -change.of_weights[i];
      first = i;
    }
    if (!std::isfinite(part)) return;
    for (std::size_t i = 0; i < vertex.size(); ++i) weight[i] = std::max(0.0L, weight[i] + part * change.of_weights[i]);
    if (first == vertex.size()) return;
    vertex.erase(vertex.begin() + static_cast<std::ptrdiff_t>(first));
    weight.erase(weight.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace

LongRow oracle_nearest(const Loss& loss, const LongRow& b, std::int64_t y) {
  constexpr long double epsilon = std::numeric_limits<long double>::epsilon();
  const std::size_t m = b.size(), most_calls = 1000 * m;  // a polytope's facets can be many and small
  const auto own = static_cast<std::size_t>(y);
  const long double reach = loss.rho.front();  // the unit of all that follows
  LongRow target = b;
  target[own] = 0.0L;
  for (long double& x : target) x /= reach;
  long double furthest = 1.0L;
  for (const long double x : target) furthest = std::max(furthest, std::abs(x));
  std::vector<LongRow> vertex{LongRow(m, 0.0L)};  // 0 is one of the directions
  LongRow weight{1.0L}, beta(m, 0.0L);
  long double least_gap = std::numeric_limits<long double>::infinity(), least_apart = least_gap;
  for (std::size_t call = 0, vain = 0; call < most_calls && vain <= m + 20; ++call) {
    const LongRow missing = missing_at(beta, target, y);
    const long double mean = std::accumulate(missing.begin(), missing.end(), 0.0L) / static_cast<long double>(m);
    long double size = 0.0L, apart2 = 0.0L;  // of |alpha - a|^2 what there is but for the part that no alpha changes
    for (const long double x : missing) {
      size = std::max(size, std::abs(x));
      apart2 += (x - mean) * (x - mean);
    }
    if (!(size > 16.0L * epsilon * furthest)) break;
    Violations z(m, 0.0);
    for (std::size_t j = 0; j < m; ++j) z[j] = static_cast<double>(missing[j] / size);
    LongRow named = named_at(loss, z, y);
    for (long double& x : named) x /= reach;
    const long double gap = dot(missing, named) - dot(missing, beta);
    if (!(gap > 16.0L * epsilon * size)) break;
    // The gap may rise on the way, but the point comes nearer with every vertex, until rounding is all there is.
    const bool nearer = apart2 < (1.0L - 4.0L * epsilon) * least_apart;
    vain = nearer || gap < 0.5L * least_gap ? 0 : vain + 1;
    least_apart = std::min(least_apart, apart2);
    least_gap = std::min(least_gap, gap);
    const bool known = std::find(vertex.begin(), vertex.end(), named) != vertex.end();
    if (!known) {
      LongRow step = named;
      for (std::size_t j = 0; j < m; ++j) step[j] -= beta[j];
      const long double gamma = std::min(1.0L, gap / inner(step, step));
      for (long double& w : weight) w *= 1.0L - gamma;
      vertex.push_back(std::move(named));
      weight.push_back(gamma);
    }
    settle(vertex, weight, target, y);
    beta = mixture(vertex, weight, m);
  }
  for (long double& x : beta) x *= reach;
  return beta;
}

}  // namespace topwolf
