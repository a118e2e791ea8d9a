// Pairwise steps in the plainest words: every vertex is kept, every slope summed anew.
#include "report/oracle_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

LongRow oracle_nearest(const Loss& loss, const LongRow& b, std::int64_t y) {
  constexpr long double epsilon = std::numeric_limits<double>::epsilon();
  const std::size_t m = b.size(), most_calls = 1000 + 40 * m;
  const long double reach = loss.rho.front();
  std::vector<LongRow> vertex{LongRow(m, 0.0L)};  // 0 is one of the directions
  LongRow weight{1.0L}, beta(m, 0.0L), missing(m), slope;
  for (std::size_t call = 0; call < most_calls; ++call) {
    // Minus the derivative of |alpha - a|^2 / 2 by beta_j, a_j = -b_j and a_y = 0.
    long double sum = 0.0L, size = 0.0L, furthest = reach;
    for (const long double x : beta) sum += x;
    Violations z(m, 0.0);
    for (std::size_t j = 0; j < m; ++j) {
      const bool own = static_cast<std::int64_t>(j) == y;
      missing[j] = own ? 0.0L : b[j] - beta[j] - sum;
      size = std::max(size, std::abs(missing[j]));
      if (!own) furthest = std::max(furthest, std::abs(b[j]));
    }
    if (!(size > 4.0L * std::numeric_limits<long double>::epsilon() * furthest)) break;
    for (std::size_t j = 0; j < m; ++j) z[j] = static_cast<double>(missing[j] / size);
    LongRow named = named_at(loss, z, y);
    const long double gap = dot(missing, named) - dot(missing, beta), nothing = 1e-3L * epsilon * reach * size;
    if (!(gap > nothing)) break;
    const bool known = std::find(vertex.begin(), vertex.end(), named) != vertex.end();
    if (!known) {
      vertex.push_back(std::move(named));
      weight.push_back(0.0L);
    }
    slope.assign(vertex.size(), 0.0L);
    for (std::size_t i = 0; i < vertex.size(); ++i) slope[i] = dot(missing, vertex[i]);
    bool moved = false;
    for (int step = 0; step < 20000; ++step) {
      const auto to = static_cast<std::size_t>(std::max_element(slope.begin(), slope.end()) - slope.begin());
      std::size_t from = to;
      for (std::size_t i = 0; i < vertex.size(); ++i) {
        if (weight[i] > 0.0L && slope[i] < slope[from]) from = i;
      }
      LongRow step_to = vertex[to];
      for (std::size_t j = 0; j < m; ++j) step_to[j] -= vertex[from][j];
      const long double gain = slope[to] - slope[from], curvature = inner(step_to, step_to);
      if (!(gain > (known ? nothing : 0.1L * gap)) || !(curvature > 0.0L)) break;
      const long double gamma = std::min(weight[from], gain / curvature);
      weight[to] += gamma;
      weight[from] -= gamma;
      for (std::size_t i = 0; i < vertex.size(); ++i) slope[i] -= gamma * inner(vertex[i], step_to);
      moved = true;
    }
    beta.assign(m, 0.0L);
    long double total = 0.0L;
    for (const long double w : weight) total += w;
    for (std::size_t i = 0; i < vertex.size(); ++i) {
      for (std::size_t j = 0; j < m; ++j) beta[j] += weight[i] / total * vertex[i][j];
    }
    if (known && !moved) break;
  }
  return beta;
}

}  // namespace topwolf
