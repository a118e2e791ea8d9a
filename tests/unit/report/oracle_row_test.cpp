// Rows of the dual of a loss that is known by its oracle alone (L12, L13).

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.hpp"
#include "loss/row.hpp"
#include "report/row_check.hpp"
#include "support/oracles.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using Vector = std::vector<double>;

// rho that hardly falls: the set has very many vertices, and its facets are small. A point that vertices made is found
// again, by the solvers' way and by verify's.
TEST(OracleRow, APointThatVerticesMakeIsFoundAgain) {
  Rng rng(3);
  for (int trial = 0; trial < 250; ++trial) {
    const std::int64_t m = 3 + static_cast<std::int64_t>(rng.below(23));
    const auto y = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(m)));
    Loss known{rng.uniform() < 0.5 ? Family::top_k : Family::usunier, {}};
    const double scale = std::pow(10.0, 6.0 * rng.uniform() - 3.0), spread = std::pow(10.0, -12.0 * rng.uniform());
    known.rho.assign(1 + rng.below(static_cast<std::uint64_t>(m - 1)), scale);
    for (std::size_t r = 0; r < known.rho.size(); ++r) known.rho[r] *= 1.0 - 0.00125 * static_cast<double>(r);
    const Loss asked = testing::loss_of_oracle(std::make_shared<testing::KnownOracle>(known), m);
    Vector base(static_cast<std::size_t>(m));
    for (double& x : base) x = rng.normal();
    Vector alpha(base.size(), 0.0);
    double sum = 0.0;
    for (std::uint64_t part = 1 + rng.below(30); part > 0; --part) {
      Vector z(base.size()), u(base.size(), 0.0);
      for (std::size_t j = 0; j < z.size(); ++j) z[j] = base[j] + spread * rng.normal();
      z[static_cast<std::size_t>(y)] = 0.0;
      asked.oracle->vertex(z, y, u);
      const double weight = -std::log(1.0 - rng.uniform()) * (rng.uniform() < 0.3 ? 1e-6 : 1.0);
      for (std::size_t j = 0; j < z.size(); ++j) alpha[j] += weight * u[j];
      sum += weight;
    }
    double pulled = 0.0;
    SparseRow row;
    for (std::int64_t j = 0; j < m; ++j) {
      if (double& value = alpha[static_cast<std::size_t>(j)]; j != y) pulled -= value /= sum;
    }
    alpha[static_cast<std::size_t>(y)] = pulled;
    for (std::int64_t j = 0; j < m; ++j)
      row.push_back({static_cast<std::int32_t>(j), alpha[static_cast<std::size_t>(j)]});
    RowScratch scratch;
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ", m " << m << ", K " << known.K());
    EXPECT_LT(membership(asked, y, row, scratch).distance, 1e-10 * known.rho_sum());
    EXPECT_LT(row_miss(asked, alpha, y).infeasibility, 1e-14);
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
