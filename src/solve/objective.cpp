#include "solve/objective.hpp"

#include <numeric>

namespace topwolf {

double squared_norm(const std::vector<double>& W) {
  return std::inner_product(W.begin(), W.end(), W.begin(), 0.0);
}

DualSums dual_sums(const Problem& problem, const DualRows& A) {
  DualSums sums;
  for (std::int64_t i = 0; i < problem.n; ++i) {
    const SparseRow& alpha = A[static_cast<std::size_t>(i)];
    sums.c_alpha += problem.weight(i) * dot_c(problem.margins(i), problem.label(i), alpha);
    sums.alpha_norm2 += problem.weight(i) * squared_norm(alpha);
  }
  return sums;
}

double dual_at(const Problem& problem, const DualRows& A, const std::vector<double>& W, double error) {
  const DualSums sums = dual_sums(problem, A);
  return dual_value(problem, squared_norm(W), error, sums.c_alpha, sums.alpha_norm2);
}

double length_bound(const Problem& problem, const Geometry& geometry) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < problem.n; ++i) {
    sum += problem.weight(i) * std::sqrt(geometry.lengths2[static_cast<std::size_t>(i)]);
  }
  return 2.0 * problem.loss.rho_sum() * sum / (problem.lambda * problem.N);
}

double sum_error(const Problem& problem, const Geometry& geometry) {
  return static_cast<double>(geometry.terms + 2) * unit_roundoff * length_bound(problem, geometry);
}

}  // namespace topwolf
