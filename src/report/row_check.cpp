// The definitions of one example, in plain loops. See row_check.hpp.
#include "report/row_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "report/oracle_row.hpp"

namespace topwolf {
namespace {

template <class Real>
using Row = std::vector<Real>;

template <class Real>
constexpr Real unit_roundoff = std::numeric_limits<Real>::epsilon() / 2;

template <class Real>
Row<Real> padded_rho(const Loss& loss, std::size_t m) {
  Row<Real> rho(loss.rho.begin(), loss.rho.end());
  rho.resize(m, 0);
  return rho;
}

template <class Real>
Real sum(const Row<Real>& values) {
  return std::accumulate(values.begin(), values.end(), Real{0});
}

template <class Real>
Real largest_size(std::span<const Real> values) {
  Real largest = 0;
  for (const Real x : values) largest = std::max(largest, std::abs(x));
  return largest;
}

// z = delta + s - s_y, and `more`: what `off` and the rounding of these sums can have taken from it, and once again
// what rounding does to any of the sums below that are made of z and of numbers up to four times as large. Phi and its
// envelope grow with every z. A sum that is computed here is the exact one of some z' within that, hence not below
// the true z: whatever is a bound at z' is one. z_y is 0.
template <class Real>
Row<Real> margins(const Loss& loss, const RowProblem<Real>& row, Real& more, Real& size) {
  size = largest_size(row.delta) + 2 * (largest_size(row.s) + row.off);
  more = 2 * row.off + static_cast<Real>(8 * loss.rho.size() + 64) * unit_roundoff<Real> * size;
  Row<Real> z(row.s.size());
  for (std::size_t j = 0; j < z.size(); ++j) z[j] = row.delta[j] + row.s[j] - row.s[row.y] + more;
  z[row.y] = 0;
  return z;
}

// L1, L2.
template <class Real>
Real ranked_sum(const Loss& loss, Row<Real> z) {
  const std::size_t K = loss.rho.size();
  std::partial_sort(z.begin(), z.begin() + static_cast<std::ptrdiff_t>(K), z.end(), std::greater<>());
  Real total = 0;
  for (std::size_t r = 0; r < K; ++r) {
    total += static_cast<Real>(loss.rho[r]) * (loss.family == Family::usunier ? std::max(z[r], Real{0}) : z[r]);
  }
  return total < 0 ? 0 : total;  // what is no number stays none
}

// Phi at z, or, of an oracle, a number that it is not above.
template <class Real>
Real plain_loss(const Loss& loss, const Row<Real>& z, std::int64_t y) {
  if (!loss.oracle) return ranked_sum(loss, z);
  const long double bound = oracle_bound(loss, LongRow(z.begin(), z.end()), y);
  return static_cast<Real>(bound) * (1 + 2 * unit_roundoff<Real>);
}

// The places of v, largest value first.
template <class Real>
std::vector<std::size_t> ranking(const Row<Real>& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] > v[b]; });
  return order;
}

