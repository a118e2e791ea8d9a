// When two models are the same, and what every model must be.
#pragma once

#include <numeric>
#include <set>

#include "fuzz.hpp"
#include "model/check_model.hpp"
#include "topwolf/model.hpp"

namespace topwolf::fuzz {

inline bool same_classifier(const Classifier& a, const Classifier& b) {
  return a.d == b.d && a.columns == b.columns && a.bias == b.bias && a.W == b.W && a.classes.type == b.classes.type &&
         a.classes.names == b.classes.names;
}

inline bool same_model(const Model& a, const Model& b) {
  return same_classifier(a, b) && a.V == b.V && a.precision == b.precision &&
         a.class_features.rows() == b.class_features.rows() && a.class_features.sparse() == b.class_features.sparse() &&
         a.normalization.kind == b.normalization.kind && a.normalization.scale == b.normalization.scale &&
         a.index_base == b.index_base && a.label_column == b.label_column && a.provenance == b.provenance;
}

// It can be saved and comes back the same, and its predictions for a row of zeros and one of ones are classes, each of
// them once.
inline void check_loaded_model(const Model& model) {
  check_model(model, "model");
  const std::string path = scratch_file("again.topwolf");
  save_model(model, path);
  require(same_model(model, load_model(path)), "a model saved and loaded again is the same");

  // A row of zeros and a row of ones; sparse, for a model may have weights for few of very many features.
  std::vector<std::int32_t> columns = model.columns;
  if (columns.empty()) {
    columns.resize(static_cast<std::size_t>(model.d));
    std::iota(columns.begin(), columns.end(), 0);
  }
  const auto stored = static_cast<std::int64_t>(columns.size());
  std::vector<double> ones(columns.size(), 1.0);
  CsrStore<double> X{{0, 0, stored}, std::move(columns), std::move(ones), 2, model.d};
  const TopK best = Predictor(model, Rows::normalized, 1).top_k(Features(FeatureStore(std::move(X))), model.m(), 1);
  require(static_cast<std::int64_t>(best.classes.size()) == 2 * model.m(), "every class of every row is ranked");
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto row = best.classes.begin() + i * model.m();
    const std::set<std::int32_t> distinct(row, row + model.m());
    require(static_cast<std::int64_t>(distinct.size()) == model.m() && *distinct.begin() == 0 &&
                *distinct.rbegin() == model.m() - 1,
            "predictions are classes, each of them once");
  }
}

}  // namespace topwolf::fuzz
