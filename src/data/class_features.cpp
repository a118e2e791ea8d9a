// Features of classes, and margins of rows: matrices in any format that data comes in.
#include <algorithm>
#include <numeric>

#include "core/fail.hpp"
#include "data/readers.hpp"
#include "data/text.hpp"
#include "topwolf/structure.hpp"

namespace topwolf {
namespace {

// In float64, labels as they come; no value may be beyond `cols`, where that is known.
RawDataset load_matrix(const std::string& path, std::optional<std::int64_t> cols, std::optional<int> index_base,
                       UnpackLimit max_unpacked, bool keep_sparse = false) {
  ReadOptions options;
  options.path = path;
  options.labels_optional = true;
  options.precision = Precision::float64;
  options.cols = cols;
  options.index_base = index_base;
  options.max_unpacked = max_unpacked;
  options.keep_sparse = keep_sparse;
  ReadReport report;
  RawDataset raw = read_raw(options, &report);
  if (report.dropped_values > 0) {
    fail(ErrorKind::data, "{}: {} values are in columns beyond the {} that there are", raw.source,
         report.dropped_values, *cols);
  }
  return raw;
}

// The row of each class; each class has one.
std::vector<std::int64_t> rows_of_classes(const RawDataset& raw, const ClassList& classes) {
  const std::vector<std::int32_t> number = map_labels(raw, classes);
  std::vector<std::int64_t> row(classes.names.size(), -1);
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] < 0) continue;
    auto& place = row[static_cast<std::size_t>(number[i])];
    if (place >= 0) {
      fail(ErrorKind::data, "{}: the class {} has two rows, {} and {}", raw.source,
           quote(classes.names[static_cast<std::size_t>(number[i])]), place + 1, i + 1);
    }
    place = static_cast<std::int64_t>(i);
  }
  const auto missing = std::find(row.begin(), row.end(), -1);
  if (missing != row.end()) {
    fail(ErrorKind::data, "{}: the class {} has no row", raw.source,
         quote(classes.names[static_cast<std::size_t>(missing - row.begin())]));
  }
  return row;
}

bool unlabelled(const RawDataset& raw) {
  return std::all_of(raw.label.begin(), raw.label.end(), [](std::int32_t label) { return label < 0; });
}

}  // namespace

Features load_class_features(const std::string& path, const ClassList& classes, std::optional<int> index_base,
                             UnpackLimit max_unpacked) {
  RawDataset raw = load_matrix(path, std::nullopt, index_base, max_unpacked);
  const auto rows = static_cast<std::int64_t>(raw.label.size());
  if (unlabelled(raw)) {
    if (rows != classes.size()) {
      fail(ErrorKind::data, "{}: there are {} rows without labels, but {} classes", raw.source, rows, classes.size());
    }
    return Features(std::move(raw.X));
  }
  // Rows of classes that the data lacks are left out: one file serves all subsets.
  const std::vector<std::int64_t> order = rows_of_classes(raw, classes);
  return rows_of(Features(std::move(raw.X)), order);
}

ClassTable load_class_table(const std::string& path, std::int64_t p, std::optional<int> index_base,
                            UnpackLimit max_unpacked) {
  RawDataset raw = load_matrix(path, p, index_base, max_unpacked);
  const auto bare = std::find(raw.label.begin(), raw.label.end(), -1);
  if (bare != raw.label.end()) {
    fail(ErrorKind::data, "{}: row {} has no label, which would name its class", raw.source,
         bare - raw.label.begin() + 1);
  }
  ClassTable table;
  table.classes = collect_classes(raw);
  const std::vector<std::int64_t> order = rows_of_classes(raw, table.classes);
  table.features = rows_of(Features(std::move(raw.X)), order);
  return table;
}

Margins load_margins(const std::string& path, std::int64_t n, std::int64_t m, double other,
                     std::optional<int> index_base, UnpackLimit max_unpacked) {
  // Sparse stays sparse, however full: what is not stored is `other`, not 0.
  RawDataset raw = load_matrix(path, m, index_base, max_unpacked, true);
  const auto rows = static_cast<std::int64_t>(raw.label.size());
  if (rows != n) fail(ErrorKind::data, "{}: there are margins of {} rows, but {} rows", raw.source, rows, n);
  return {Features(std::move(raw.X)), other, raw.source};
}

}  // namespace topwolf
