// Rows that stay on disk: which files they can be in, and making such a file of any other, however large.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"

namespace topwolf {

// Whether LoadOptions::on_disk is for this file: .twd, or .npy in C order; or for all files that a pattern matches.
bool can_stay_on_disk(const std::string& path);

// What a RawDataset holds, in memory or not; it is taken over.
Features take_features(RawDataset& raw);

// A C-ordered array of numbers in a file, which a program may have mapped: its rows are read by windows instead.
struct ArrayInFile {
  std::string path;                          // of the file
  std::uint64_t offset = 0;                  // of the first number, in bytes
  std::int64_t rows = 0;                     // n
  std::int64_t cols = 0;                     // d
  Precision precision = Precision::float32;  // what the numbers are
};
// Error{io} where the file is too short for it.
Features rows_in_file(const ArrayInFile& array);

// Sparse rows whose three arrays are files of their own, with nothing else in them.
struct CsrInFiles {
  std::string row_begin;                     // rows + 1 of 64 bits
  std::string column;                        // of 32 bits, ascending within a row
  std::string value;                         // as many as columns
  std::int64_t rows = 0;                     // n
  std::int64_t cols = 0;                     // d
  Precision precision = Precision::float32;  // of the values, not of 16 bits
};
// Error{io} where a file is too short for them.
Features rows_in_files(const CsrInFiles& arrays);

// Several files (.npy, .twd) whose rows stay there, one after the other, and labels from files of their own, one for
// each or one for all; without any, those in the files, if they have some. A pattern stands for the files that match.
// Of the options the paths are not looked at; values are as they are stored unless a precision is asked for, where .npy
// has no other than those of 16 bits and float32.
RawDataset open_files(const std::vector<std::string>& paths, const std::vector<std::string>& labels,
                      const LoadOptions& options);

// How a .twd file is written that may be larger than memory.
struct CacheOptions {
  bool shuffle = false;                        // the rows come in random order, ...
  std::uint64_t seed = 0;                      // ... which follows from this and from `memory`
  std::int64_t memory = 1 << 30;               // bytes for rows at a time
  int threads = 0;                             // 0: all cores
  std::vector<std::int64_t>* order = nullptr;  // the number of every row, in their order in the file; null: not wanted
  // Told now and then which share of the work is done; what it throws ends it.
  std::function<void(double done)> progress{};
};
// The rows go from where they are to the file some at a time. With `shuffle` they are dealt out over parts of the file
// that fit into memory, and each part is then put in random order: rows are written twice. The file appears whole or
// not at all, and has the size that the disk must have room for from the beginning. Example weights are not kept.
void write_cache(RawDataset raw, const std::string& path, const CacheOptions& options);

// LIBSVM text that is no more than a few megabytes in memory at a time, besides its labels; other formats are loaded as
// load_raw() does, or stay on disk.
RawDataset open_raw(const LoadOptions& options);

}  // namespace topwolf
