// The writers, one for each format; which one a path asks for is said in write.cpp.
#pragma once

#include <string>

#include "topwolf/dataset.hpp"

namespace topwolf {

// Whether any row has a label.
bool has_labels(const RawDataset& raw);

void write_libsvm(const RawDataset& raw, const std::string& path);
void write_csv(const RawDataset& raw, const std::string& path);
void write_label_lines(const RawDataset& raw, const std::string& path);
void write_npy_features(const RawDataset& raw, const std::string& path);
void write_npy_labels(const RawDataset& raw, const std::string& path);
void write_npz(const RawDataset& raw, const std::string& path);
void write_cache(const RawDataset& raw, const std::string& path);

}  // namespace topwolf
