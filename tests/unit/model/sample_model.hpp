// Models for the tests of this folder, and their comparison field by field.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/rng.hpp"
#include "topwolf/model.hpp"

namespace topwolf {

// Every field is set to something that a default would not hide.
inline Model sample_model() {
  Model model;
  model.d = 2;
  model.bias = 0.5;
  model.W = {0.25, -1.0, 2.0, 0.0, 1.5, -3.0, -0.125, 8.0, 1.0};
  model.classes = {LabelType::text, {"caf\xc3\xa9", "a \"quoted\" \\ name", ""}};
  model.normalization = {NormalizeKind::maxabs, {0.1, 0.0}};
  model.index_base = 0;
  Provenance& made = model.provenance;
  made.loss.name = LossName::usunier;
  made.loss.k = 2;
  made.loss.rho = {0.5, 0.5};
  made.loss.smoothing = 1.0 / 3.0;
  made.loss.cost_matrix = {0, 1, 2, 1, 0, 0.1, 3, 1, 0};
  made.lambda = 1e-17;
  made.weight_sum = 12345.678;
  made.solver = "lsfw";
  made.iterations = 1234567890123;
  made.claim = {Status::time_limit, {0.1 + 0.2, 0.3}};
  made.command = "topwolf train data.svm";
  made.version = "0.1.0";
  made.data_hash = "99aa06d3014798d86001c324468d497f";
  return model;
}

inline bool same_model(const Model& a, const Model& b) {
  return a.d == b.d && a.columns == b.columns && a.bias == b.bias && a.W == b.W && a.precision == b.precision &&
         a.classes.type == b.classes.type && a.classes.names == b.classes.names &&
         a.normalization.kind == b.normalization.kind && a.normalization.scale == b.normalization.scale &&
         a.index_base == b.index_base && a.provenance == b.provenance;
}

// Integer classes 3, 6, 9, ... and normal weights.
inline Model random_model(std::int64_t m, std::int64_t d, double bias, Rng& rng) {
  Model model;
  model.d = d;
  model.bias = bias;
  model.precision = Precision::float64;
  for (std::int64_t j = 1; j <= m; ++j) model.classes.names.push_back(std::to_string(3 * j));
  for (std::int64_t i = 0; i < m * model.D(); ++i) model.W.push_back(rng.normal());
  return model;
}

}  // namespace topwolf
