// Errata 3 and 4 of the paper: the printed formula fails, the corrected one holds (ledger, Errata).

#include <gtest/gtest.h>

#include <numeric>

#include "support/plain.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;

// The weighted Usunier set is a sum of simplexes, one per drop k_l of rho, with weights rho'_l; its support function is
// therefore sum_l rho'_l * (sum of the k_l largest positive z). The paper prints rho'_l = rho_{k_l}.
double support_of_sum(const Vector& rho, Vector z, bool as_printed) {
  std::sort(z.begin(), z.end(), std::greater<>());
  double sum = 0.0;
  for (std::size_t k = 1; k <= rho.size(); ++k) {
    const double next = k < rho.size() ? rho[k] : 0.0;
    if (!(rho[k - 1] > next)) continue;
    double largest = 0.0;
    for (std::size_t r = 0; r < k; ++r) largest += std::max(0.0, z[r]);
    sum += (as_printed ? rho[k - 1] : rho[k - 1] - next) * largest;
  }
  return sum;
}

TEST(Erratum3, ThePolytopeNeedsDifferencesOfRho) {
  const Vector rho{0.5, 0.3, 0.3, 0.1};
  const Loss loss{Family::usunier, rho, 0.0};
  const Vector z{1.5, 0.0, 0.7, -0.4, 2.0};
  const double value = plain::phi_of_z(loss, z);
  EXPECT_NEAR(support_of_sum(rho, z, false), value, 1e-14);
  EXPECT_GT(support_of_sum(rho, z, true), value + 0.5);
}

// Phi(s) = max over Q of <c - s, alpha>. The paper's c = e_y is right for unit margins only.
double conjugate_value(const Loss& loss, const Vector& c, const Vector& s, std::size_t y) {
  Vector g(s.size());
  for (std::size_t j = 0; j < s.size(); ++j) g[j] = c[j] - s[j];
  return plain::support(loss, g, y);
}

TEST(Erratum4, CostsEnterTheDualAsMinusDelta) {
  const Loss loss{Family::usunier, {1.0}, 0.0};
  const Vector s{0.2, -0.1, 0.4};
  const std::size_t y = 1;
  const Vector e_y{0, 1, 0};
  const Vector unit = plain::unit_margins(3, y), costs{3.0, 0.0, 0.25};
  EXPECT_NEAR(conjugate_value(loss, e_y, s, y), plain::value(loss, unit, s, y), 1e-14);
  const Vector c{-3.0, 0.0, -0.25};
  const double value = plain::value(loss, costs, s, y);
  EXPECT_NEAR(conjugate_value(loss, c, s, y), value, 1e-14);
  EXPECT_GT(std::abs(conjugate_value(loss, e_y, s, y) - value), 1.0);

  RowScratch scratch;
  SparseRow u;
  EXPECT_NEAR(vertex(loss, costs.data(), s.data(), 3, 1, u, scratch).phi, value, 1e-14);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
