// Our reader of LIBSVM text against a plain one: they accept the same texts and read the same rows.
#include <map>

#include "data/readers.hpp"
#include "plain_text.hpp"
#include "rows.hpp"

using namespace topwolf;

namespace {

template <class T>
struct PlainRow {
  std::string label;
  std::map<long long, T> values;  // by index
};

template <class T>
std::optional<PlainRow<T>> read_row(const std::string& line) {
  PlainRow<T> row;
  row.label = plain::words(line).front();
  if (row.label.find_first_of(":,#") != std::string::npos || plain::is_not_finite(row.label)) return std::nullopt;
  const std::string rest = line.substr(line.find(row.label) + row.label.size());
  for (const std::string& pair : plain::words(rest.substr(0, rest.find('#')))) {
    const std::size_t colon = pair.find(':');
    if (colon == std::string::npos || colon > 18 || !plain::all_digits(pair.substr(0, colon))) return std::nullopt;
    const long long index = std::stoll(pair.substr(0, colon));
    const std::optional<T> value = plain::number<T>(pair.substr(colon + 1));
    if (index > 2147483646 || !value || !row.values.emplace(index, *value).second) return std::nullopt;
  }
  return row;
}

// Nothing: refused.
template <class T>
std::optional<std::vector<PlainRow<T>>> read(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  std::vector<PlainRow<T>> rows;
  for (const std::string& line : plain::split(plain::without_byte_order_mark(text), "\n")) {
    const std::vector<std::string> words = plain::words(line);
    if (words.empty() || words.front().starts_with('#')) continue;
    const auto row = read_row<T>(line);
    if (!row) return std::nullopt;
    rows.push_back(*row);
  }
  bool from_zero = false, beyond = false;
  for (const auto& row : rows) {
    from_zero |= row.values.contains(0);
    beyond |= row.values.contains(2147483646);
  }
  if (from_zero && beyond) return std::nullopt;
  return rows.empty() ? std::nullopt : std::optional(rows);
}

template <class T>
void compare(const std::vector<PlainRow<T>>& rows, const RawDataset& raw) {
  bool from_zero = false;
  for (const auto& row : rows) from_zero |= row.values.contains(0);
  fuzz::require(raw.index_base == (from_zero ? 0 : 1), "the index base is 0 if some index is 0, else 1");
  const auto& X = std::get<CsrStore<T>>(raw.X);
  const std::vector<std::string> labels = fuzz::labels_of(raw);
  fuzz::require(X.rows == static_cast<std::int64_t>(rows.size()) && labels.size() == rows.size(), "as many rows");
  std::int64_t cols = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fuzz::require(labels[i] == rows[i].label, "the same labels");
    for (const auto& [index, value] : rows[i].values) {
      fuzz::require(at < X.values.size() && X.column[at] == index - raw.index_base && X.values[at] == value,
                    "the same values at the same places");
      cols = std::max<std::int64_t>(cols, X.column[at++] + 1);
    }
    fuzz::require(X.row_begin[i + 1] == static_cast<std::int64_t>(at), "as many values");
  }
  fuzz::require(X.cols == cols && X.values.size() == at, "as many columns");
}

template <class T>
void check(std::string_view text, Precision precision) {
  ReadOptions options;
  options.threads = 1;
  options.precision = precision;
  std::string sentence = "accepted";
  const auto ours = fuzz::attempt([&] { return parse_libsvm(TextSource(Buffer(text)), options, "text"); }, &sentence);
  const auto rows = read<T>(text);
  fuzz::require(ours.has_value() == rows.has_value(), "both accept, or both refuse; ours: " + sentence);
  if (ours) compare(*rows, *ours);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check<float>(fuzz::text_of(data, size), Precision::float32);
  check<double>(fuzz::text_of(data, size), Precision::float64);
  return 0;
}
