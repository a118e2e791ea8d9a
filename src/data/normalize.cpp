// Preparing features: rows of unit length, or columns divided by their largest magnitude. Computed in double, stored
// in the precision of the features, but those of 16 bits in float32: three digits hold no row of unit length. Never
// turns a zero into anything else.
#include <algorithm>
#include <cmath>

#include "core/ieee.hpp"
#include "data/features.hpp"
#include "data/normalize.hpp"
#include "data/rows.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

namespace {

template <class Store>
void scale_to_unit(Store& X, std::int64_t i) {
  // Divided by the largest first, so that squares neither overflow nor vanish.
  double largest = 0.0;
  for_row(X, i, [&](std::int64_t, auto value) { largest = std::max(largest, std::abs(static_cast<double>(value))); });
  if (largest == 0.0) return;
  double squares = 0.0;
  for_row(X, i, [&](std::int64_t, auto value) { squares += (value / largest) * (value / largest); });
  const double length = std::sqrt(squares);
  for_row(X, i, [&](std::int64_t, auto& value) {
    value = static_cast<std::decay_t<decltype(value)>>(value / largest / length);
  });
}

}  // namespace

Normalization fit_normalization(NormalizeKind kind, const FeatureStore& X) {
  const IeeeArithmetic ieee;
  Normalization result{kind, {}};
  if (kind != NormalizeKind::maxabs) return result;
  const FeatureView view = std::visit([](const auto& store) -> FeatureView { return store.view(); }, X);
  result.scale.assign(static_cast<std::size_t>(std::visit([](const auto& rows) { return rows.cols; }, view)), 0.0);
  add_largest(view, result.scale);
  return result;
}

void add_largest(const FeatureView& X, std::vector<double>& scale) {
  std::visit(
      [&](const auto& rows) {
        for_stored(rows, [&](std::int64_t, std::int64_t column, double value) {
          double& largest = scale[static_cast<std::size_t>(column)];
          largest = std::max(largest, std::abs(value));
        });
      },
      X);
}

SharedRows normalized(const Normalization& normalization, SharedRows rows) {
  if (normalization.kind == NormalizeKind::none) return rows;
  const std::int64_t cols = rows->cols();
  const Precision precision = working_precision(rows->precision());
  return changed(std::move(rows), cols, precision,
                 [normalization](FeatureStore& X) { apply_normalization(normalization, X); });
}

void apply_normalization(const Normalization& normalization, FeatureStore& X) {
  const IeeeArithmetic ieee;
  if (normalization.kind == NormalizeKind::none) return;
  convert_precision(X, working_precision(stored_precision(X)), "");  // exact, and so never refused
  const auto known = static_cast<std::int64_t>(normalization.scale.size());
  std::visit(
      [&](auto& store) {
        for (std::int64_t i = 0; i < store.rows; ++i) {
          if (normalization.kind == NormalizeKind::unit) {
            scale_to_unit(store, i);
            continue;
          }
          // A column that the training rows did not have, or had as zeros, stays as it is.
          for_row(store, i, [&](std::int64_t j, auto& value) {
            const double scale = j < known ? normalization.scale[static_cast<std::size_t>(j)] : 0.0;
            if (scale > 0.0) value = static_cast<std::decay_t<decltype(value)>>(value / scale);
          });
        }
      },
      X);
}

}  // namespace topwolf
