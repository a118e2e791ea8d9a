// Our reader of CSV against a plain one: they accept the same texts and read the same rows. The label is in column 1.
#include <array>

#include "data/readers.hpp"
#include "plain_text.hpp"
#include "rows.hpp"

using namespace topwolf;

namespace {

using Record = std::vector<std::string>;

// Of comma, semicolon and tab the one that the first line with content has most of, outside quotes.
char find_delimiter(const std::string& text) {
  std::array<std::pair<char, int>, 3> counts{{{',', 0}, {';', 0}, {'\t', 0}}};
  bool quoted = false, content = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n' && content) break;
    content |= c != '\n' && c != '\r' && c != ' ';
    for (auto& [candidate, count] : counts) count += c == candidate ? 1 : 0;
  }
  auto best = counts[0];
  for (const auto& candidate : counts) best = candidate.second > best.second ? candidate : best;
  return best.first;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Nothing where quotes are not closed, or followed by something else than the end of the cell.
std::optional<std::vector<Record>> read_records(const std::string& text) {
  const char delimiter = find_delimiter(text);
  std::vector<Record> records(1);
  for (std::size_t at = 0; at <= text.size(); ++at) {  // from the start of a cell to the delimiter behind it
    std::string cell;
    if (text[at] == '"') {
      for (++at; text.substr(at, 2) == "\"\"" || text[at] != '"'; ++at) {
        if (at >= text.size()) return std::nullopt;
        if (text[at] == '"') ++at;
        cell += text[at];
      }
      ++at;
      if (text.substr(at, 2) == "\r\n") ++at;
      if (text.substr(at) == "\r") ++at;
      if (at < text.size() && text[at] != delimiter && text[at] != '\n') return std::nullopt;
    } else {
      for (; at < text.size() && text[at] != delimiter && text[at] != '\n'; ++at) cell += text[at];
      cell = trimmed(cell);
    }
    records.back().push_back(cell);
    if (at < text.size() && text[at] == '\n') records.emplace_back();
  }
  std::erase(records, Record{""});
  return records;
}

bool is_text(const std::string& cell) {
  return !cell.empty() && !plain::is_decimal(cell) && !plain::is_not_finite(cell);
}

struct PlainRows {
  std::vector<std::string> labels;
  std::vector<double> values;
  std::size_t cols = 0;
};

// Nothing: refused.
std::optional<PlainRows> read(std::string_view bytes) {
  if (bytes.find('\0') != std::string_view::npos) return std::nullopt;
  const auto records = read_records(plain::without_byte_order_mark(bytes));
  if (!records || records->empty()) return std::nullopt;
  const std::size_t width = records->front().size();
  const bool has_header = std::any_of(records->front().begin() + 1, records->front().end(), is_text);
  PlainRows rows;
  rows.cols = width - 1;
  for (std::size_t i = has_header ? 1 : 0; i < records->size(); ++i) {
    const Record& record = (*records)[i];
    if (record.size() != width || record[0].empty() || plain::is_not_finite(record[0])) return std::nullopt;
    rows.labels.push_back(record[0]);
    for (std::size_t c = 1; c < width; ++c) {
      const auto value = plain::number<double>(record[c]);
      if (!value) return std::nullopt;
      rows.values.push_back(*value);
    }
  }
  return width < 2 || rows.labels.empty() ? std::nullopt : std::optional(rows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  ReadOptions options;
  options.precision = Precision::float64;
  options.label_column = "1";
  std::string sentence = "accepted";
  const auto ours = fuzz::attempt([&] { return parse_csv(Buffer(text), options, "text"); }, &sentence);
  const auto rows = read(text);
  fuzz::require(ours.has_value() == rows.has_value(), "both accept, or both refuse; ours: " + sentence);
  if (!ours) return 0;
  const auto& X = std::get<DenseStore<double>>(ours->X);
  fuzz::require(X.rows == static_cast<std::int64_t>(rows->labels.size()), "as many rows");
  fuzz::require(X.cols == static_cast<std::int64_t>(rows->cols), "as many columns");
  fuzz::require(X.values == rows->values && fuzz::labels_of(*ours) == rows->labels, "the same values and labels");
  return 0;
}
