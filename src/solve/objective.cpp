#include "solve/objective.hpp"

#include <numeric>

namespace topwolf {

double length_bound(const Problem& problem, const std::vector<double>& lengths2) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < problem.n; ++i) {
    sum += problem.weight(i) * std::sqrt(lengths2[static_cast<std::size_t>(i)]);
  }
  const double rho_sum = std::accumulate(problem.loss.rho.begin(), problem.loss.rho.end(), 0.0);
  return 2.0 * rho_sum * sum / (problem.lambda * problem.N);
}

double sum_error(const Problem& problem, const std::vector<double>& lengths2) {
  return static_cast<double>(problem.n + 2) * unit_roundoff * length_bound(problem, lengths2);
}

}  // namespace topwolf
