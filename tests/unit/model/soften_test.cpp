// Probabilities of scores of any size, infinite ones and what is no number among them.
#include "model/soften.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/rng.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

constexpr double infinity = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();

std::vector<double> probabilities(std::vector<double> s, double temperature) {
  make_exponents(s.data(), static_cast<std::int64_t>(s.size()), temperature);
  soften(s.data(), static_cast<std::int64_t>(s.size()));
  return s;
}

TEST(Soften, AgreesWithTheDefinition) {
  const std::vector<double> p = probabilities({1.0, 0.0, -2.0}, 0.5);
  const double sum = 1.0 + std::exp(-2.0) + std::exp(-6.0);
  EXPECT_NEAR(p[0], 1.0 / sum, 1e-15);
  EXPECT_NEAR(p[1], std::exp(-2.0) / sum, 1e-15);
  EXPECT_NEAR(p[2], std::exp(-6.0) / sum, 1e-15);
}

TEST(Soften, GivesProbabilitiesWhateverTheScoresAre) {
  Rng rng(1);
  const std::vector<double> odd{infinity, -infinity, none, 0.0, 1e308, -1e308, 5e-324};
  for (int t = 0; t < 2000; ++t) {
    std::vector<double> s(2 + t % 9);
    for (double& x : s) {
      x = rng.uniform() < 0.3 ? odd[static_cast<std::size_t>(rng.uniform() * 7.0)]
                              : rng.normal() * std::pow(10.0, 600.0 * rng.uniform() - 300.0);
    }
    const std::vector<double> p = probabilities(s, std::pow(10.0, 600.0 * rng.uniform() - 300.0));
    for (const double x : p) ASSERT_TRUE(x >= 0.0 && x <= 1.0) << x;
    ASSERT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1.0, 1e-14);
  }
}

TEST(Soften, RanksAsScoresAreRanked) {
  EXPECT_EQ(probabilities({infinity, 1.0, infinity}, 1.0), (std::vector<double>{0.5, 0.0, 0.5}));
  EXPECT_EQ(probabilities({none, -1e308, 1e308}, 1.0), (std::vector<double>{0.0, 0.0, 1.0}));
  EXPECT_EQ(probabilities({none, none}, 1.0), (std::vector<double>{0.5, 0.5}));
}

TEST(Soften, LogarithmsKeepTheirDigits) {
  std::vector<double> s{1e17, 1e17, 1e17 - 1e6};
  make_exponents(s.data(), 3, 1.0);
  const double first = s[0], last = s[2], log_sum = soften(s.data(), 3);
  EXPECT_DOUBLE_EQ(log_sum - first, std::log(2.0));
  EXPECT_DOUBLE_EQ(log_sum - last, std::log(2.0) + 1e6);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
