// From a path to rows and labels: which format, which reader, and what all formats have in common.
#include <algorithm>
#include <new>
#include <stdexcept>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "data/byte_source.hpp"
#include "data/features.hpp"
#include "data/labels.hpp"
#include "data/npy.hpp"
#include "data/readers.hpp"
#include "data/row_files.hpp"
#include "data/text.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/on_disk.hpp"

namespace topwolf {

namespace {

// In lower case, without the ending of a compressor.
std::string plain_name(const std::string& path) {
  std::string name = lower_case(path);
  for (const char* ending : {".gz", ".bz2", ".xz", ".zst"}) {
    if (name.ends_with(ending)) return name.substr(0, name.rfind('.'));
  }
  return name;
}

// `bytes`: the content, decompressed; null: it is read from the file as it is needed.
RawDataset read_npy(const Buffer* bytes, const ReadOptions& options, const std::string& name) {
  if (options.labels_path.empty() && !options.labels_optional) {
    fail(ErrorKind::data, "{}: a .npy file holds features only; labels must come from a file of their own ({})", name,
         Field{"labels_path"});
  }
  RawDataset raw;
  raw.source = name;
  if (bytes) {
    raw.X = npy_features(bytes->view(), options.number(), options.threads, name);
  } else {
    InputFile file(options.path);
    raw.X = read_npy_features([&](char* to, std::size_t count) { return file.read(to, count); }, file.size(),
                              options.number(), options.threads, name);
  }
  return raw;
}

bool is_csv(const std::string& plain) {
  return plain.ends_with(".csv") || plain.ends_with(".tsv");
}

// LIBSVM text that is not packed, in a file.
bool is_plain_text(const std::string& path) {
  const std::string plain = plain_name(path), head = peek_bytes(path, 8);
  return !head.empty() && compression_of(head) == Compression::none && !is_zip(head) && !is_npy(head) &&
         !plain.ends_with(".npz") && !plain.ends_with(".npy") && !plain.ends_with(".twd") && !is_csv(plain);
}

// What a file begins with says more than its name.
RawDataset read_any(const ReadOptions& options) {
  const std::string name = display_name(options.path);
  const std::string plain = plain_name(options.path);
  const std::string head = peek_bytes(options.path, 8);
  if (is_zip(head) || (lower_case(options.path).ends_with(".npz") && !head.empty())) return read_npz(options);
  if (is_npy(head)) return read_npy(nullptr, options, name);
  if (plain.ends_with(".twd")) return read_cache(options.path);
  // Text that is not packed is parsed from the file in pieces; everything below this is unpacked into memory first.
  if (is_plain_text(options.path)) return parse_libsvm(TextSource(options.path), options, name);

  Buffer bytes = read_bytes(options.path, options.max_unpacked, resolve_threads(options.threads));
  if (is_zip(bytes.view()) || plain.ends_with(".npz")) {
    fail(ErrorKind::data, "{}: a .npz must be a plain file that is not empty", name);
  }
  if (is_npy(bytes.view()) || plain.ends_with(".npy")) return read_npy(&bytes, options, name);
  if (is_csv(plain)) return parse_csv(bytes, options, name);
  return parse_libsvm(TextSource(std::move(bytes)), options, name);
}

void replace_labels(RawDataset& raw, const std::string& path, UnpackLimit max_unpacked) {
  Labels labels = read_label_file(path, max_unpacked);
  const std::int64_t rows = raw.size();
  if (static_cast<std::int64_t>(labels.label.size()) != rows) {
    fail(ErrorKind::data, "{}: there are {} labels for the {} rows of {}", display_name(path), labels.label.size(),
         rows, raw.source);
  }
  raw.label = std::move(labels.label);
  raw.spelling = std::move(labels.spelling);
  raw.label_type = labels.type;
  raw.label_source = display_name(path);
}

void check_labels(RawDataset& raw, const ReadOptions& options) {
  const std::int64_t rows = raw.size();
  if (raw.label.empty()) raw.label.assign(static_cast<std::size_t>(rows), -1);
  if (static_cast<std::int64_t>(raw.label.size()) != rows) {
    fail(ErrorKind::data, "{}: there are {} labels for {} rows", raw.labels_from(), raw.label.size(), rows);
  }
  const auto missing = std::find(raw.label.begin(), raw.label.end(), -1);
  if (missing == raw.label.end() || options.labels_optional) return;
  fail(ErrorKind::data, "{}: row {} (counted from 1) has no label", raw.labels_from(), missing - raw.label.begin() + 1);
}

// As many as the model has, or more where sparse rows may keep theirs.
std::int64_t columns_for(const ReadOptions& options, const FeatureStore& X) {
  const bool sparse = is_sparse(X);
  const std::int64_t own = std::visit([](const auto& store) { return store.cols; }, X);
  return sparse && options.keep_beyond_cols ? std::max(own, *options.cols) : *options.cols;
}

// The same as below, but that what is done to the rows is done when they are read.
RawDataset open_checked(RawDataset raw, const ReadOptions& options) {
  if (options.cols && raw.rows->cols() != *options.cols) {
    const std::int64_t cols = *options.cols, own = raw.rows->cols();
    if (!raw.rows->sparse()) {
      fail(ErrorKind::data, "{}: the rows have {} features, but {} are expected", raw.source, own, cols);
    }
    raw.rows = changed(raw.rows, cols, raw.rows->precision(),
                       [cols, name = raw.source](FeatureStore& X) { fit_columns(X, cols, name); });
  }
  const Precision precision = options.number().of(raw.rows->precision());
  if (precision != raw.rows->precision()) {
    raw.rows = changed(raw.rows, raw.rows->cols(), precision,
                       [precision, name = raw.source](FeatureStore& X) { convert_precision(X, precision, name); });
  }
  if (options.label_weights) split_label_weights(raw);
  check_labels(raw, options);
  return raw;
}

RawDataset read_checked(const ReadOptions& options, ReadReport& report) {
  if (options.path == "-" && options.labels_path == "-") {
    fail(ErrorKind::option, "standard input cannot hold both the data and the labels");
  }
  if (options.on_disk) {
    RawDataset raw = open_rows(options);
    // What a sparse file has beyond the columns that are wanted is dropped in memory alone.
    const bool wider = options.cols && raw.rows->sparse() && raw.rows->cols() > *options.cols;
    if (!wider) return open_checked(std::move(raw), options);
  }
  RawDataset raw = read_any(options);
  // The order counts: columns are dropped before dense is decided, 16 bits are for what is dense then, and weights are
  // split from labels of a file of their own, too.
  if (options.cols) report.dropped_values = fit_columns(raw.X, columns_for(options, raw.X), raw.source);
  if (!options.keep_sparse) make_dense_if_full(raw.X);
  convert_precision(raw.X, options.number().of(stored_precision(raw.X)), raw.source);
  if (!options.labels_path.empty()) replace_labels(raw, options.labels_path, options.max_unpacked);
  if (options.label_weights) split_label_weights(raw);
  check_labels(raw, options);
  return raw;
}

}  // namespace

RawDataset read_raw(const ReadOptions& options, ReadReport* report) {
  ReadReport unwanted;
  try {
    return read_checked(options, report != nullptr ? *report : unwanted);
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::memory, "{}: there is not enough memory to load it", display_name(options.path));
  } catch (const std::length_error&) {
    fail(ErrorKind::memory, "{}: there is not enough memory to load it", display_name(options.path));
  }
}

