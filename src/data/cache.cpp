// .twd: a tensor file with the features, the labels and their spellings. Spellings are bytes, not JSON: a label need
// not be UTF-8.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/fail.hpp"
#include "core/strict_json.hpp"
#include "core/tensor_file.hpp"
#include "data/features.hpp"
#include "data/readers.hpp"
#include "data/row_files.hpp"
#include "data/write.hpp"

namespace topwolf {

namespace {

using nlohmann::json;

constexpr const char* format_name = "topwolf-data";
constexpr int format_version = 1, half_version = 2;  // with values of 16 bits, which version 1 did not have

template <class T>
Tensor make_tensor(const char* name, const std::vector<T>& values) {
  return {name, std::string(dtype_of<T>()), {static_cast<std::int64_t>(values.size())}, values.data()};
}

[[noreturn]] void fail_cache(const std::string& path, const char* reason) {
  fail(ErrorKind::data, "{}: not a valid data file of topwolf: {}", path, reason);
}

template <class T>
std::vector<T> take(const TensorFile& file, const char* name) {
  const auto values = file.get<T>(name);
  return {values.begin(), values.end()};
}

template <class T>
FeatureStore read_features(const TensorFile& file, std::int64_t rows, std::int64_t cols) {
  if (!file.has("row_begin")) {
    DenseStore<T> X{take<T>(file, "values"), rows, cols};
    std::int64_t size = 0;
    // Rows without columns take no room in the file, so their number proves nothing.
    if (cols == 0 || __builtin_mul_overflow(rows, cols, &size) || static_cast<std::size_t>(size) != X.values.size()) {
      fail_cache(file.path(), "its values do not fit its shape");
    }
    for (std::int64_t k = 0; k < size; ++k) {
      const T value = X.values[static_cast<std::size_t>(k)];
      if (!std::isfinite(value)) fail_not_finite(file.path(), k / cols, k % cols, value, precision_of<T>);
    }
    return X;
  }
  if constexpr (is_half(precision_of<T>)) {
    fail_cache(file.path(), "its sparse values are not float32 or float64");
  } else {
    CsrStore<T> X{take<std::int64_t>(file, "row_begin"), take<std::int32_t>(file, "column"), take<T>(file, "values"),
                  rows, cols};
    check_csr(X, file.path());
    return X;
  }
}

FeatureStore read_values(const TensorFile& file, std::int64_t rows, std::int64_t cols) {
  const std::string& type = file.dtype("values");
  if (type == dtype_of<float>()) return read_features<float>(file, rows, cols);
  if (type == dtype_of<Float16>()) return read_features<Float16>(file, rows, cols);
  if (type == dtype_of<BFloat16>()) return read_features<BFloat16>(file, rows, cols);
  return read_features<double>(file, rows, cols);
}

std::vector<std::string> read_spellings(const TensorFile& file) {
  const auto bytes = file.get<std::uint8_t>("spelling");
  const auto ends = file.get<std::int64_t>("spelling_end");
  std::vector<std::string> result;
  std::int64_t begin = 0;
  // The checksum guards against accidents alone; a forged file must not lead out of its own bytes.
  for (const std::int64_t end : ends) {
    if (end < begin || end > static_cast<std::int64_t>(bytes.size())) {
      fail_cache(file.path(), "its labels are not where it says");
    }
    result.emplace_back(bytes.begin() + begin, bytes.begin() + end);
    begin = end;
  }
  return result;
}

// Not a conversion: 1e308 is a number that no integer holds.
std::int64_t read_integer(const json& metadata, const char* key, std::int64_t least, std::int64_t most,
                          const std::string& path) {
  const json& value = metadata.at(key);
  const bool fits =
      value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    fail_cache(path, "its metadata is out of range");
  }
  return value.get<std::int64_t>();
}

}  // namespace

JoinedSpellings joined_spellings(const RawDataset& raw) {
  JoinedSpellings out;
  for (const std::string& spelling : raw.spelling) {
    out.bytes.insert(out.bytes.end(), spelling.begin(), spelling.end());
    out.ends.push_back(static_cast<std::int64_t>(out.bytes.size()));
  }
  return out;
}

std::string cache_metadata(const RawDataset& raw, Precision precision, std::int64_t rows, std::int64_t cols) {
  json metadata = {{"format", format_name}, {"index_base", raw.index_base}, {"rows", rows}, {"cols", cols}};
  metadata["version"] = is_half(precision) ? half_version : format_version;
  if (raw.label_type) metadata["label_type"] = to_string(*raw.label_type);
  return metadata.dump();
}

