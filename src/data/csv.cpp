// Which column is the label, and the rows as numbers.
#include "data/readers.hpp"

#include <algorithm>
#include <charconv>

#include "core/fail.hpp"
#include "data/csv_reader.hpp"
#include "data/labels.hpp"
#include "data/text.hpp"

namespace topwolf {

namespace {

constexpr std::size_t no_column = static_cast<std::size_t>(-1);

struct Layout {
  std::size_t width = 0;
  std::size_t label = no_column;
  bool has_header = false;
  std::size_t features() const { return width - (label == no_column ? 0 : 1); }
};

// An empty cell and 1e999 are faults of a row, not signs of a header.
bool is_text(const CsvCell& cell) {
  return !cell.text.empty() && parse_number<double>(cell.text).fault == NumberFault::malformed;
}

std::optional<std::int64_t> as_column_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::size_t numbered_column(std::int64_t number, std::size_t width, const std::string& name) {
  if (number < 1 || number > static_cast<std::int64_t>(width)) {
    fail(ErrorKind::data, "{}: the label column is {}, but the columns are 1 to {}", name, number, width);
  }
  return static_cast<std::size_t>(number - 1);
}

std::size_t named_column(const std::vector<CsvCell>& header, const std::string& wanted, const std::string& name) {
  for (std::size_t c = 0; c < header.size(); ++c) {
    if (header[c].text == wanted) return c;
  }
  fail(ErrorKind::data, "{}: no column is named {}; the first line begins with {}", name, quote(wanted),
       quote(header[0].text));
}

// A column of one of the usual names, else the last.
std::size_t usual_column(const std::vector<CsvCell>& header) {
  for (const char* usual : {"label", "class", "target", "y"}) {
    for (std::size_t c = 0; c < header.size(); ++c) {
      if (lower_case(header[c].text) == usual) return c;
    }
  }
  return header.size() - 1;
}

// Columns may be called 0, 1, 2, ...; then only the label's own name shows the header. ("y" could be a label.)
bool names_label(const CsvCell& cell) {
  const std::string text = lower_case(cell.text);
  return text == "label" || text == "class" || text == "target";
}

Layout find_layout(const std::vector<CsvCell>& first, const ReadOptions& options, const std::string& name) {
  Layout layout;
  layout.width = first.size();
  // Of a file without labels, as predict may get it: the model's number of columns, not one more.
  const bool expected_width = options.cols && *options.cols == static_cast<std::int64_t>(layout.width);
  const bool only_features =
      options.label_column.empty() && (!options.labels_path.empty() || (options.labels_optional && expected_width));
  const std::string& wanted =
      options.label_column.empty() && !only_features ? options.usual_label_column : options.label_column;
  const bool by_default = wanted.empty();
  const std::optional<std::int64_t> number = as_column_number(wanted);
  if (number) layout.label = numbered_column(*number, layout.width, name);
  if (by_default && !only_features) layout.label = layout.width - 1;
  for (std::size_t c = 0; c < layout.width; ++c) layout.has_header |= c != layout.label && is_text(first[c]);

  if (by_default && !only_features) {
    layout.has_header |= names_label(first.back());
    if (layout.has_header) layout.label = usual_column(first);
  } else if (!by_default && !number) {
    layout.label = named_column(first, wanted, name);
    layout.has_header = true;
  }
  if (layout.features() == 0) fail(ErrorKind::data, "{}: the file has a label column but no features", name);
  return layout;
}

void check_width(const std::vector<CsvCell>& cells, const Layout& layout, const std::string& name) {
  if (cells.size() == layout.width) return;
  // Points at the first cell too many, or behind the last one there is.
  const CsvCell& place = cells.size() > layout.width ? cells[layout.width] : cells.back();
  fail(ErrorKind::data, "{}:{}:{}: the row has {} cells, but the first line has {}", name, place.line, place.column,
       cells.size(), layout.width);
}

std::int32_t read_label(const CsvCell& cell, LabelTable& table, bool optional, const std::string& name) {
  if (cell.text.empty() && optional) return -1;
  if (cell.text.empty()) fail(ErrorKind::data, "{}:{}:{}: the label is missing", name, cell.line, cell.column);
  if (!is_finite_or_text(cell.text)) {
    fail(ErrorKind::data, "{}:{}:{}: the label {} is not finite", name, cell.line, cell.column, quote(cell.text));
  }
  return table.add(cell.text);
}

template <class T>
RawDataset parse(std::string_view text, const ReadOptions& options, const std::string& name) {
  CsvReader reader(text, name);
  std::vector<CsvCell> cells;
  bool more = reader.next(cells);
  if (!more) fail(ErrorKind::data, "{}: the file has no rows", name);
  const Layout layout = find_layout(cells, options, name);
  if (layout.has_header) more = reader.next(cells);
  if (!more) fail(ErrorKind::data, "{}: the file has a header but no rows", name);

  RawDataset raw;
  raw.source = name;
  DenseStore<T> X{{}, 0, static_cast<std::int64_t>(layout.features())};
  // Every cell takes two bytes at least, so a lie of the first line cannot ask for more than the text is worth.
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  X.values.reserve(std::min(lines * layout.features(), text.size() / 2 + 1));
  LabelTable table;
  for (; more; more = reader.next(cells)) {
    check_width(cells, layout, name);
    for (std::size_t c = 0; c < layout.width; ++c) {
      if (c == layout.label) continue;
      const auto [value, fault] = parse_number<T>(cells[c].text);
      if (fault != NumberFault::none) {
        fail(ErrorKind::data, "{}:{}:{}: {}", name, cells[c].line, cells[c].column,
             describe_fault(fault, cells[c].text, sizeof(T)));
      }
      X.values.push_back(value);
    }
    if (layout.label != no_column) {
      raw.label.push_back(read_label(cells[layout.label], table, options.labels_optional, name));
    }
    ++X.rows;
  }
  raw.spelling = table.take();
  raw.X = std::move(X);
  return raw;
}

}  // namespace

RawDataset parse_csv(const Buffer& text, const ReadOptions& options, const std::string& name) {
  if (options.number().of_text() == Precision::float32) return parse<float>(text.view(), options, name);
  return parse<double>(text.view(), options, name);
}

}  // namespace topwolf
