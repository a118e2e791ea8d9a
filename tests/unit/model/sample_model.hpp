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
  model.loss.name = LossName::usunier;
  model.loss.k = 2;
  model.loss.rho = {0.5, 0.5};
  model.loss.smoothing = 1.0 / 3.0;
  model.loss.cost_matrix = {0, 1, 2, 1, 0, 0.1, 3, 1, 0};
  model.lambda = 1e-17;
  model.weight_sum = 12345.678;
  model.solver = "lsfw";
  model.certified = true;
  model.status = Status::time_limit;
  model.certificate = {0.1 + 0.2, 0.3};
  model.iterations = 1234567890123;
  model.command = "topwolf train data.svm";
  model.version = "0.1.0";
  model.data_hash = "99aa06d3014798d86001c324468d497f";
  return model;
}

inline bool same_model(const Model& a, const Model& b) {
  const bool certificates_agree =
      !a.certified || (a.status == b.status && a.certificate.primal == b.certificate.primal &&
                       a.certificate.dual == b.certificate.dual);
  return a.d == b.d && a.columns == b.columns && a.bias == b.bias && a.W == b.W && a.precision == b.precision &&
         a.classes.type == b.classes.type && a.classes.names == b.classes.names &&
         a.normalization.kind == b.normalization.kind && a.normalization.scale == b.normalization.scale &&
         a.index_base == b.index_base && a.loss.name == b.loss.name && a.loss.k == b.loss.k &&
         a.loss.rho == b.loss.rho && a.loss.smoothing == b.loss.smoothing && a.loss.cost_matrix == b.loss.cost_matrix &&
         a.lambda == b.lambda && a.weight_sum == b.weight_sum && a.solver == b.solver && a.certified == b.certified &&
         certificates_agree && a.iterations == b.iterations && a.command == b.command && a.version == b.version &&
         a.data_hash == b.data_hash;
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