RawDataset load_raw(const LoadOptions& options) {
  const IeeeArithmetic ieee;
  ReadOptions lenient = options;
  lenient.labels_optional = true;
  return read_raw(lenient);
}

RawDataset open_raw(const LoadOptions& options) {
  const IeeeArithmetic ieee;
  ReadOptions lenient = options;
  lenient.labels_optional = true;
  lenient.on_disk = can_stay_on_disk(options.path);
  if (lenient.on_disk || !is_plain_text(options.path)) return read_raw(lenient);
  RawDataset raw;
  raw.rows = open_libsvm_rows(lenient, raw);
  const double cells = static_cast<double>(raw.rows->rows()) * static_cast<double>(raw.rows->cols());
  // As make_dense_if_full() has it of rows in memory.
  if (static_cast<double>(raw.rows->stored(0, raw.rows->rows())) > 0.5 * cells) raw.rows = made_dense(raw.rows);
  if (!lenient.labels_path.empty()) replace_labels(raw, lenient.labels_path, lenient.max_unpacked);
  return open_checked(std::move(raw), lenient);
}

RawDataset open_files(const std::vector<std::string>& paths, const std::vector<std::string>& labels,
                      const LoadOptions& options) {
  const IeeeArithmetic ieee;
  ReadOptions lenient = options;
  lenient.labels_optional = true;
  RawDataset raw = open_rows(paths, labels, lenient);
  if (!lenient.precision) lenient.precision = raw.rows->precision();
  return open_checked(std::move(raw), lenient);
}

Dataset load_dataset(const LoadOptions& options) {
  return make_dataset(read_raw(options));
}

Dataset load_dataset(const std::string& path) {
  LoadOptions options;
  options.path = path;
  return load_dataset(options);
}

}  // namespace topwolf
