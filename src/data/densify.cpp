#include "data/densify.hpp"

#include "core/memory.hpp"

namespace topwolf {
namespace {

constexpr double dense_enough = 0.25, share_of_memory = 0.25;

template <class T>
Features densify(const CsrView<T>& X, const Features& as_it_is) {
  const double cells = static_cast<double>(X.rows) * static_cast<double>(X.cols);
  const bool dense = cells > 0.0 && static_cast<double>(X.row_begin[X.rows]) >= dense_enough * cells;
  if (!dense || sizeof(T) * cells > share_of_memory * process_memory().limit) return as_it_is;
  DenseStore<T> out;
  out.rows = X.rows;
  out.cols = X.cols;
  out.values.assign(static_cast<std::size_t>(X.rows * X.cols), T{0});
  for (std::int64_t i = 0; i < X.rows; ++i) {
    T* row = out.values.data() + i * X.cols;
    for (std::int64_t p = X.row_begin[i]; p < X.row_begin[i + 1]; ++p) row[X.column[p]] = X.value[p];
  }
  return Features(FeatureStore(std::move(out)));
}

template <class T>
Features densify(const DenseView<T>&, const Features& as_it_is) {
  return as_it_is;
}

}  // namespace

Features dense_where_faster(const Features& X) {
  return std::visit([&](const auto& view) { return densify(view, X); }, X.view());
}

}  // namespace topwolf
