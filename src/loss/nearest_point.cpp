// The nearest point of Q, from vertices that the oracle names (L12): a step of Frank and Wolfe towards the vertex that
// was named last, then to the nearest point that the vertices make, away from those that are not needed. Asking may
// cost far more than that. The point is always a convex combination of vertices and 0: wherever the steps end, it lies
// in Q, and only how near it is depends on them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "loss/oracle.hpp"

namespace topwolf {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

double inner_product(const double* a, const double* b, std::size_t m) {
  double sum = 0.0;
  for (std::size_t j = 0; j < m; ++j) sum += a[j] * b[j];
  return sum;
}

// The squared length without the part along (1, .., 1), which no point of Q changes.
double spread(const std::vector<double>& v) {
  const double mean = std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  double sum = 0.0;
  for (const double x : v) sum += (x - mean) * (x - mean);
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

void look_along(OracleScratch& at) {
  const std::size_t m = at.point.size(), count = at.weights.size();
  at.slope.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    at.slope[i] = inner_product(at.residual.data(), at.vertices.data() + i * m, m);
}

// Moves weight from the vertex that the residual likes least to the one that it likes best, until the two differ by no
// more than `enough`.
void step_in_pairs(OracleScratch& at, double enough, std::size_t most_steps) {
  const std::size_t count = at.weights.size();
  look_along(at);
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

// The change of all weights, of sum 0, after which no two vertices differ any more: by elimination of the inner
// products of the vertices less the first. False where these depend on each other.
bool level(OracleScratch& at) {
  const std::size_t size = at.weights.size() - 1;
  look_along(at);
  auto& H = at.system;
  at.change.assign(size + 1, 0.0);
  H.resize(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      H[i * size + j] = gram_at(at, i + 1, j + 1) - gram_at(at, i + 1, 0) - gram_at(at, j + 1, 0) + gram_at(at, 0, 0);
    }
    at.change[i + 1] = at.slope[i + 1] - at.slope[0];
  }
  for (std::size_t j = 0; j < size; ++j) {  // Cholesky's
    const double whole = H[j * size + j];
    for (std::size_t c = 0; c < j; ++c) H[j * size + j] -= H[j * size + c] * H[j * size + c];
    if (!(H[j * size + j] > 1e-13 * whole)) return false;
    H[j * size + j] = std::sqrt(H[j * size + j]);
    for (std::size_t i = j + 1; i < size; ++i) {
      for (std::size_t c = 0; c < j; ++c) H[i * size + j] -= H[i * size + c] * H[j * size + c];
      H[i * size + j] /= H[j * size + j];
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t c = 0; c < i; ++c) at.change[i + 1] -= H[i * size + c] * at.change[c + 1];
    at.change[i + 1] /= H[i * size + i];
  }
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t r = i + 1; r < size; ++r) at.change[i + 1] -= H[r * size + i] * at.change[r + 1];
    at.change[i + 1] /= H[i * size + i];
    at.change[0] -= at.change[i + 1];
  }
  return true;
}

// Vertices without weight are forgotten.
void drop_idle(OracleScratch& at) {
  const std::size_t m = at.point.size(), count = at.weights.size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(at.weights[i] > 0.0)) continue;
    std::copy_n(at.vertices.begin() + static_cast<std::ptrdiff_t>(i * m), m,
                at.vertices.begin() + static_cast<std::ptrdiff_t>(kept * m));
    at.weights[kept] = at.weights[i];
    at.picked.push_back(i);
    ++kept;
  }
  for (std::size_t r = 0; r < kept; ++r) {  // rows and columns only move up
    for (std::size_t c = 0; c <= r; ++c) at.gram[r * (r + 1) / 2 + c] = gram_at(at, at.picked[r], at.picked[c]);
  }
  at.picked.clear();
  at.weights.resize(kept);
  at.vertices.resize(kept * m);
  at.gram.resize(kept * (kept + 1) / 2);
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

// To the nearest point that the vertices make (Wolfe's minor cycles): as far towards the one of their affine hull as no
// weight falls below 0, the vertex that is left without is dropped, and again. Pairwise steps where that cannot be
// told.
void settle(OracleScratch& at, double enough) {
  while (at.weights.size() > 1) {
    if (!level(at)) return step_in_pairs(at, enough, 1000 + 20 * at.weights.size());
    double part = 1.0;
    std::size_t first = at.weights.size();
    for (std::size_t i = 0; i < at.weights.size(); ++i) {
      if (at.weights[i] + part * at.change[i] >= 0.0) continue;
      part = at.weights[i] / -at.change[i];
      first = i;
    }
    for (std::size_t i = 0; i < at.weights.size(); ++i)
      at.weights[i] = i == first ? 0.0 : std::max(0.0, at.weights[i] + part * at.change[i]);
    drop_idle(at);
    make_point(at);
    if (part == 1.0) return;
  }
}

}  // namespace

void find_nearest(const Loss& loss, std::int64_t y, OracleScratch& at) {
  const std::size_t m = at.target.size(), most_calls = 1000 + 100 * m;  // a polytope's facets can be many and small
  const double reach = loss.rho.front();
  double furthest = reach;
  for (const double x : at.target) furthest = std::max(furthest, std::abs(x));
  // 0 is the first.
  at.vertices.assign(m, 0.0);
  at.weights.assign(1, 1.0);
  at.gram.assign(1, 0.0);
  at.point.assign(m, 0.0);
  at.residual = at.target;
  double least_gap = std::numeric_limits<double>::infinity(), least_apart = least_gap;
  std::size_t again = 0, vain = 0;
  for (std::size_t call = 0; call < most_calls && again <= 3 && vain <= m + 20; ++call) {
    const double size = aim(at, y);
    if (!(size > 4.0 * epsilon * furthest)) return;
    ask_vertex(loss, y, at);
    double gap = 0.0;
    for (std::size_t j = 0; j < m; ++j) gap += at.residual[j] * (at.u[j] - at.point[j]);
    const double nothing = 2.0 * epsilon * reach * size;
    if (!(gap > nothing)) return;
    // The gap may rise on the way, but the point comes nearer with every vertex, until rounding is all there is.
    const double apart = spread(at.residual);
    const bool nearer = apart < (1.0 - 4.0 * epsilon) * least_apart;
    bool known = false;
    const std::size_t place = place_of(at, 1e-13 * reach, known);
    again = gap < 0.5 * least_gap ? 0 : again + known;
    vain = nearer ? 0 : vain + 1;
    least_apart = std::min(least_apart, apart);
    least_gap = std::min(least_gap, gap);
    // The exact step of Frank and Wolfe, so that no vertex is without weight.
    if (at.weights[place] == 0.0) {
      double length2 = 0.0;
      for (std::size_t j = 0; j < m; ++j) length2 += (at.u[j] - at.point[j]) * (at.u[j] - at.point[j]);
      const double gamma = std::min(1.0, gap / length2);
      for (double& weight : at.weights) weight *= 1.0 - gamma;
      at.weights[place] += gamma;
      drop_idle(at);
      make_point(at);
    }
    settle(at, nothing);
    make_point(at);
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
