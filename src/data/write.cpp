// The choice of a writer, and the text formats. Numbers are written with as few digits as read back to the same value.
#include "data/write.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "data/labels.hpp"
#include "data/readers.hpp"
#include "data/rows.hpp"
#include "data/text.hpp"

namespace topwolf {

namespace {

// Empty: the row has none.
std::string_view label_of(const RawDataset& raw, std::int64_t row) {
  const std::int32_t label = raw.label.empty() ? -1 : raw.label[static_cast<std::size_t>(row)];
  return label < 0 ? std::string_view() : raw.spelling[static_cast<std::size_t>(label)];
}

// Text says no types: a reader decides anew what the labels are, and must find the same classes.
void check_labels_as_text(const RawDataset& raw, const std::string& path) {
  for (const std::string& label : raw.spelling) {
    if (is_finite_or_text(label)) continue;
    fail(ErrorKind::data, "{}: the label {} would be read as a number that is not finite", path, quote(label));
  }
  if (!raw.label_type) return;
  RawDataset untyped;
  untyped.label = raw.label;
  untyped.spelling = raw.spelling;
  const std::int64_t classes = collect_classes(raw).size(), found = collect_classes(untyped).size();
  if (classes == found) return;
  fail(ErrorKind::data, "{}: the {} labels, such as {}, would be read as numbers, of {} classes", path, classes,
       quote(raw.spelling.front()), found);
}

void check_libsvm_label(std::string_view label, const std::string& path) {
  const bool plain = std::all_of(label.begin(), label.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != ':' && c != ',' && c != '#';
  });
  if (plain) return;
  fail(ErrorKind::data, "{}: the label {} cannot be written as LIBSVM text: blanks, ':', ',' and '#' are not allowed",
       path, quote(label));
}

// Stored values of a sparse row, non-zeros of a dense one.
template <class View>
void append_pairs(std::string& line, const View& X, std::int64_t i, int index_base) {
  constexpr bool sparse = requires {
    X.row_begin;
  };
  for_row(X, i, [&](std::int64_t j, Working<typename View::Value> value) {
    if (sparse || value != 0) fmt::format_to(std::back_inserter(line), " {}:{}", j + index_base, value);
  });
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",;\"\t\r\n") == std::string_view::npos && trim_blanks(text) == text) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    cell += c;
    if (c == '"') cell += c;
  }
  return cell + '"';
}

}  // namespace

bool has_labels(const RawDataset& raw) {
  return std::any_of(raw.label.begin(), raw.label.end(), [](std::int32_t label) { return label >= 0; });
}

void write_libsvm(const RawDataset& raw, const std::string& path) {
  check_labels_as_text(raw, path);
  for (const std::string& label : raw.spelling) check_libsvm_label(label, path);
  AtomicFile file(path);
  std::visit(
      [&](const auto& X) {
        std::string line;
        for (std::int64_t i = 0; i < X.rows; ++i) {
          line = label_of(raw, i);
          // A reader takes the first mark of a file for no part of a label.
          constexpr std::string_view mark = "\xEF\xBB\xBF";
          if (i == 0 && line.starts_with(mark)) file.write(mark);
          append_pairs(line, X.view(), i, raw.index_base);
          if (line.empty()) {
            fail(ErrorKind::data,
                 "{}: row {} (counted from 1) has neither label nor values, which LIBSVM text cannot say", path, i + 1);
          }
          line += '\n';
          file.write(line);
        }
      },
      raw.X);
  file.commit();
}

