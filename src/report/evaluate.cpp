#include "topwolf/evaluate.hpp"

#include <algorithm>

#include "core/fail.hpp"

namespace topwolf {

std::vector<double> top_k_errors(const Model& model, const Features& X, const std::vector<std::int32_t>& y,
                                 const std::vector<std::int64_t>& ks, int threads) {
  const std::int64_t n = X.rows();
  if (static_cast<std::int64_t>(y.size()) != n) fail(ErrorKind::data, "there are {} labels for {} rows", y.size(), n);
  if (n == 0 || ks.empty()) return std::vector<double>(ks.size(), 0.0);
  const std::int64_t widest = std::min(model.m(), *std::max_element(ks.begin(), ks.end()));
  const TopK top = predict_top_k(model, X, widest, threads);

  std::vector<std::int64_t> right(ks.size(), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto* best = top.classes.data() + i * widest;
    const std::int64_t rank = std::find(best, best + widest, y[static_cast<std::size_t>(i)]) - best;  // widest: absent
    for (std::size_t a = 0; a < ks.size(); ++a) {
      if (rank < std::min(ks[a], widest)) ++right[a];
    }
  }
  std::vector<double> errors;
  for (std::int64_t count : right) errors.push_back(static_cast<double>(n - count) / static_cast<double>(n));
  return errors;
}

}  // namespace topwolf