// The non-increasing sequence nearest to v: neighbours out of order are pooled into their mean.
template <class Real>
Row<Real> nearest_non_increasing(const Row<Real>& v) {
  struct Pool {
    Real total;
    std::size_t count;
    Real mean() const { return total / static_cast<Real>(count); }
  };
  std::vector<Pool> pools;
  for (const Real value : v) {
    Pool pool{value, 1};
    while (!pools.empty() && pools.back().mean() <= pool.mean()) {
      pool = {pools.back().total + pool.total, pools.back().count + pool.count};
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  Row<Real> result;
  for (const Pool& pool : pools) result.insert(result.end(), pool.count, pool.mean());
  return result;
}

// The zero of a non-increasing function on [low, high], to the last bit; an end if it has none inside.
template <class Real, class F>
Real falling_root(Real low, Real high, const F& f) {
  if (f(low) <= 0) return low;
  if (f(high) >= 0) return high;
  for (;;) {
    const Real middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (f(middle) > 0 ? low : high) = middle;
  }
}

// Usunier: maximise <b, beta> - |beta|^2/2 - T^2/2 with T = sum(beta), over beta >= 0 whose k largest sum to at most
// rho_1 + .. + rho_k. For a price theta on T in place of T^2/2 the maximiser is max(b - theta, 0) - max(g - theta, 0),
// b sorted and g nearest to b - rho; the right price is the T it brings about.
template <class Real>
Row<Real> usunier_maximiser(const Row<Real>& rho, const Row<Real>& b, std::int64_t y) {
  std::vector<std::size_t> order = ranking(b);
  std::erase(order, static_cast<std::size_t>(y));
  Row<Real> shifted;
  for (std::size_t r = 0; r < order.size(); ++r) shifted.push_back(b[order[r]] - rho[r]);
  const Row<Real> g = nearest_non_increasing(shifted);
  const auto beta_at = [&](Real theta) {
    Row<Real> beta(b.size(), 0);
    for (std::size_t r = 0; r < order.size(); ++r) {
      beta[order[r]] = std::max(b[order[r]] - theta, Real{0}) - std::max(g[r] - theta, Real{0});
    }
    return beta;
  };
  return beta_at(falling_root(Real{0}, sum(rho), [&](Real theta) { return sum(beta_at(theta)) - theta; }));
}

// Top-k: for each zeta the beta nearest to v, v_j = b_j and v_y = zeta R, among those majorised by zeta rho. Its
// distance F(zeta) is convex with F' = R x_y - sum_r rho_r x_(r), x = v - beta.
template <class Real>
Row<Real> top_k_maximiser(const Row<Real>& rho, const Row<Real>& b, std::int64_t y) {
  const Real R = sum(rho);
  const auto residual_at = [&](Real zeta) {
    Row<Real> v = b;
    v[y] = zeta * R;
    const std::vector<std::size_t> order = ranking(v);
    Row<Real> shifted(v.size());
    for (std::size_t r = 0; r < order.size(); ++r) shifted[r] = v[order[r]] - zeta * rho[r];
    const Row<Real> sorted = nearest_non_increasing(shifted);
    Row<Real> x(v.size());
    for (std::size_t r = 0; r < order.size(); ++r) x[order[r]] = sorted[r];
    return x;
  };
  const auto falling_slope = [&](Real zeta) {
    Row<Real> x = residual_at(zeta);
    Real slope = -R * x[y];
    std::sort(x.begin(), x.end(), std::greater<>());
    for (std::size_t r = 0; r < x.size(); ++r) slope += rho[r] * x[r];
    return slope;
  };
  const Row<Real> x = residual_at(falling_root(Real{0}, Real{1}, falling_slope));
  Row<Real> beta(b.size());
  for (std::size_t j = 0; j < b.size(); ++j) beta[j] = b[j] - x[j];
  return beta;
}

// How the top-k family's beta_y must fit in (L9). Equal sums give beta_y = zeta R - S, with S the sum of the others.
// The k largest of the whole vector are the k largest of the others, or the k - 1 largest and beta_y; with B_k and r_k
// the sums of the k largest others and rho, the conditions are, for every k,
//   B_k <= zeta r_k    and    zeta (R - r_k) <= S - B_(k-1).
// zeta is the smallest that meets the first kind. Where the second fails by e_k, the mixture with a part
// e_k / (zeta rho_k) of zeta rho, put on the ranks of beta, meets all: it has the same zeta, leaves the first kind
// as true as it was, and moves no more than 2 zeta R times that part. Both sides are sums of what comes after rank k,
// in which nothing cancels.
long double label_distance(const Loss& loss, const Row<long double>& beta, long double zeta) {
  const auto& rho = loss.rho;
  const long double R = std::accumulate(rho.begin(), rho.end(), 0.0L);
  long double worst = 0.0L, rho_after = 0.0L;
  long double beta_from = std::accumulate(beta.begin() + static_cast<std::ptrdiff_t>(rho.size() - 1), beta.end(), 0.0L);
  for (std::size_t k = rho.size() - 1; k-- > 0;) {
    rho_after += rho[k + 1];
    beta_from += beta[k];
    worst = std::max(worst, (zeta * rho_after - beta_from) / rho[k]);
  }
  return 2.0L * R * worst;
}

// The beta at which the envelope at z is attained, up to rounding; 0 at y.
template <class Real>
Row<Real> envelope_maximiser(const Loss& loss, const Row<Real>& z, std::int64_t y) {
  const Row<Real> rho = padded_rho<Real>(loss, z.size());
  // Beyond this many times sum(rho) beta changes no digit of the envelope, while an ulp of b would outweigh beta.
  const Real largest = sum(rho) / (1000 * unit_roundoff<Real>);
  Row<Real> b = z;
  for (Real& value : b) value = std::clamp(value / static_cast<Real>(loss.smoothing), -largest, largest);
  Row<Real> beta;
  if (loss.oracle) {
    const LongRow found = oracle_nearest(loss, LongRow(b.begin(), b.end()), y);
    beta.assign(found.begin(), found.end());
  } else {
    beta = loss.family == Family::usunier ? usunier_maximiser(rho, b, y) : top_k_maximiser(rho, b, y);
  }
  for (Real& value : beta) value = std::max(value, Real{0});
  beta[y] = 0;
  return beta;
}

// What the margins become at s + smoothing alpha, alpha = stretch (T e_y - beta) with T = sum(beta): r, the slope at
// beta of what beta is worth.
template <class Real>
struct Moved {
  Row<Real> r;        // r_j = z_j - smoothing (T + beta_j)
  Real furthest = 0;  // of the z
  Real squares = 0;   // smoothing |alpha|^2
};

template <class Real>
Moved<Real> moved(const Loss& loss, const Row<Real>& z, const Row<Real>& beta, std::int64_t y, Real stretch) {
  const Real factor = static_cast<Real>(loss.smoothing) * stretch, T = sum(beta);
  Moved<Real> out{z, 0, factor * T * (stretch * T)};
  for (std::size_t j = 0; j < z.size(); ++j) {
    if (static_cast<std::int64_t>(j) == y) continue;
    const Real step = factor * (T + beta[j]);
    out.r[j] -= step;
    out.furthest = std::max(out.furthest, step);
    out.squares += factor * beta[j] * (stretch * beta[j]);
  }
  return out;
}

// The envelope is the smallest value of Phi(v) + |v - s|^2 / (2 smoothing) over all v, so any alpha whatever gives the
// bound Phi(s + smoothing alpha) + smoothing/2 |alpha|^2: a wrong alpha can only make the number larger. Rounding can
// leave that Phi above 0 by an ulp of z, next to which the envelope may be nothing. An alpha that is longer by a small
// part lies below, at a cost of that part: each is a bound, the least counts.
template <class Real>
Real moved_bound(const Loss& loss, const Row<Real>& z, const Row<Real>& beta, std::int64_t y, Real size) {
  const Real up = 1 + static_cast<Real>(z.size() + 8) * unit_roundoff<Real>;
  Real least = std::numeric_limits<Real>::infinity(), longer = 0;
  while (longer < Real{0.1}) {
    const Moved<Real> at = moved(loss, z, beta, y, 1 + longer);
    if (!(at.furthest <= 3 * size)) break;  // margins() has not counted such sums
    const Real phi = plain_loss(loss, at.r, y);
    least = std::min(least, phi + at.squares / 2 * up);
    if (phi == 0) break;
    longer = std::max(std::numeric_limits<Real>::epsilon(), 4 * longer);
  }
  return least;
}

// The other bound of L4, good where the one above is not: what beta is worth is a concave function of it with slope r
// and curvature of at least smoothing, so that no other beta >= 0 is worth more than r_j^2 / (2 smoothing) for each j
// that can grow, or fall. It takes any beta >= 0.
template <class Real>
Real nearby_bound(const Loss& loss, const Row<Real>& z, const Row<Real>& beta, std::int64_t y) {
  const Real rounding = static_cast<Real>(z.size() + 12) * unit_roundoff<Real>;
  const Moved<Real> at = moved(loss, z, beta, y, Real{1});
  Real value = -at.squares / 2, size = at.squares, left = 0;
  for (std::size_t j = 0; j < z.size(); ++j) {
    const Real lost = static_cast<std::int64_t>(j) == y ? 0 : rounding * (std::abs(z[j]) + at.furthest);
    const Real steep = (beta[j] > 0 ? std::abs(at.r[j]) : std::max(at.r[j], -lost)) + lost;
    left += steep * (steep / (2 * static_cast<Real>(loss.smoothing)));
    value += beta[j] * z[j];
    size += beta[j] * std::abs(z[j]);
  }
  return value + left + rounding * (size + left);
}

// L10, from the largest z on, so that no exponential is above 1. Each is off by a rounding for every unit of its
// exponent, of which there are a few hundred before it is nothing.
template <class Real>
Real log_sum_bound(const Loss& loss, const Row<Real>& z) {
  constexpr Real furthest = 700, nothing = 1e-300;
  const Real T = static_cast<Real>(loss.temperature), terms = static_cast<Real>(z.size());
  const auto top = std::max_element(z.begin(), z.end());
  Real rest = 0;
  for (auto at = z.begin(); at != z.end(); ++at) {
    if (at != top) rest += std::exp(std::max((*at - *top) / T, -furthest));
  }
  return (*top + T * std::log1p(rest)) * (1 + (terms + furthest + 64) * unit_roundoff<Real>)+terms * T * nothing;
}

}  // namespace

template <class Real>
ProvenLoss<Real> proven_loss(const Loss& loss, const RowProblem<Real>& row) {
  const Real up = 1 + 8 * unit_roundoff<Real>, R = sum(padded_rho<Real>(loss, row.s.size()));
  Real more = 0, size = 0;
  const Row<Real> z = margins(loss, row, more, size);
  if (loss.entropic()) {
    const Real most = log_sum_bound(loss, z);
    return {most, most - 2 * more};
  }
  const Real plain = plain_loss(loss, z, row.y) * up;
  if (loss.smoothing == 0.0) return {plain, plain - 2 * more * R};
  const Row<Real> beta = envelope_maximiser(loss, z, row.y);
  const Real moved = moved_bound(loss, z, beta, row.y, size), nearby = nearby_bound(loss, z, beta, row.y);
  const Real most = std::min({plain, moved * up, nearby * up}), T = sum(beta);
  Real worth = 0;  // of beta, which rounding may have left outside of its set: then it is worth too much
  for (std::size_t j = 0; j < z.size(); ++j) {
    worth += beta[j] * (z[j] - static_cast<Real>(loss.smoothing) * (T + beta[j]) / 2);
  }
  return {most, std::min(worth, most) - 2 * more * R};
}

namespace {

// Of an oracle: how far the point that its vertices make is from alpha, in beta; what is not in order counts in full.
RowMiss oracle_miss(const Loss& loss, std::span<const double> alpha, std::int64_t y) {
  LongRow beta(alpha.size(), 0.0L);
  long double total = 0.0L;
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    total += alpha[j];
    if (static_cast<std::int64_t>(j) != y) beta[j] = -static_cast<long double>(alpha[j]);
  }
  // Near the row itself: alpha = -beta but at y, where it is their sum.
  LongRow b = beta;
  const long double sum = ::topwolf::sum(beta);
  for (long double& x : b) x += sum;
  const LongRow near = oracle_nearest(loss, b, y);
  long double apart = std::abs(total);
  for (std::size_t j = 0; j < beta.size(); ++j) apart += std::abs(beta[j] - near[j]);
  const long double R = loss.rho.front(), m = beta.size();
  RowMiss miss;
  miss.ratio = 1.0L;
  miss.infeasibility = static_cast<double>(apart / R);
  miss.distance = apart + (4.0L * m + 80.0L) * std::numeric_limits<long double>::epsilon() * (R + sum + apart);
  return miss;
}

}  // namespace

