#include "model/shared_columns.hpp"

#include <algorithm>
#include <iterator>

#include "data/columns.hpp"

namespace topwolf {
namespace {

// W (rows x D) from `columns` to `shared`, which holds all of them; the constant feature stays the last.
std::vector<double> spread(const std::vector<double>& W, const std::vector<std::int32_t>& columns,
                           const std::vector<std::int32_t>& shared, std::size_t constant) {
  const std::size_t from_D = columns.size() + constant, to_D = shared.size() + constant, rows = W.size() / from_D;
  std::vector<double> out(rows * to_D, 0.0);
  std::size_t to = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    while (shared[to] != columns[c]) ++to;
    for (std::size_t j = 0; j < rows; ++j) out[j * to_D + to] = W[j * from_D + c];
  }
  for (std::size_t j = 0; constant > 0 && j < rows; ++j) out[j * to_D + to_D - 1] = W[j * from_D + from_D - 1];
  return out;
}

}  // namespace

SharedColumns on_shared_columns(const Features& X, const Classifier& classifier) {
  const std::vector<std::int32_t> used = occurring_columns(X);
  std::vector<std::int32_t> shared;
  std::set_union(used.begin(), used.end(), classifier.columns.begin(), classifier.columns.end(),
                 std::back_inserter(shared));
  SharedColumns out{shared, on_columns(X, shared), classifier};
  const std::size_t constant = classifier.bias != 0.0 ? 1 : 0;
  out.classifier.W = spread(classifier.W, classifier.columns, shared, constant);
  if (!classifier.V.empty()) out.classifier.V = spread(classifier.V, classifier.columns, shared, constant);
  out.classifier.columns.clear();
  out.classifier.d = static_cast<std::int64_t>(shared.size());
  out.classifier.normalization = {};
  return out;
}

}  // namespace topwolf
