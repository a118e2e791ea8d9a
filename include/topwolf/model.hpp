// What training ends with: a classifier, which predicts, and its provenance, which says how it was made and how good it
// is proved to be. Whatever predicts takes a Classifier, and knows nothing of losses and certificates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"
#include "topwolf/loss.hpp"
#include "topwolf/result.hpp"

namespace topwolf {

// What predicts: the score of class j for a row x is <w_j, x>, and the best class has the highest.
struct Classifier {
  std::int64_t d = 0;                 // features, the constant one not counted
  double bias = 0.0;                  // value of the constant feature; 0: none
  std::vector<std::int32_t> columns;  // ascending: the features that have weights, all others weigh 0; empty: all
  std::vector<double> W;              // (m x D), row-major, D = width(), or one more with a bias (the last column)
  Precision precision = Precision::float32;  // float32: every W (with class features, V) is a float32 value
  ClassList classes;                         // m
  Features class_features;                   // phi (m x p) in float64; 0 rows: none
  std::vector<double> V;                     // with class features, (p x D): what was trained; W = phi V
  Normalization normalization;               // how rows are prepared before they meet W
  int index_base = 1;                        // of LIBSVM text that it is given
  std::string label_column;                  // of the CSV file it was trained on, where it was named

  std::int64_t m() const { return classes.size(); }
  std::int64_t width() const { return columns.empty() ? d : static_cast<std::int64_t>(columns.size()); }
  std::int64_t D() const { return width() + (bias != 0.0 ? 1 : 0); }
};

// What a run proved about the weights it returned.
struct Claim {
  Status status = Status::converged;
  Certificate certificate;
  bool operator==(const Claim&) const = default;
};

// How a classifier was made. Empty for one that another program trained.
struct Provenance {
  LossSpec loss;  // k and rho as they were used
  double lambda = 0.0;
  double weight_sum = 0.0;  // N
  std::string solver;
  std::int64_t iterations = 0;
  std::optional<Claim> claim;  // none: nobody vouches for these weights
  std::string command;
  std::string version;    // of topwolf
  std::string data_hash;  // fingerprint of the training rows and labels
  std::string search;     // how C and the loss were chosen, as JSON; "" where they were given
  bool operator==(const Provenance&) const = default;
};

// A classifier and where it comes from: what a model file holds (docs/file_formats.md).
struct Model : Classifier {
  Provenance provenance;
};

// ---- Files

// Written to a temporary file beside it, synced, renamed.
void save_model(const Model& model, const std::string& path);
// Reads a .topwolf file, or LIBLINEAR's text format.
Model load_model(const std::string& path);
void save_liblinear(const Model& model, const std::string& path);

// ---- Predicting

// The same weights for other classes, known by their features (rows as many as classes, p columns); they need not have
// been seen in training.
Classifier with_classes(const Classifier& classifier, ClassList classes, Features class_features);

// The k best classes of each row, best first; ties to the lower class. (n x k), row-major.
struct TopK {
  std::int64_t k = 0;
  std::vector<std::int32_t> classes;
  std::vector<double> scores;
};

// Whether rows are as they were measured, or the classifier's normalisation has been applied to them already, as it has
// to those of a Dataset that says so.
enum class Rows { raw, normalized };

// A classifier made ready: checked once, its weights laid out once, in float32 where they are float32 values. Then a
// call costs what its rows cost. Products and sums are in double. A row's scores have the same bits however many rows
// are asked for, and on any number of threads; a row's dense and sparse forms have the same scores too. Any number of
// threads may use one predictor at the same time, and copies share the weights.
class Predictor {
 public:
  // Error{data} where the classifier does not add up. It need not outlive this.
  explicit Predictor(const Classifier& classifier, Rows rows = Rows::raw, int threads = 0);

  std::int64_t d() const;
  std::int64_t m() const;

  // Of rows (n x d), Error{data} for another width. Rows are normalised a few at a time; X is never copied.
  std::vector<double> scores(const Features& X, int threads = 0) const;   // S: (n x m), row-major
  void scores_into(const Features& X, double* S, int threads = 0) const;  // the same where the caller wants them
  TopK top_k(const Features& X, std::int64_t k, int threads = 0) const;
  std::vector<std::int32_t> predict(const Features& X, int threads = 0) const;  // n: the best class of each

 private:
  struct Prepared;
  std::shared_ptr<const Prepared> prepared_;
};

}  // namespace topwolf
