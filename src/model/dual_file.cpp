// Writes and reads the dual as a tensor file: row_begin (I64), column (I32), values (F64), and who they belong to.
#include "topwolf/dual.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "core/fail.hpp"
#include "core/strict_json.hpp"
#include "core/tensor_file.hpp"

namespace topwolf {
namespace {

constexpr const char* dual_format = "topwolf-dual";
constexpr std::int64_t dual_version = 1;

std::int64_t size_of(const auto& items) {
  return static_cast<std::int64_t>(items.size());
}

void check_metadata(const TensorFile& file) {
  const nlohmann::json metadata = parse_strict_json(file.metadata(), file.path(), "the metadata");
  if (!says(metadata, "format", dual_format)) {
    fail(ErrorKind::data, "{}: the file is not a dual that topwolf wrote", file.path());
  }
  if (!metadata.contains("format_version") || metadata["format_version"] != dual_version) {
    fail(ErrorKind::data, "{}: the dual's format version is not {}, the only one known", file.path(), dual_version);
  }
}

template <class T>
std::vector<T> vector_of(const TensorFile& file, const char* name) {
  const std::span<const T> values = file.get<T>(name);
  if (file.shape(name).size() != 1) {
    fail(ErrorKind::data, "{}: tensor {} has {} dimensions, but must have one", file.path(), name,
         file.shape(name).size());
  }
  return {values.begin(), values.end()};
}

}  // namespace

void save_dual(const SparseRows& dual, std::int64_t m, const std::string& data_hash, const std::string& path) {
  check_dual(dual, dual.rows(), m, path);
  const nlohmann::json metadata = {{"format", dual_format},
                                   {"format_version", dual_version},
                                   {"rows", dual.rows()},
                                   {"classes", m},
                                   {"data_hash", data_hash}};
  const std::array<Tensor, 3> tensors = {
      Tensor{"row_begin", "I64", {size_of(dual.row_begin)}, dual.row_begin.data()},
      Tensor{"column", "I32", {size_of(dual.column)}, dual.column.data()},
      Tensor{"values", "F64", {size_of(dual.values)}, dual.values.data()},
  };
  write_tensor_file(path, tensors, metadata.dump());
}

SparseRows load_dual(const std::string& path, std::int64_t n, std::int64_t m) {
  const TensorFile file = TensorFile::read(path);
  check_metadata(file);
  SparseRows dual;
  dual.row_begin = vector_of<std::int64_t>(file, "row_begin");
  dual.column = vector_of<std::int32_t>(file, "column");
  dual.values = vector_of<double>(file, "values");
  check_dual(dual, n, m, path);
  return dual;
}

void check_dual(const SparseRows& dual, std::int64_t n, std::int64_t m, const std::string& source) {
  const std::int64_t count = size_of(dual.values);
  if (dual.row_begin.empty() || dual.rows() != n) {
    fail(ErrorKind::data, "{}: the dual has {} rows, but the data has {}", source, size_of(dual.row_begin) - 1, n);
  }
  if (size_of(dual.column) != count || dual.row_begin.front() != 0 || dual.row_begin.back() != count) {
    fail(ErrorKind::data, "{}: the dual has {} classes and {} values in row pointers from {} to {}; all must agree",
         source, dual.column.size(), count, dual.row_begin.front(), dual.row_begin.back());
  }
  for (std::int64_t i = 0; i < n; ++i) {
    // Checked before any is used: pointers that ascend to `count` stay inside the arrays.
    if (dual.row_begin[i] > dual.row_begin[i + 1]) {
      fail(ErrorKind::data, "{}: the row pointers of the dual descend at row {}", source, i + 1);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t previous = -1;
    for (std::int64_t p = dual.row_begin[i]; p < dual.row_begin[i + 1]; ++p) {
      if (dual.column[p] <= previous || dual.column[p] >= m) {
        fail(ErrorKind::data, "{}: row {} of the dual names class {} after class {}; classes ascend from 0 to {}",
             source, i + 1, dual.column[p], previous, m - 1);
      }
      if (!std::isfinite(dual.values[p])) {
        fail(ErrorKind::data, "{}: row {} of the dual holds a number that is not finite", source, i + 1);
      }
      previous = dual.column[p];
    }
  }
}

}  // namespace topwolf
