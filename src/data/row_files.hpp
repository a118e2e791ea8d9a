// Rows that stay in their files: .npy and .twd, several of them one after the other, and what is done to rows as they
// are read. Read by pread, never mapped: a file that becomes shorter is an error, not a signal.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/readers.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

using SharedRows = std::shared_ptr<const RowSource>;

// ReadOptions::path or, where it is a pattern (*, ?, [...]) that names no file itself, all files that match, by name;
// labels_path likewise. Rows, labels and all that belongs to them; nothing was converted.
RawDataset open_rows(const ReadOptions& options);
// The same of these files; paths and labels may be patterns.
RawDataset open_rows(const std::vector<std::string>& paths, const std::vector<std::string>& labels,
                     const ReadOptions& options);

// ---- What they are made of

// Rows whose numbers lie in a file as they lie in memory, from `values` on, a byte; CSR where there is a row_begin,
// which may be in another file, as may the columns.
struct RowsInFile {
  std::string path;
  std::int64_t rows = 0, cols = 0;
  Precision precision = Precision::float32;
  std::size_t values = 0;
  std::optional<std::size_t> row_begin{}, column{};
  std::string row_begin_path{}, column_path{};  // "": the same file
};
SharedRows open_in_file(const RowsInFile& what);

// A .npy file; a .twd file with its labels in `raw`.
SharedRows open_npy_rows(const std::string& path, const NumberChoice& number);
// LIBSVM text in a file that is not packed, with its labels in `raw`; each row is parsed whenever it is wanted.
SharedRows open_libsvm_rows(const ReadOptions& options, RawDataset& raw);
SharedRows open_cache_rows(const std::string& path, RawDataset& raw);

// Rows that are in memory after all.
SharedRows rows_in_memory(Features X);

// All of the same kind and width.
SharedRows one_after_the_other(std::vector<SharedRows> parts);

// Sparse rows as dense ones.
SharedRows made_dense(SharedRows rows);

// Rows that `change` is done to as they are read; it keeps their number, and of sparse ones that of the values.
using RowChange = std::function<void(FeatureStore& rows)>;
SharedRows changed(SharedRows rows, std::int64_t cols, Precision precision, RowChange change);

}  // namespace topwolf
