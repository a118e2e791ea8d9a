// Small data sets and files for the tests of data/: rows written down, arrays and archives as numpy writes them.
#pragma once

#include <zip.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {

// Rows as dense doubles, whatever the storage.
inline std::vector<std::vector<double>> dense_rows(const FeatureStore& X) {
  return std::visit(
      [](const auto& store) {
        std::vector<std::vector<double>> rows(static_cast<std::size_t>(store.rows),
                                              std::vector<double>(static_cast<std::size_t>(store.cols)));
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if constexpr (requires { store.row_begin; }) {
            for (auto k = static_cast<std::size_t>(store.row_begin[i]);
                 k < static_cast<std::size_t>(store.row_begin[i + 1]); ++k) {
              rows[i].at(static_cast<std::size_t>(store.column[k])) = store.values[k];
            }
          } else {
            for (std::size_t j = 0; j < rows[i].size(); ++j) rows[i][j] = store.values.at(i * rows[i].size() + j);
          }
        }
        return rows;
      },
      X);
}

inline bool is_sparse(const RawDataset& raw) {
  return is_sparse(raw.X);
}

// The label of every row as spelled; "" for none.
inline std::vector<std::string> labels_of(const RawDataset& raw) {
  std::vector<std::string> result;
  for (const std::int32_t label : raw.label) {
    result.push_back(label < 0 ? "" : raw.spelling.at(static_cast<std::size_t>(label)));
  }
  return result;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A .npy file with this header text (padded as numpy does) and data.
inline std::string npy_file(std::string header, std::string_view data, int version = 1) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (std::size_t k = 0; k < prefix - 8; ++k) bytes += static_cast<char>((header.size() >> (8 * k)) & 0xff);
  return bytes + header + std::string(data);
}

inline std::string npy_array(const std::string& type, const std::string& shape, std::string_view data,
                             bool fortran = false) {
  return npy_file(
      "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }",
      data);
}

inline void write_zip(const std::string& path, const std::map<std::string, std::string>& members) {
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_NE(zip, nullptr);
  for (const auto& [name, bytes] : members) {
    zip_source_t* source = zip_source_buffer(zip, bytes.data(), bytes.size(), 0);
    ASSERT_GE(zip_file_add(zip, name.c_str(), source, 0), 0);
  }
  ASSERT_EQ(zip_close(zip), 0);
}

inline ReadOptions at(const std::string& path) {
  ReadOptions options;
  options.path = path;
  options.threads = 1;
  return options;
}

}  // namespace topwolf
