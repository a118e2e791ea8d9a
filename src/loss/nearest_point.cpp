// The nearest point of Q, from vertices that the oracle names (L12): pairwise Frank-Wolfe steps, each an exact line
// search along the difference of two vertices. The point is always a convex combination of vertices and 0: wherever the
// steps end, it lies in Q, and only how near it is depends on them.
//
// Asking may cost far more than stepping. So steps go on among the vertices that are known until these have little more
// to give than the one that was named last.
#include <algorithm>
#include <cmath>
#include <limits>

#include "loss/oracle.hpp"

namespace topwolf {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

double inner_product(const double* a, const double* b, std::size_t m) {
  double sum = 0.0;
  for (std::size_t j = 0; j < m; ++j) sum += a[j] * b[j];
  return sum;
}

// <v_i, v_j>.
double& gram_at(OracleScratch& at, std::size_t i, std::size_t j) {
  const std::size_t row = std::max(i, j), column = std::min(i, j);
  return at.gram[row * (row + 1) / 2 + column];
}

// The number of at.u among the vertices, to which it is added where it is new.
std::size_t place_of(OracleScratch& at, double same, bool& known) {
  const std::size_t m = at.u.size(), count = at.weights.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double* const v = at.vertices.data() + i * m;
    known = std::equal(v, v + m, at.u.begin(), [&](double a, double b) { return std::abs(a - b) <= same; });
    if (known) return i;
  }
  at.vertices.insert(at.vertices.end(), at.u.begin(), at.u.end());
  at.weights.push_back(0.0);
  for (std::size_t i = 0; i <= count; ++i) at.gram.push_back(inner_product(at.vertices.data() + i * m, at.u.data(), m));
  return count;
}

// Moves weight from the vertex that the residual likes least to the one that it likes best, until the two differ by no
// more than `enough`.
void step_in_pairs(OracleScratch& at, double enough, std::size_t most_steps) {
  const std::size_t m = at.point.size(), count = at.weights.size();
  at.slope.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    at.slope[i] = inner_product(at.residual.data(), at.vertices.data() + i * m, m);
  for (std::size_t step = 0; step < most_steps; ++step) {
    const auto toward = static_cast<std::size_t>(std::max_element(at.slope.begin(), at.slope.end()) - at.slope.begin());
    std::size_t away = toward;
    for (std::size_t i = 0; i < count; ++i) {
      if (at.weights[i] > 0.0 && at.slope[i] < at.slope[away]) away = i;
    }
    const double gain = at.slope[toward] - at.slope[away];
    const double curvature = gram_at(at, toward, toward) + gram_at(at, away, away) - 2.0 * gram_at(at, toward, away);
    if (!(gain > enough) || !(curvature > 0.0)) return;
    const double gamma = std::min(at.weights[away], gain / curvature);
    at.weights[toward] += gamma;
    at.weights[away] -= gamma;
    for (std::size_t i = 0; i < count; ++i) at.slope[i] -= gamma * (gram_at(at, i, toward) - gram_at(at, i, away));
  }
}

// From the weights, which sum to 1 but for rounding.
void make_point(OracleScratch& at) {
  const std::size_t m = at.point.size();
  double sum = 0.0;
  for (const double weight : at.weights) sum += weight;
  std::fill(at.point.begin(), at.point.end(), 0.0);
  for (std::size_t i = 0; i < at.weights.size(); ++i) {
    if (at.weights[i] == 0.0) continue;
    const double weight = at.weights[i] / sum;
    for (std::size_t j = 0; j < m; ++j) at.point[j] += weight * at.vertices[i * m + j];
  }
  for (std::size_t j = 0; j < m; ++j) at.residual[j] = at.target[j] - at.point[j];
}

// The residual as violations, as large as 1; returns how large they were.
double aim(OracleScratch& at, std::int64_t y) {
  const double own = at.residual[static_cast<std::size_t>(y)];
  double size = 0.0;
  for (const double r : at.residual) size = std::max(size, std::abs(own - r));
  at.z.resize(at.residual.size());
  for (std::size_t j = 0; j < at.z.size(); ++j) at.z[j] = size > 0.0 ? (own - at.residual[j]) / size : 0.0;
  return size;
}

}  // namespace

void find_nearest(const Loss& loss, std::int64_t y, OracleScratch& at) {
  const std::size_t m = at.target.size(), most_calls = 500 + 20 * m;
  const double reach = loss.rho.front();
  double furthest = reach;
  for (const double x : at.target) furthest = std::max(furthest, std::abs(x));
  // 0 is the first.
  at.vertices.assign(m, 0.0);
  at.weights.assign(1, 1.0);
  at.gram.assign(1, 0.0);
  at.point.assign(m, 0.0);
  at.residual = at.target;
  for (std::size_t call = 0; call < most_calls; ++call) {
    const double size = aim(at, y);
    if (!(size > 4.0 * epsilon * furthest)) return;
    ask_vertex(loss, y, at);
    double gap = 0.0;
    for (std::size_t j = 0; j < m; ++j) gap += at.residual[j] * (at.u[j] - at.point[j]);
    const double nothing = 2.0 * epsilon * reach * size;
    if (!(gap > nothing)) return;
    bool known = false;
    const std::size_t place = place_of(at, 1e-13 * reach, known), count = at.weights.size();
    const double before = at.weights[place];
    step_in_pairs(at, known ? nothing : 0.1 * gap, 1000 + 200 * count);
    make_point(at);
    // Named before, and there is nothing to be had from it: rounding is all that is left.
    if (known && at.weights[place] == before) return;
  }
}

void nearest_point(const OracleScratch& at, std::int64_t y, SparseRow& alpha) {
  alpha.clear();
  double pulled = 0.0;
  for (std::size_t j = 0; j < at.point.size(); ++j) {
    if (static_cast<std::int64_t>(j) != y) pulled -= at.point[j];
  }
  for (std::size_t j = 0; j < at.point.size(); ++j) {
    const double value = static_cast<std::int64_t>(j) == y ? pulled : at.point[j];
    if (value != 0.0) alpha.push_back({static_cast<std::int32_t>(j), value});
  }
}

}  // namespace topwolf