void write_cache(const RawDataset& raw, const std::string& path) {
  const auto [bytes, ends] = joined_spellings(raw);
  std::vector<Tensor> tensors{make_tensor("label", raw.label), make_tensor("spelling", bytes),
                              make_tensor("spelling_end", ends)};
  std::visit(
      [&](const auto& X) {
        tensors.push_back(make_tensor("values", X.values));
        if constexpr (requires { X.row_begin; }) {
          tensors.push_back(make_tensor("row_begin", X.row_begin));
          tensors.push_back(make_tensor("column", X.column));
        }
        write_tensor_file(path, tensors, cache_metadata(raw, stored_precision(raw.X), X.rows, X.cols));
      },
      raw.X);
}

namespace {

struct Shape {
  std::int64_t rows = 0, cols = 0;
};

// Metadata and labels.
Shape read_all_but_features(const TensorFile& file, RawDataset& raw) {
  const std::string& path = file.path();
  const json metadata = parse_strict_json(file.metadata(), path, "the metadata");
  raw.source = path;
  Shape shape;
  try {
    if (!says(metadata, "format", format_name)) fail_cache(path, "it holds something else");
    read_integer(metadata, "version", format_version, half_version, path);
    shape.rows = read_integer(metadata, "rows", 1, INT64_MAX, path);
    shape.cols = read_integer(metadata, "cols", 0, most_columns, path);
    raw.index_base = static_cast<int>(read_integer(metadata, "index_base", 0, 1, path));
    if (metadata.contains("label_type")) {
      raw.label_type = parse_name<LabelType>(metadata["label_type"].get<std::string>());
      if (!raw.label_type) fail_cache(path, "its type of labels is unknown");
    }
  } catch (const json::exception&) {
    fail_cache(path, "its metadata is incomplete");
  }
  raw.label = take<std::int32_t>(file, "label");
  raw.spelling = read_spellings(file);
  const auto count = static_cast<std::int64_t>(raw.spelling.size());
  if (std::any_of(raw.label.begin(), raw.label.end(), [&](std::int32_t k) { return k < -1 || k >= count; })) {
    fail_cache(path, "a row has a label that is not in its list");
  }
  return shape;
}

Precision precision_of_values(const TensorFile& file) {
  const std::string& type = file.dtype("values");
  if (type == dtype_of<float>()) return Precision::float32;
  if (type == dtype_of<Float16>()) return Precision::float16;
  if (type == dtype_of<BFloat16>()) return Precision::bfloat16;
  if (type != dtype_of<double>()) fail_cache(file.path(), "its values are no real numbers");
  return Precision::float64;
}

std::int64_t numbers(const TensorFile& file, const char* name) {
  std::int64_t count = 1;
  for (const std::int64_t extent : file.shape(name)) count *= extent;
  return count;
}

}  // namespace

RawDataset read_cache(const std::string& path) {
  const TensorFile file = TensorFile::read(path);
  RawDataset raw;
  const auto [rows, cols] = read_all_but_features(file, raw);
  raw.X = read_values(file, rows, cols);
  return raw;
}

SharedRows open_cache_rows(const std::string& path, RawDataset& raw) {
  constexpr std::array<std::string_view, 3> features{"values", "row_begin", "column"};
  const TensorFile file = TensorFile::read_but(path, features);
  const auto [rows, cols] = read_all_but_features(file, raw);
  RowsInFile what{path, rows, cols, precision_of_values(file), file.place("values")};
  const std::int64_t stored = numbers(file, "values");
  std::int64_t cells = 0;
  if (!file.has("row_begin")) {
    if (cols == 0 || __builtin_mul_overflow(rows, cols, &cells) || cells != stored) {
      fail_cache(path, "its values do not fit its shape");
    }
    return open_in_file(what);
  }
  if (is_half(what.precision)) fail_cache(path, "its sparse values are not float32 or float64");
  const bool fits = file.dtype("row_begin") == dtype_of<std::int64_t>() &&
                    file.dtype("column") == dtype_of<std::int32_t>() && numbers(file, "row_begin") - 1 == rows &&
                    numbers(file, "column") == stored;
  if (!fits) fail_cache(path, "its row bounds do not fit its shape");
  what.row_begin = file.place("row_begin");
  what.column = file.place("column");
  SharedRows out = open_in_file(what);
  if (out->stored(0, rows) != stored) fail_cache(path, "its row bounds do not fit its values");
  return out;
}

}  // namespace topwolf
