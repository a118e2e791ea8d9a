// A data set: features, class labels and the list of classes; and how one is read from a file.
// File formats are described in file_formats.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topwolf/matrix.hpp"

namespace topwolf {

// What labels are, decided over all of them.
enum class LabelType {
  integer,  // whole numbers, compared digit by digit
  real,     // numbers
  boolean,  // true or false, in either spelling
  text,     // anything
};
template <>
struct Names<LabelType> {
  static constexpr std::array<std::string_view, 4> all{"integer", "real", "boolean", "text"};
};

// The classes in their order; class j is printed as names[j].
struct ClassList {
  LabelType type = LabelType::integer;  // of all of them
  std::vector<std::string> names;       // as the labels are spelled
  // m
  std::int64_t size() const { return static_cast<std::int64_t>(names.size()); }
};

// A stored preparation of the features, made on the training data and applied again when predicting.
enum class NormalizeKind {
  none,    // rows as they are
  unit,    // every row divided by its length
  maxabs,  // every column divided by its largest magnitude
};
template <>
struct Names<NormalizeKind> {
  static constexpr std::array<std::string_view, 3> all{"none", "unit", "maxabs"};
};
// The kind, and what was measured for it.
struct Normalization {
  NormalizeKind kind = NormalizeKind::none;  // none: nothing is done
  std::vector<double> scale;                 // maxabs: d column maxima (0 for a column of zeros); else empty
};

// What it costs to take a row for another class than its own, row by row: at least 0, and 0 for its own class.
struct Margins {
  Features values;  // (n x m) in float64; sparse: what is not stored is `other`, and 0 for the own class; 0 rows: none
  double other = 1.0;    // what a sparse matrix does not store
  std::string source{};  // the file's name, for messages; "" = none
  // Whether there are any.
  bool given() const { return values.rows() > 0; }
};

// What training needs.
struct Dataset {
  Features X;                     // (n x d)
  std::vector<std::int32_t> y;    // n class numbers in 0 .. m-1
  ClassList classes;              // m
  std::vector<double> weights;    // omega, n; empty: every weight is 1
  int index_base = 1;             // of the text file it came from
  Normalization normalization{};  // already applied to X; train() passes it on to the model
  Margins margins{};              // instead of a cost matrix
  Features class_features{};      // phi (m x p) in float64: psi(x, j) = phi_j (x) x; 0 rows: the identity
  std::string source{};           // the file's name, for messages; "" = none
};

// What a file holds, before classes are known: rows, and for each row a label or none.
struct RawDataset {
  FeatureStore X;                         // (n x d)
  std::shared_ptr<const RowSource> rows;  // in the place of X, with LoadOptions::on_disk
  std::vector<std::int32_t> label;        // n indices into spelling; -1: the row has no label
  std::vector<std::string> spelling;      // each distinct label as written, in order of first appearance
  std::vector<double> weights;            // n example weights, with LoadOptions::label_weights; else empty
  std::optional<LabelType> label_type;    // set where the file declares it (npy); else found from the spellings
  int index_base = 1;                     // of LIBSVM text: 0 or 1
  std::string source;                     // the file's name, for messages
  std::string label_source;               // the same of the labels, where they are in a file of their own

