// A trained classifier: weights, classes, how the features were prepared, and the certificate it came with.
// File format: docs/file_formats.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"
#include "topwolf/loss.hpp"
#include "topwolf/result.hpp"

namespace topwolf {

struct Model {
  std::int64_t d = 0;                 // features, the constant one not counted
  double bias = 0.0;                  // value of the constant feature; 0: none
  std::vector<std::int32_t> columns;  // ascending: the features that have weights, all others weigh 0; empty: all
  std::vector<double> W;              // (m x D), row-major, D = width(), or one more with a bias (the last column)
  Precision precision = Precision::float32;  // float32: every W (with class features, V) is a float32 value
  ClassList classes;                         // m
  Features class_features;                   // phi (m x p) in float64; 0 rows: none
  std::vector<double> V;                     // with class features, (p x D): what was trained; W = phi V
  Normalization normalization;
  int index_base = 1;
  std::string label_column;  // of the CSV file it was trained on, where it was named

  // How it was made. Empty for a model imported from LIBLINEAR.
  LossSpec loss;  // k and rho as they were used
  double lambda = 0.0;
  double weight_sum = 0.0;  // N
  std::string solver;
  bool certified = false;  // status and certificate below are set
  Status status = Status::converged;
  Certificate certificate;
  std::int64_t iterations = 0;
  std::string command;
  std::string version;    // of topwolf
  std::string data_hash;  // fingerprint of the training rows and labels
  std::string search;     // how C and the loss were chosen, as JSON; "" where they were given

  std::int64_t m() const { return classes.size(); }
  std::int64_t width() const { return columns.empty() ? d : static_cast<std::int64_t>(columns.size()); }
  std::int64_t D() const { return width() + (bias != 0.0 ? 1 : 0); }
};

// Written to a temporary file beside it, synced, renamed.
void save_model(const Model& model, const std::string& path);
// Reads a .topwolf file, or LIBLINEAR's text format.
Model load_model(const std::string& path);
void save_liblinear(const Model& model, const std::string& path);

// The same weights for other classes, known by their features (rows as many as classes, p columns); they need not have
// been seen in training. The certificate, which is about the classes of the training, is dropped.
Model with_classes(const Model& model, ClassList classes, Features class_features);

// S: (n x m) in double, row-major. The features must have been prepared as the model says:
// apply_normalization(model.normalization, store).
std::vector<double> decision_scores(const Model& model, const Features& X, int threads = 0);

// The k best classes of each row, best first; ties to the lower class. (n x k), row-major.
struct TopK {
  std::int64_t k = 0;
  std::vector<std::int32_t> classes;
  std::vector<double> scores;
};
TopK predict_top_k(const Model& model, const Features& X, std::int64_t k, int threads = 0);

}  // namespace topwolf
