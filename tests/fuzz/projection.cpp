// The projection onto the dual set (L5), through the fastest kernels of this machine, against rational arithmetic: the
// point lies in the set, it is the exact one, and where large keys cancel no point of the set is better by more than
// their rounding.
#include <functional>

#include "bytes.hpp"
#include "fuzz.hpp"
#include "loss/row.hpp"
#include "support/exact_projection.hpp"

using namespace topwolf;

namespace {

using exact::Rational;

constexpr double largest = 4e299;  // keys, differences of two, are cut at 1e300

// Every sum of `rho` weights is 1 or so: what is large or small is `a`.
Loss read_loss(fuzz::Bytes& bytes, std::int64_t m) {
  Loss loss;
  loss.family = bytes.take() % 2 == 0 ? Family::usunier : Family::top_k;
  loss.rho.resize(static_cast<std::size_t>(1 + bytes.below(std::min<std::int64_t>(m - 1, 6))));
  for (double& rho : loss.rho) rho = (1.0 + bytes.take()) / 256.0;
  std::sort(loss.rho.begin(), loss.rho.end(), std::greater<>());
  return loss;
}

// Ties and near ties are the hard cases, so numbers come again.
std::vector<double> read_point(fuzz::Bytes& bytes, std::int64_t m) {
  std::vector<double> a(static_cast<std::size_t>(m));
  for (std::size_t j = 0; j < a.size(); ++j) {
    const std::uint8_t kind = bytes.take();
    if (j > 0 && kind % 4 == 0) {
      a[j] = a[j - 1];
    } else if (j > 0 && kind % 4 == 1) {
      a[j] = std::nextafter(a[static_cast<std::size_t>(bytes.below(static_cast<std::int64_t>(j)))],
                            kind % 8 < 4 ? HUGE_VAL : -HUGE_VAL);
    } else {
      a[j] = bytes.finite_number();
    }
    a[j] = std::clamp(a[j], -largest, largest);
  }
  return a;
}

// beta_j = -alpha_j, the classes other than y in their order.
exact::Vector beta_of(const SparseRow& alpha, std::int64_t m, std::int64_t y) {
  exact::Vector dense(static_cast<std::size_t>(m), 0);
  std::int32_t before = -1;
  for (const auto& [j, value] : alpha) {
    fuzz::require(j > before && j < m && std::isfinite(value), "classes ascend, numbers are finite");
    dense[static_cast<std::size_t>(j)] = -Rational(value);
    before = j;
  }
  const Rational own = -dense[static_cast<std::size_t>(y)];
  dense.erase(dense.begin() + y);
  const Rational apart = abs(Rational(own - exact::sum(dense)));
  fuzz::require(apart <= Rational(1e-14) * own, "alpha_y is the sum of beta, but for " + fuzz::text(apart.get_d()));
  return dense;
}

// By how much <b - T - beta, beta' - beta> exceeds 0 for some beta' of the set, T = sum(beta).
Rational excess(const Loss& loss, const exact::Vector& b, const exact::Vector& beta) {
  const Rational total = exact::sum(beta);
  exact::Vector normal(b.size());
  Rational at = 0;
  for (std::size_t j = 0; j < b.size(); ++j) {
    normal[j] = b[j] - total - beta[j];
    at += normal[j] * beta[j];
  }
  return exact::support(loss, normal) - at;
}

void check(const Loss& loss, const std::vector<double>& a, std::int64_t y) {
  SparseRow alpha;
  RowScratch scratch;
  const auto m = static_cast<std::int64_t>(a.size());
  project(loss, a.data(), m, y, alpha, scratch);
  const exact::Vector beta = beta_of(alpha, m, y);
  const double R = loss.rho_sum();
  const double outside = exact::infeasibility(loss, beta).get_d();
  fuzz::require(outside <= 1e-12, "alpha lies in Q, but misses it by " + fuzz::text(outside));

  exact::Vector b;
  double size = R;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (static_cast<std::int64_t>(j) == y) continue;
    const double key = a[static_cast<std::size_t>(y)] - a[j];
    size = std::max(size, std::abs(key));
    b.emplace_back(key);
  }
  const double better = excess(loss, b, beta).get_d();
  fuzz::require(better <= 1e-12 * R * size, "no point of Q is better, but one is by " + fuzz::text(better));
  if (loss.family == Family::top_k && loss.K() > 1) return;
  const exact::Vector wanted = exact::usunier(loss, b);
  for (std::size_t j = 0; j < b.size(); ++j) {
    const double apart = std::abs(Rational(beta[j] - wanted[j]).get_d());
    fuzz::require(apart <= 1e-12 * R, "beta is the exact one, but for " + fuzz::text(apart));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const std::int64_t m = 2 + bytes.below(70);
  const std::int64_t y = bytes.below(m);
  const Loss loss = read_loss(bytes, m);
  check(loss, read_point(bytes, m), y);
  return 0;
}
