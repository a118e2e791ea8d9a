// The definitions of one example, in plain loops. See row_check.hpp.
#include "report/row_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

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

// z = delta + s - s_y, and `more` for every class but y.
template <class Real>
Row<Real> margins(const RowProblem<Real>& row, Real more = 0) {
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

template <class Real>
Real largest_size(std::span<const Real> values) {
  Real largest = 0;
  for (const Real x : values) largest = std::max(largest, std::abs(x));
  return largest;
}

// Phi is not above this. It grows with every z, so that it is enough to add to each z what rounding and `off` can have
// taken: two scores; three sums and K more, of numbers not larger than delta and two scores. The y's z is 0 and exact.
template <class Real>
Real plain_bound(const Loss& loss, const RowProblem<Real>& row, Real* lost = nullptr) {
  const Real size = largest_size(row.delta) + 2 * largest_size(row.s), K = static_cast<Real>(loss.rho.size());
  const Real more = 2 * row.off * (1 + 8 * unit_roundoff<Real>)+(K + 10) * unit_roundoff<Real> * size;
  if (lost) *lost = more;
  return ranked_sum(loss, margins(row, more)) * (1 + (K + 8) * unit_roundoff<Real>);
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

// The alpha at which the envelope of margins so much larger is attained, up to rounding.
template <class Real>
Row<Real> envelope_maximiser(const Loss& loss, const RowProblem<Real>& row, Real more) {
  const Row<Real> rho = padded_rho<Real>(loss, row.s.size());
  // Beyond this many times sum(rho) alpha changes no digit of the envelope, while an ulp of b would outweigh alpha.
  const Real largest = sum(rho) / (1000 * unit_roundoff<Real>);
  Row<Real> b = margins(row, more);
  for (Real& value : b) value = std::clamp(value / static_cast<Real>(loss.smoothing), -largest, largest);
  Row<Real> alpha = loss.family == Family::usunier ? usunier_maximiser(rho, b, row.y) : top_k_maximiser(rho, b, row.y);
  alpha[row.y] = 0;
  const Real others = sum(alpha);
  for (Real& value : alpha) value = -value;
  alpha[row.y] = others;
  return alpha;
}

// The envelope is the smallest value of Phi(v) + |v - s|^2 / (2 smoothing) over all v, so any alpha whatever gives the
// bound Phi(s + smoothing alpha) + smoothing/2 |alpha|^2: a wrong alpha can only make the number larger.
template <class Real>
Real envelope_bound(const Loss& loss, const RowProblem<Real>& row, const Row<Real>& alpha, Real stretch) {
  Row<Real> v(row.s.begin(), row.s.end());
  Real squares = 0;  // times smoothing
  for (std::size_t j = 0; j < v.size(); ++j) {
    const Real step = static_cast<Real>(loss.smoothing) * (stretch * alpha[j]);
    v[j] += step;
    squares += step * (stretch * alpha[j]);
  }
  const Real up = 1 + static_cast<Real>(v.size() + 8) * unit_roundoff<Real>;
  return plain_bound(loss, RowProblem<Real>{row.delta, v, row.y, row.off}) + squares / 2 * up;
}

// The other bound of L4, good where the one above is not: what alpha is worth at margins so much larger is a concave
// function of beta with slope r and curvature of at least smoothing, so that no other beta >= 0 is worth more than
// r_j^2 / (2 smoothing) for each j that can grow, or fall. It takes any beta >= 0.
template <class Real>
Real nearby_bound(const Loss& loss, const RowProblem<Real>& row, const Row<Real>& alpha, Real more) {
  const Row<Real> z = margins(row, more);
  const Real smoothing = static_cast<Real>(loss.smoothing);
  const auto beta = [&](std::size_t j) {
    return static_cast<std::int64_t>(j) == row.y ? 0 : std::max(-alpha[j], Real{0});
  };
  Real T = 0, value = 0, size = 0, left = 0;
  for (std::size_t j = 0; j < z.size(); ++j) T += beta(j);
  const Real rounding = static_cast<Real>(z.size() + 12) * unit_roundoff<Real>;
  for (std::size_t j = 0; j < z.size(); ++j) {
    if (static_cast<std::int64_t>(j) == row.y) continue;
    const Real quadratic = smoothing * (T + beta(j)), r = z[j] - quadratic;
    const Real steep = (beta(j) > 0 ? std::abs(r) : std::max(r, Real{0})) + rounding * quadratic;
    if (beta(j) > 0 || r > 0) left += steep * (steep / (2 * smoothing));
    value += beta(j) * (z[j] - quadratic / 2);
    size += beta(j) * (std::abs(z[j]) + quadratic);
  }
  return value + left + rounding * (size + left);
}

// <c - s, alpha> - smoothing/2 |alpha|^2
template <class Real>
Real worth(const Loss& loss, const RowProblem<Real>& row, const Row<Real>& alpha) {
  const Row<Real> z = margins(row);
  Real linear = 0, squares = 0;
  for (std::size_t j = 0; j < z.size(); ++j) {
    linear -= alpha[j] * z[j];
    squares += static_cast<Real>(loss.smoothing) * alpha[j] * alpha[j];
  }
  return linear - squares / 2;
}

}  // namespace

template <class Real>
ProvenLoss<Real> proven_loss(const Loss& loss, const RowProblem<Real>& row) {
  constexpr Real longest = Real{2e-10};  // part of alpha by which it is stretched
  Real lost = 0;
  ProvenLoss<Real> found{plain_bound(loss, row, &lost), 0};
  if (loss.smoothing == 0.0) {
    found.about = found.most - lost * sum(padded_rho<Real>(loss, row.s.size()));
    return found;
  }
  const Row<Real> alpha = envelope_maximiser(loss, row, lost);
  found.about = worth(loss, row, alpha);
  found.most = std::min(found.most, nearby_bound(loss, row, alpha, lost));
  // Rounding can leave Phi(s + smoothing alpha) above 0 by an ulp of s, next to which a large smoothing makes the whole
  // envelope vanish. An alpha longer by some ulps lies below, at a cost of as many ulps: each is a bound, the least
  // counts.
  constexpr Real ulp = std::numeric_limits<Real>::epsilon();
  for (Real more = 0; more <= longest; more = std::max(ulp, 4 * more)) {
    found.most = std::min(found.most, envelope_bound(loss, row, alpha, 1 + more));
  }
  found.most *= 1 + 4 * unit_roundoff<Real>;
  return found;
}

RowMiss row_miss(const Loss& loss, std::span<const double> alpha, std::int64_t y) {
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
