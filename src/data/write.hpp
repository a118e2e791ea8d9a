// The writers, one for each format; which one a path asks for is said in write.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
// Of a .twd file: what stands in its header of rows of this kind, ...
std::string cache_metadata(const RawDataset& raw, Precision precision, std::int64_t rows, std::int64_t cols);
// ... and its spellings, one after the other, with where each ends.
struct JoinedSpellings {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> ends;
};
JoinedSpellings joined_spellings(const RawDataset& raw);

}  // namespace topwolf
