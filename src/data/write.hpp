// A data set into a file of another format. A file appears whole or not at all. Refuses, with Error{data}, what the
// format cannot say, such as a label with a blank in LIBSVM text.
#pragma once

#include <string>

#include "topwolf/dataset.hpp"

namespace topwolf {

// By the path's ending: .svm, .libsvm or .txt (LIBSVM text), .csv, .npz (X and y, or as scipy.sparse.save_npz with y),
// .npy (features alone; labels_path, only here, takes the labels: .npy, else one a line), .twd. Other endings are
// Error{option}.
void write_dataset(const RawDataset& raw, const std::string& path, const std::string& labels_path = "");

// The bytes that write_dataset would write at least: exactly for .npy, two for each cell of .csv, what is stored for
// .twd; 0 where that is not known before.
std::int64_t least_written(const RawDataset& raw, const std::string& path);

// Whether the format of the path writes every value, also those that sparse features do not store.
bool writes_dense(const std::string& path);

// Whether any row has a label.
bool has_labels(const RawDataset& raw);

// Writers of one format each.
void write_libsvm(const RawDataset& raw, const std::string& path);
void write_csv(const RawDataset& raw, const std::string& path);
void write_label_lines(const RawDataset& raw, const std::string& path);
void write_npy_features(const RawDataset& raw, const std::string& path);
void write_npy_labels(const RawDataset& raw, const std::string& path);
void write_npz(const RawDataset& raw, const std::string& path);
void write_cache(const RawDataset& raw, const std::string& path);

}  // namespace topwolf
