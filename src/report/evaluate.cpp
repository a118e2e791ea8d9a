#include "topwolf/evaluate.hpp"

#include <algorithm>
#include <limits>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "data/check_dataset.hpp"
#include "loss/row.hpp"

namespace topwolf {
namespace {

void check_rows(const Features& X, const std::vector<std::int32_t>& y, const std::vector<double>& weights) {
  const auto n = static_cast<std::size_t>(X.rows());
  if (y.size() != n) fail(ErrorKind::data, "there are {} labels for {} rows", y.size(), n);
  if (!weights.empty() && weights.size() != n) {
    fail(ErrorKind::data, "there are {} weights for {} rows", weights.size(), n);
  }
}

// The mean of value(i) over the rows.
template <class Value>
double weighted_mean(std::size_t n, const std::vector<double>& weights, const Value& value) {
  double sum = 0.0, total = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double omega = weights.empty() ? 1.0 : weights[i];
    sum += omega * value(i);
    total += omega;
  }
  return total > 0.0 ? sum / total : 0.0;
}

}  // namespace

std::vector<double> top_k_errors(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y,
                                 const std::vector<std::int64_t>& ks, int threads, const std::vector<double>& weights) {
  const IeeeArithmetic ieee;
  check_rows(X, y, weights);
  if (y.empty() || ks.empty()) return std::vector<double>(ks.size(), 0.0);
  const std::int64_t widest = std::min(predictor.m(), *std::max_element(ks.begin(), ks.end()));
  const TopK top = predictor.top_k(X, widest, threads);
  std::vector<std::int32_t> ranks(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto* best = top.classes.data() + static_cast<std::int64_t>(i) * widest;
    const auto* found = std::find(best, best + widest, y[i]);
    ranks[i] =
        found == best + widest ? std::numeric_limits<std::int32_t>::max() : static_cast<std::int32_t>(found - best);
  }
  return errors_of_ranks(ranks, ks, weights);
}

std::vector<double> errors_of_ranks(const std::vector<std::int32_t>& ranks, const std::vector<std::int64_t>& ks,
                                    const std::vector<double>& weights) {
  const IeeeArithmetic ieee;
  std::vector<double> errors;
  for (const std::int64_t k : ks) {
    errors.push_back(weighted_mean(ranks.size(), weights, [&](std::size_t i) { return ranks[i] < k ? 0.0 : 1.0; }));
  }
  return errors;
}

double mean_cost(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y, const Costs& costs,
                 int threads, const std::vector<double>& weights) {
  const IeeeArithmetic ieee;
  const std::int64_t m = predictor.m();
  const std::vector<double>& cost = costs.cost_matrix;
  const Margins& margins = costs.margins;
  check_rows(X, y, weights);
  if (margins.given()) check_margins(margins, y, m);
  if (!cost.empty() && static_cast<std::int64_t>(cost.size()) != m * m) {
    fail(ErrorKind::data, "there are {} costs, where {} classes need {}", cost.size(), m, m * m);
  }
  const std::vector<std::int32_t> best = predictor.predict(X, threads);
  return weighted_mean(y.size(), weights, [&](std::size_t i) {
    const auto row = static_cast<std::int64_t>(i);
    if (margins.given()) return margin(row_margins(margins, row), best[i], y[i]);
    if (cost.empty() || y[i] < 0) return best[i] == y[i] ? 0.0 : 1.0;
    return cost[static_cast<std::size_t>(y[i] * m + best[i])];
  });
}

}  // namespace topwolf