  // n
  std::int64_t size() const {
    return rows ? rows->rows() : std::visit([](const auto& store) { return store.rows; }, X);
  }
  // Where the labels are from, for messages.
  const std::string& labels_from() const { return label_source.empty() ? source : label_source; }
};

// How many bytes a compressed file, or the arrays of a .npz, may unpack to; none: the larger of 1 GiB and 1,000 times
// the file's size. More is Error{data}.
using UnpackLimit = std::optional<std::int64_t>;

// Which file, and how it is to be read (file_formats.md).
struct LoadOptions {
  std::string path;               // "-": standard input (LIBSVM text)
  std::string labels_path;        // labels in a file of their own (.npy or one a line); "" = none
  std::string label_column;       // CSV: a name, or a number from 1; "" = see file_formats.md
  std::optional<int> index_base;  // LIBSVM text: 0 or 1; none = 0 if some index is 0, else 1
  bool label_weights = false;     // a label is written label:weight, or label alone for a weight of 1
  UnpackLimit max_unpacked{};     // of this file and that of the labels
  // How features are stored. None: as the file has them where that is in 16 bits, else float32; of rows that meet a
  // classifier in float64, float64.
  std::optional<Precision> precision{};
  int threads = 0;  // 0: all cores
  // The rows stay in the file, and only labels are loaded: .npy and .twd, or several of them, where `path` (and
  // labels_path with it) is a pattern such as emb_*.npy. Values are checked when they are read.
  bool on_disk = false;
};

// Whatever the file holds, with or without labels.
RawDataset load_raw(const LoadOptions& options);

// Classes of all labelled rows: by value if all are numbers, else by bytes. Numbers that are equal are one class,
// printed as first spelled.
ClassList collect_classes(const RawDataset& raw);

// The class number of every row, -1 for a label that is not in the list or missing.
std::vector<std::int32_t> map_labels(const RawDataset& raw, const ClassList& classes);

// Every row labelled, at least two classes; takes the features over.
Dataset make_dataset(RawDataset raw);

// Both in one. A row without a label is refused with its place in the file.
Dataset load_dataset(const LoadOptions& options);
// The same with nothing but a path.
Dataset load_dataset(const std::string& path);

// ---- Example weights: at least 0, finite; 0 leaves the row out

// n numbers, .npy or one a line.
std::vector<double> load_weights(const std::string& path, std::int64_t n, UnpackLimit max_unpacked = {});
// One weight a class: lines of a label and a weight; a class that is not named weighs 1.
std::vector<double> load_class_weights(const std::string& path, const ClassList& classes,
                                       UnpackLimit max_unpacked = {});
// N / (m N_j), where N_j is what the rows of class j weigh: every class weighs the same.
std::vector<double> balanced_class_weights(const Dataset& data);
// Multiplies the weight of every row with that of its class.
void weigh_classes(Dataset& data, const std::vector<double>& class_weights);

// ---- Some of the rows

// Copies, in the order of `rows`, which count from 0; Error{data} for one that there is not.
Features rows_of(const Features& X, std::span<const std::int64_t> rows);
// The same of all that belongs to the rows; the classes, their features and the normalisation stay.
Dataset subset(const Dataset& data, std::span<const std::int64_t> rows);

// ---- Columns

// The columns, ascending, that training on X with m classes keeps weights for: those that occur, where X is sparse,
// fewer than half of them do, and what that saves is worth it. Empty: all.
std::vector<std::int32_t> kept_columns(const Features& X, std::int64_t m);

// ---- Preparing features

// Measures what the kind needs.
Normalization fit_normalization(NormalizeKind kind, const FeatureStore& X);
// In place, but that what was stored in 16 bits is float32 afterwards. A column that the measured rows did not have
// stays as it is.
void apply_normalization(const Normalization& normalization, FeatureStore& X);

// ---- Writing

// By the path's ending: .svm, .libsvm or .txt (LIBSVM text), .csv, .npz (X and y, or as scipy.sparse.save_npz with y),
// .npy (features alone; labels_path, only here, takes the labels: .npy, else one a line), .twd. Other endings are
// Error{option}, and what the format cannot say, such as a label with a blank in LIBSVM text, is Error{data}. A file
// appears whole or not at all.
void write_dataset(const RawDataset& raw, const std::string& path, const std::string& labels_path = "");

// The bytes that write_dataset would write at least: exactly for .npy, two for each cell of .csv, what is stored for
// .twd; 0 where that is not known before.
std::int64_t least_written(const RawDataset& raw, const std::string& path);

// Whether the format of the path writes every value, also those that sparse features do not store.
bool writes_dense(const std::string& path);

}  // namespace topwolf