// With a header, so that the label column is known by its name.
void write_csv(const RawDataset& raw, const std::string& path) {
  const bool labelled = has_labels(raw);
  check_labels_as_text(raw, path);
  AtomicFile file(path);
  std::visit(
      [&]<class Store>(const Store& X) {
        std::string line = "x1";
        for (std::int64_t j = 1; j < X.cols; ++j) fmt::format_to(std::back_inserter(line), ",x{}", j + 1);
        file.write(line + (labelled ? ",label\n" : "\n"));
        for_dense_rows(X.view(), [&](std::int64_t i, auto row) {
          const std::vector<Working<typename Store::Value>> numbers(row.begin(), row.end());
          line = fmt::format("{}", fmt::join(numbers, ","));
          if (labelled) line += ',' + csv_cell(label_of(raw, i));
          line += '\n';
          file.write(line);
        });
      },
      raw.X);
  file.commit();
}

void write_label_lines(const RawDataset& raw, const std::string& path) {
  if (raw.label.empty() || raw.label.back() < 0) {
    fail(ErrorKind::data, "{}: the last row has no label, which a list of lines cannot say", path);
  }
  check_labels_as_text(raw, path);
  for (const std::string& label : raw.spelling) {
    if (label.find('\n') == std::string::npos && trim_blanks(label) == label) continue;
    fail(ErrorKind::data, "{}: the label {} cannot be written on a line of its own", path, quote(label));
  }
  AtomicFile file(path);
  for (std::size_t i = 0; i < raw.label.size(); ++i) {
    file.write(label_of(raw, static_cast<std::int64_t>(i)));
    file.write("\n");
  }
  file.commit();
}

bool writes_dense(const std::string& path) {
  const std::string name = lower_case(path);
  return name.ends_with(".npy") || name.ends_with(".csv");
}

std::int64_t least_written(const RawDataset& raw, const std::string& path) {
  const std::string name = lower_case(path);
  return std::visit(
      [&](const auto& X) -> std::int64_t {
        constexpr std::int64_t value_bytes = sizeof(X.values[0]);
        constexpr std::int64_t cell_bytes = 2;  // "0,"
        std::int64_t cells = 0, bytes = 0;
        if (writes_dense(path)) {
          const std::int64_t each = name.ends_with(".npy") ? value_bytes : cell_bytes;
          const bool countless =
              __builtin_mul_overflow(X.rows, X.cols, &cells) || __builtin_mul_overflow(cells, each, &bytes);
          return countless ? INT64_MAX : bytes;
        }
        if (!name.ends_with(".twd")) return 0;
        bytes = static_cast<std::int64_t>(X.values.size()) * value_bytes;
        if constexpr (requires { X.row_begin; }) {
          bytes += static_cast<std::int64_t>(X.column.size() * sizeof(std::int32_t) +
                                             X.row_begin.size() * sizeof(std::int64_t));
        }
        return bytes;
      },
      raw.X);
}

void write_dataset(const RawDataset& raw, const std::string& path, const std::string& labels_path) {
  const std::string name = lower_case(path);
  const auto is = [&](const char* ending) { return name.ends_with(ending); };
  if (!labels_path.empty() && !is(".npy")) {
    fail(ErrorKind::option, "{}: labels go to a file of their own only beside a .npy file", labels_path);
  }
  if (is(".svm") || is(".libsvm") || is(".txt")) return write_libsvm(raw, path);
  // Whatever else reads such a file wants columns.
  const bool featureless = std::visit([](const auto& X) { return X.cols == 0; }, raw.X);
  if (featureless && !is(".twd")) fail(ErrorKind::data, "{}: there are no features to write", path);
  if (is(".csv")) return write_csv(raw, path);
  if (is(".npz")) return write_npz(raw, path);
  if (is(".twd")) return write_cache(raw, path);
  if (!is(".npy")) {
    fail(ErrorKind::option, "{}: the ending says no format; .svm, .libsvm, .txt, .csv, .npz, .npy and .twd do", path);
  }
  if (!labels_path.empty()) {
    const bool as_array = lower_case(labels_path).ends_with(".npy");
    as_array ? write_npy_labels(raw, labels_path) : write_label_lines(raw, labels_path);
  }
  write_npy_features(raw, path);
}

}  // namespace topwolf
