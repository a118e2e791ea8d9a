// Rows that stay in files which are given by name: one, several, or all that match a pattern; and their labels.
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/fail.hpp"
#include "data/byte_source.hpp"
#include "data/labels.hpp"
#include "data/npy.hpp"
#include "data/row_files.hpp"
#include "data/text.hpp"
#include "topwolf/on_disk.hpp"

namespace topwolf {
namespace {

// The path itself, or what it matches where it is a pattern and no file.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (path.find_first_of("*?[") == std::string::npos || std::filesystem::exists(path, error)) return {path};
  glob_t found{};
  const int failed = ::glob(path.c_str(), 0, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (failed != 0 || files.empty()) fail(ErrorKind::io, "{}: no file matches", path);
  return files;
}

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    for (std::string& file : files_of(path)) files.push_back(std::move(file));
  }
  return files;
}

void append_labels(const Labels& more, Labels& all, LabelTable& table) {
  if (all.label.empty()) all.type = more.type;
  if (all.type != more.type) all.type.reset();
  std::vector<std::int32_t> number;
  for (const std::string& spelling : more.spelling) number.push_back(table.add(spelling));
  for (const std::int32_t label : more.label) {
    all.label.push_back(label < 0 ? -1 : number[static_cast<std::size_t>(label)]);
  }
}

void check_alike(const RowSource& first, const RowSource& part, const std::string& name, const std::string& path) {
  if (part.cols() != first.cols() && !(part.sparse() && first.sparse())) {
    fail(ErrorKind::data, "{}: the rows have {} features, but those of {} have {}", path, part.cols(), name,
         first.cols());
  }
  if (part.sparse() != first.sparse() || part.precision() != first.precision()) {
    fail(ErrorKind::data, "{}: the rows are {} {}, but those of {} are {} {}", path, part.sparse() ? "sparse" : "dense",
         to_string(part.precision()), name, first.sparse() ? "sparse" : "dense", to_string(first.precision()));
  }
}

SharedRows open_one(const std::string& path, const NumberChoice& number, RawDataset& raw) {
  if (is_npy(peek_bytes(path, 8))) {
    raw.source = path;
    return open_npy_rows(path, number);
  }
  if (lower_case(path).ends_with(".twd")) return open_cache_rows(path, raw);
  fail(ErrorKind::option,
       "{}: only the rows of .npy and .twd files can stay on disk ({}); 'topwolf convert' makes them", path,
       Field{"memory"});
}

}  // namespace

bool can_stay_on_disk(const std::string& path) {
  const std::vector<std::string> files = files_of(path);
  return std::all_of(files.begin(), files.end(), [](const std::string& file) {
    const std::string head = peek_bytes(file, std::size_t{1} << 16);
    if (!is_npy(head)) return !head.empty() && lower_case(file).ends_with(".twd");
    const NpyArray array = parse_npy_header(head, file);
    return !array.fortran_order && array.shape.size() == 2;
  });
}

Features take_features(RawDataset& raw) {
  return raw.rows ? Features(std::move(raw.rows)) : Features(std::move(raw.X));
}

RawDataset open_rows(const ReadOptions& options) {
  std::vector<std::string> labels;
  if (!options.labels_path.empty()) labels.push_back(options.labels_path);
  return open_rows({options.path}, labels, options);
}

RawDataset open_rows(const std::vector<std::string>& paths, const std::vector<std::string>& label_paths,
                     const ReadOptions& options) {
  const std::vector<std::string> files = files_of(paths);
  RawDataset raw;
  Labels labels;
  LabelTable table;
  std::vector<SharedRows> parts;
  for (const std::string& path : files) {
    RawDataset one;
    parts.push_back(open_one(path, options.number(), one));
    check_alike(*parts.front(), *parts.back(), files.front(), path);
    if (parts.size() == 1) raw.index_base = one.index_base;
    append_labels({std::move(one.label), std::move(one.spelling), one.label_type}, labels, table);
  }
  // Sparse files are as wide as their largest index.
  std::int64_t cols = 0;
  for (const SharedRows& part : parts) cols = std::max(cols, part->cols());
  for (SharedRows& part : parts) {
    if (part->cols() < cols)
      part = changed(part, cols, part->precision(),
                     [cols](FeatureStore& rows) { std::visit([cols](auto& store) { store.cols = cols; }, rows); });
  }
  raw.rows = one_after_the_other(std::move(parts));
  raw.source = fmt::format("{}", fmt::join(paths, ", "));
  if (!label_paths.empty()) {
    labels = {};
    table = {};
    for (const std::string& path : files_of(label_paths)) {
      append_labels(read_label_file(path, options.max_unpacked), labels, table);
    }
    raw.label_source = fmt::format("{}", fmt::join(label_paths, ", "));
    if (static_cast<std::int64_t>(labels.label.size()) != raw.size()) {
      fail(ErrorKind::data, "{}: there are {} labels for the {} rows of {}", raw.label_source, labels.label.size(),
           raw.size(), raw.source);
    }
  } else if (labels.label.empty() && !options.labels_optional) {
    fail(ErrorKind::data, "{}: a .npy file holds features only; labels must come from a file of their own ({})",
         options.path, Field{"labels_path"});
  }
  raw.label = std::move(labels.label);
  raw.spelling = table.take();
  raw.label_type = labels.type;
  return raw;
}

}  // namespace topwolf
