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
  double temperature = 0.0;                  // T of its probabilities, e^(s_j / T) over the sum; 0: it gives none

  // How many classes there are.
  std::int64_t m() const { return classes.size(); }
  // How many features have weights.
  std::int64_t width() const { return columns.empty() ? d : static_cast<std::int64_t>(columns.size()); }
  // The same with the constant feature, where there is one.
  std::int64_t D() const { return width() + (bias != 0.0 ? 1 : 0); }
};

// What a run proved about the weights it returned.
struct Claim {
  Status status = Status::converged;  // why it stopped
  Certificate certificate;            // at these weights
  // The same numbers.
  bool operator==(const Claim&) const = default;
};

// How a classifier was made. Empty for one that another program trained.
struct Provenance {
  LossSpec loss;                // k and rho as they were used
  double lambda = 0.0;          // of the regulariser
  double weight_sum = 0.0;      // N
  std::vector<double> mean;     // width() numbers, where TrainOptions::center took them off the rows; else empty
  std::string solver;           // by which method
  std::int64_t iterations = 0;  // passes that it took
  std::optional<Claim> claim;   // none: nobody vouches for these weights
  std::string command;          // line that trained it; "": none
  std::string version;          // of topwolf
  std::string data_hash;        // fingerprint of the training rows and labels
  std::string search;           // how C and the loss were chosen, as JSON; "" where they were given
  // The same in every field.
  bool operator==(const Provenance&) const = default;
};

// A classifier and where it comes from: what a model file holds (file_formats.md).
struct Model : Classifier {
  Provenance provenance;  // where it comes from
};

// ---- Files

// Written to a temporary file beside it, synced, renamed.
void save_model(const Model& model, const std::string& path);
// Reads a .topwolf file, or LIBLINEAR's text format.
Model load_model(const std::string& path);
// LIBLINEAR's text format. Error{data} where that cannot say what the model is: labels that are no integers, features
// counted from 0, a bias together with rows of unit length.
void save_liblinear(const Model& model, const std::string& path);
// Whether a file is one of the two, by its first bytes.
bool is_model_file(const std::string& path);

// A classifier that another program trained, as NumPy arrays: .npy holds the matrix of weights, a row per class; .npz
// holds `coef` or `coef_` and, where there are such, `intercept` or `intercept_` and `classes` or `classes_`.
//
// For rows of d features. `classes` are those of the matrix's rows, in order, where the file names none. One row for
// two classes is scikit-learn's: its score is that of the second less that of the first. Without an array of
// intercepts one more column than d holds them. Intercepts other than 0 give the model a bias of 1.
Model load_coefficients(const std::string& path, std::int64_t d, const ClassList& classes,
                        UnpackLimit max_unpacked = {});
// Whether a file is such an array, by its first bytes.
bool is_coefficient_file(const std::string& path);

// ---- Predicting

// The same weights for other classes, known by their features (rows as many as classes, p columns); they need not have
// been seen in training.
Classifier with_classes(const Classifier& classifier, ClassList classes, Features class_features);

// The k best classes of each row, best first; ties to the lower class. (n x k), row-major.
struct TopK {
  std::int64_t k = 0;                 // how many of each row
  std::vector<std::int32_t> classes;  // their numbers
  std::vector<double> scores;         // their scores
};

// Whether rows are as they were measured, or the classifier's normalisation has been applied to them already, as it has
// to those of a Dataset that says so.
enum class Rows {
  raw,         // the predictor normalises them
  normalized,  // they stay as they are
};

// A classifier made ready: checked once, its weights laid out once, in float32 where they are float32 values. Then a
// call costs what its rows cost. Products and sums are in double. A row's scores have the same bits however many rows
// are asked for, and on any number of threads; a row's dense and sparse forms have the same scores too. Any number of
// threads may use one predictor at the same time, and copies share the weights.
class Predictor {
 public:
  // Error{data} where the classifier does not add up. It need not outlive this.
  explicit Predictor(const Classifier& classifier, Rows rows = Rows::raw, int threads = 0);

  // Features of a row.
  std::int64_t d() const;
  // Classes.
  std::int64_t m() const;

  // S (n x m), row-major, of rows (n x d); here and below Error{data} for another width. Rows are normalised a few at a
  // time, and X is never copied.
  std::vector<double> scores(const Features& X, int threads = 0) const;
  // The same where the caller wants them.
  void scores_into(const Features& X, double* S, int threads = 0) const;
  // The k best classes of each row, 1 <= k <= m.
  TopK top_k(const Features& X, std::int64_t k, int threads = 0) const;
  // n: the best class of each row.
  std::vector<std::int32_t> predict(const Features& X, int threads = 0) const;

  // Of the classifier; 0: it gives no probabilities, and the two that follow throw Error{data}.
  double temperature() const;
  // P (n x m), row-major, where the caller wants them: rows sum to 1.
  void probabilities_into(const Features& X, double* P, int threads = 0) const;
  // top_k() with probabilities in the place of scores.
  TopK likeliest(const Features& X, std::int64_t k, int threads = 0) const;

 private:
  struct Prepared;
  std::shared_ptr<const Prepared> prepared_;
};

}  // namespace topwolf