RowMiss row_miss(const Loss& loss, std::span<const double> alpha, std::int64_t y) {
  const bool nothing = std::all_of(alpha.begin(), alpha.end(), [](double x) { return x == 0.0; });
  if (loss.oracle && !nothing) return oracle_miss(loss, alpha, y);
  Row<long double> beta;
  long double total = 0.0L, negative = 0.0L, size = 0.0L;
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    total += alpha[j];
    size += std::abs(alpha[j]);
    if (static_cast<std::int64_t>(j) == y) continue;
    negative += std::max(alpha[j], 0.0);
    beta.push_back(std::max(-alpha[j], 0.0));
  }
  if (size == 0.0L) return {};
  std::sort(beta.begin(), beta.end(), std::greater<>());
  RowMiss miss;
  long double B = 0.0L, r = 0.0L;
  for (std::size_t k = 0; k < beta.size(); ++k) {
    B += beta[k];
    if (k < loss.rho.size()) r += loss.rho[k];
    miss.ratio = std::max(miss.ratio, B / r);
  }
  const long double R = r, K = loss.rho.size(), m = alpha.size();
  // Every beta below 0 and a sum that is not 0 count in full, however many there are.
  miss.distance = std::abs(total) + 2.0L * negative;
  if (loss.family == Family::top_k) miss.distance += label_distance(loss, beta, miss.ratio);
  miss.infeasibility = static_cast<double>(std::max(miss.ratio - 1.0L, miss.distance / R));
  // rho falls, so that the sum of what comes after rank k is at most K rho_k.
  const long double rounding = (m + 8.0L) * std::numeric_limits<long double>::epsilon();
  miss.distance += rounding * (size + (loss.family == Family::top_k ? 4.0L * K * R * miss.ratio : 0.0L));
  miss.ratio *= 1.0L + rounding;
  return miss;
}

template ProvenLoss<double> proven_loss(const Loss&, const RowProblem<double>&);
template ProvenLoss<long double> proven_loss(const Loss&, const RowProblem<long double>&);

}  // namespace topwolf
