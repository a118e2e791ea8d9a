#include "model/soften.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/kernels.hpp"

namespace topwolf {

void make_exponents(double* s, std::int64_t m, double temperature) {
  for (std::int64_t j = 0; j < m; ++j) s[j] = std::isnan(s[j]) ? -std::numeric_limits<double>::infinity() : s[j];
  const double top = *std::max_element(s, s + m);
  for (std::int64_t j = 0; j < m; ++j) s[j] = s[j] == top ? 0.0 : (s[j] - top) / temperature;
}

double soften(double* exponents, std::int64_t m) {
  kernels().exponentials(exponents, m, exponents);
  const double sum = std::accumulate(exponents, exponents + m, 0.0);
  for (std::int64_t j = 0; j < m; ++j) exponents[j] /= sum;
  return std::log(sum);
}

}  // namespace topwolf
