// The readers, one for each format (file_formats.md). What a reader would have to guess about it refuses, with
// Error{data} and the place, `file:line:column` where the file is text. Which one reads a file is said in load.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "data/buffer.hpp"
#include "data/features.hpp"
#include "data/text_source.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

// What a reader is told: the user's wishes, and what the rows are for.
struct ReadOptions : LoadOptions {
  ReadOptions() = default;
  ReadOptions(LoadOptions wishes) : LoadOptions(std::move(wishes)) {}
  NumberChoice number() const { return {precision, usual_precision}; }

  bool labels_optional = false;      // rows without a label are welcome
  std::optional<std::int64_t> cols;  // the number of columns there must be: sparse values beyond are dropped
  bool keep_beyond_cols = false;     // they are kept, and the rows are wider
  std::string usual_label_column;    // CSV: label_column, but only where the file has a label column at all
  Precision usual_precision = Precision::float32;  // where `precision` says nothing (NumberChoice)
  bool keep_sparse = false;                        // what a sparse file does not store is not 0
};

struct ReadReport {
  std::int64_t dropped_values = 0;  // sparse values beyond ReadOptions::cols
};

// A file of any format.
RawDataset read_raw(const ReadOptions& options, ReadReport* report = nullptr);

// ---- LIBSVM text: `label index:value ...`, one row a line

inline constexpr std::size_t libsvm_chunk_bytes = std::size_t{1} << 22;

// Always CSR, with as many columns as the largest index asks for. The result and the error, if any, depend neither on
// the number of threads nor on the chunks.
RawDataset parse_libsvm(const TextSource& text, const ReadOptions& options, const std::string& name,
                        std::size_t chunk_bytes = libsvm_chunk_bytes);

// ---- CSV (RFC 4180): numbers as features and one column of labels; no empty cells, no rows of another length

RawDataset parse_csv(const Buffer& text, const ReadOptions& options, const std::string& name);

// ---- .npz: a zip of .npy arrays, features X with labels y, or what scipy.sparse.save_npz writes (CSR) with y beside
// it

// One array as the .npy bytes it is stored as; none if the archive has no such member.
std::optional<Buffer> read_npz_array(const std::string& path, const std::string& member, UnpackLimit max_unpacked = {});

// Labels only where the archive has them and labels_path does not replace them.
RawDataset read_npz(const ReadOptions& options);

// ---- .twd: a data set as topwolf itself stores it, read back without parsing, in the precision it was stored in

RawDataset read_cache(const std::string& path);

}  // namespace topwolf
