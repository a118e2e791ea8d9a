// The definitions of one example, in plain double loops. See row_check.hpp.
#include "report/row_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace topwolf {
namespace {

using Vector = std::vector<double>;

Vector padded_rho(const Loss& loss, std::size_t m) {
  Vector rho = loss.rho;
  rho.resize(m, 0.0);
  return rho;
}

double sum(const Vector& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// z = delta + s - s_y
Vector margins(const RowProblem& row) {
  Vector z(row.s.size());
  for (std::size_t j = 0; j < z.size(); ++j) z[j] = row.delta[j] + row.s[j] - row.s[row.y];
  z[row.y] = 0.0;
  return z;
}

// The places of v, largest value first.
std::vector<std::size_t> ranking(const Vector& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] > v[b]; });
  return order;
}

// The non-increasing sequence nearest to v: neighbours out of order are pooled into their mean.
Vector nearest_non_increasing(const Vector& v) {
  struct Pool {
    double total;
    std::size_t count;
    double mean() const { return total / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (const double value : v) {
    Pool pool{value, 1};
    while (!pools.empty() && pools.back().mean() <= pool.mean()) {
      pool = {pools.back().total + pool.total, pools.back().count + pool.count};
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  Vector result;
  for (const Pool& pool : pools) result.insert(result.end(), pool.count, pool.mean());
  return result;
}

// The zero of a non-increasing function on [low, high], to the last bit; an end if it has none inside.
double falling_root(double low, double high, const std::function<double(double)>& f) {
  if (f(low) <= 0.0) return low;
  if (f(high) >= 0.0) return high;
  for (;;) {
    const double middle = low + 0.5 * (high - low);
    if (middle <= low || middle >= high) return middle;
    (f(middle) > 0.0 ? low : high) = middle;
  }
}

// Usunier: maximise <b, beta> - |beta|^2/2 - T^2/2 with T = sum(beta), over beta >= 0 whose k largest sum to at most
// rho_1 + .. + rho_k. For a price theta on T in place of T^2/2 the maximiser is max(b - theta, 0) - max(g - theta, 0),
// b sorted and g nearest to b - rho; the right price is the T it brings about.
Vector usunier_maximiser(const Vector& rho, const Vector& b, std::int64_t y) {
  std::vector<std::size_t> order = ranking(b);
  std::erase(order, static_cast<std::size_t>(y));
  Vector shifted;
  for (std::size_t r = 0; r < order.size(); ++r) shifted.push_back(b[order[r]] - rho[r]);
  const Vector g = nearest_non_increasing(shifted);
  const auto beta_at = [&](double theta) {
    Vector beta(b.size(), 0.0);
    for (std::size_t r = 0; r < order.size(); ++r) {
      beta[order[r]] = std::max(b[order[r]] - theta, 0.0) - std::max(g[r] - theta, 0.0);
    }
    return beta;
  };
  return beta_at(falling_root(0.0, sum(rho), [&](double theta) { return sum(beta_at(theta)) - theta; }));
}

// Top-k: for each zeta the beta nearest to v, v_j = b_j and v_y = zeta R, among those majorised by zeta rho. Its
// distance F(zeta) is convex with F' = R x_y - sum_r rho_r x_(r), x = v - beta.
Vector top_k_maximiser(const Vector& rho, const Vector& b, std::int64_t y) {
  const double R = sum(rho);
  const auto residual_at = [&](double zeta) {
    Vector v = b;
    v[y] = zeta * R;
    const std::vector<std::size_t> order = ranking(v);
    Vector shifted(v.size());
    for (std::size_t r = 0; r < order.size(); ++r) shifted[r] = v[order[r]] - zeta * rho[r];
    const Vector sorted = nearest_non_increasing(shifted);
    Vector x(v.size());
    for (std::size_t r = 0; r < order.size(); ++r) x[order[r]] = sorted[r];
    return x;
  };
  const auto falling_slope = [&](double zeta) {
    Vector x = residual_at(zeta);
    double slope = -R * x[y];
    std::sort(x.begin(), x.end(), std::greater<>());
    for (std::size_t r = 0; r < x.size(); ++r) slope += rho[r] * x[r];
    return slope;
  };
  const Vector x = residual_at(falling_root(0.0, 1.0, falling_slope));
  Vector beta(b.size());
  for (std::size_t j = 0; j < b.size(); ++j) beta[j] = b[j] - x[j];
  return beta;
}

// sums[k] = the sum of the k largest values of beta.
Vector sums_of_largest(Vector beta) {
  std::sort(beta.begin(), beta.end(), std::greater<>());
  Vector sums{0.0};
  for (const double value : beta) sums.push_back(sums.back() + value);
  return sums;
}

// Some beta_y must complete beta to a vector majorised by zeta rho. Equal sums give beta_y = zeta R - S with S the sum
// of the others. The k largest of the whole vector are the k largest of the others, or the k - 1 largest and beta_y;
// so, with B_k the sum of the k largest others and r_k = rho_1 + .. + rho_k, the conditions are, for every k < m,
//   B_k <= zeta r_k    and    zeta (R - r_k) <= S - B_(k-1),
// all linear in zeta: the first kind bounds it from below (r_k > 0), the second from above. If any zeta in [0, 1]
// satisfies all, then so does the smallest that satisfies the first kind.
double top_k_violation(const Vector& rho, const Vector& B) {
  const double R = sum(rho);
  double zeta = 0.0;
  double r = 0.0;
  for (std::size_t k = 1; k < B.size(); ++k) {
    r += rho[k - 1];
    zeta = std::max(zeta, B[k] / r);
  }
  zeta = std::min(zeta, 1.0);
  double worst = 0.0;
  r = 0.0;
  for (std::size_t k = 1; k < B.size(); ++k) {
    r += rho[k - 1];
    worst = std::max({worst, B[k] - zeta * r, zeta * (R - r) - (B.back() - B[k - 1])});
  }
  return worst;
}

// beta_y = 0 always completes beta here: making an entry smaller breaks no condition.
double usunier_violation(const Vector& rho, const Vector& B) {
  double worst = B[B.size() - 2] - B.back();  // minus the smallest entry
  double r = 0.0;
  for (std::size_t k = 1; k < B.size(); ++k) {
    r += rho[k - 1];
    worst = std::max(worst, B[k] - r);
  }
  return std::max(worst, 0.0);
}

}  // namespace

double plain_loss(const Loss& loss, const RowProblem& row) {
  Vector z = margins(row);
  std::sort(z.begin(), z.end(), std::greater<>());
  const Vector rho = padded_rho(loss, z.size());
  double total = 0.0;
  for (std::size_t r = 0; r < z.size(); ++r) {
    total += rho[r] * (loss.family == Family::usunier ? std::max(z[r], 0.0) : z[r]);
  }
  return std::max(total, 0.0);
}

namespace {

constexpr double most_ulps = 1 << 20;  // 2e-10

// The alpha at which the envelope is attained, up to rounding.
Vector envelope_maximiser(const Loss& loss, const RowProblem& row) {
  const Vector rho = padded_rho(loss, row.s.size());
  // Beyond this many times sum(rho) alpha changes no digit of the envelope, while an ulp of b would outweigh alpha.
  const double largest = 1e13 * sum(rho);
  Vector b = margins(row);
  for (double& value : b) value = std::clamp(value / loss.smoothing, -largest, largest);
  Vector alpha = loss.family == Family::usunier ? usunier_maximiser(rho, b, row.y) : top_k_maximiser(rho, b, row.y);
  alpha[row.y] = 0.0;
  const double others = sum(alpha);
  for (double& value : alpha) value = -value;
  alpha[row.y] = others;
  return alpha;
}

// The envelope is the smallest value of Phi(v) + |v - s|^2 / (2 smoothing) over all v, so any alpha whatever gives the
// bound Phi(s + smoothing alpha) + smoothing/2 |alpha|^2: a wrong alpha can only make the number larger.
double envelope_bound(const Loss& loss, const RowProblem& row, const Vector& alpha, double stretch) {
  Vector v(row.s.begin(), row.s.end());
  double squares = 0.0;  // times smoothing
  for (std::size_t j = 0; j < v.size(); ++j) {
    const double step = loss.smoothing * (stretch * alpha[j]);
    v[j] += step;
    squares += step * (stretch * alpha[j]);
  }
  return plain_loss(loss, {row.delta, v, row.y}) + 0.5 * squares;
}

}  // namespace

double smoothed_loss(const Loss& loss, const RowProblem& row) {
  if (loss.smoothing == 0.0) return plain_loss(loss, row);
  const Vector alpha = envelope_maximiser(loss, row);
  double least = std::min(plain_loss(loss, row), envelope_bound(loss, row, alpha, 1.0));
  // Rounding can leave Phi(s + smoothing alpha) above 0 by an ulp of s, next to which a large smoothing makes the whole
  // envelope vanish. An alpha longer by some ulps lies below, at a cost of as many ulps: each is a bound, the least
  // counts.
  for (double ulps = 1.0; ulps <= most_ulps; ulps *= 4.0) {
    least = std::min(least, envelope_bound(loss, row, alpha, 1.0 + ulps * std::numeric_limits<double>::epsilon()));
  }
  return least;
}

double row_infeasibility(const Loss& loss, std::span<const double> alpha, std::int64_t y) {
  Vector beta;
  double total = 0.0;
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    total += alpha[j];
    if (static_cast<std::int64_t>(j) != y) beta.push_back(-alpha[j]);
  }
  const Vector rho = padded_rho(loss, alpha.size());
  const Vector B = sums_of_largest(beta);
  const double violation = loss.family == Family::usunier ? usunier_violation(rho, B) : top_k_violation(rho, B);
  return std::max(std::abs(total), violation) / sum(rho);
}

}  // namespace topwolf
