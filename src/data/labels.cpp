// From labels as written to class numbers. Whether labels are numbers, booleans or text is decided once, over all of
// them; whole numbers are compared digit by digit, so that long identifiers stay apart.
#include "data/labels.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/fail.hpp"
#include "core/strict_json.hpp"
#include "data/byte_source.hpp"
#include "data/npy.hpp"
#include "data/text.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

namespace {

bool is_integer(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Adding 0.0 makes -0 and 0 one class.
std::optional<double> as_number(std::string_view text) {
  const auto [value, fault] = parse_number<double>(text);
  return fault == NumberFault::none ? std::optional(value + 0.0) : std::nullopt;
}

// False: 0, true: 1.
std::optional<double> as_boolean(std::string_view text) {
  if (text == "True" || text == "true") return 1.0;
  if (text == "False" || text == "false") return 0.0;
  return std::nullopt;
}

// What two spellings of one class share, ordered as the classes are.
struct Key {
  double value = 0.0;       // numbers and booleans
  std::int64_t length = 0;  // whole numbers: how many digits, negative for numbers below 0
  std::string text;         // whole numbers: the digits; text: itself

  bool operator<(const Key& other) const {
    if (value != other.value) return value < other.value;
    if (length != other.length) return length < other.length;
    return length < 0 ? other.text < text : text < other.text;
  }
};

Key integer_key(std::string_view text) {
  Key key;
  // A number too long for a double is at an end of the order; among those the digits decide.
  key.value = as_number(text).value_or(text.starts_with('-') ? -HUGE_VAL : HUGE_VAL);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  key.length = static_cast<std::int64_t>(text.size()) * (negative ? -1 : 1);
  key.text = text;
  return key;
}

// Nothing where the spelling is not of this type.
std::optional<Key> make_key(std::string_view text, LabelType type) {
  if (type == LabelType::text) return Key{0.0, 0, std::string(text)};
  if (type == LabelType::integer && is_integer(text)) return integer_key(text);
  const std::optional<double> value = type == LabelType::boolean ? as_boolean(text) : as_number(text);
  return value ? std::optional(Key{*value, 0, ""}) : std::nullopt;
}

template <class Predicate>
bool all(const std::vector<std::string_view>& spellings, const Predicate& predicate) {
  return std::all_of(spellings.begin(), spellings.end(), predicate);
}

LabelType find_type(const std::vector<std::string_view>& spellings) {
  if (all(spellings, [](std::string_view s) { return as_boolean(s).has_value(); })) return LabelType::boolean;
  if (!all(spellings, [](std::string_view s) { return as_number(s).has_value(); })) return LabelType::text;
  return all(spellings, is_integer) ? LabelType::integer : LabelType::real;
}

std::vector<std::string_view> used_spellings(const RawDataset& raw) {
  std::vector<bool> used(raw.spelling.size());
  for (const std::int32_t label : raw.label) {
    if (label >= 0) used[static_cast<std::size_t>(label)] = true;
  }
  std::vector<std::string_view> result;
  for (std::size_t k = 0; k < used.size(); ++k) {
    if (used[k]) result.push_back(raw.spelling[k]);
  }
  return result;
}

void check_utf8(const RawDataset& raw) {
  for (std::size_t k = 0; k < raw.spelling.size(); ++k) {
    if (is_utf8(raw.spelling[k])) continue;
    const auto place = place_of_label(raw, k);
    if (place)
      fail(ErrorKind::data, "{}: the label {} is not UTF-8, as class names must be", *place, quote(raw.spelling[k]));
  }
}

}  // namespace

ClassList collect_classes(const RawDataset& raw) {
  const std::vector<std::string_view> spellings = used_spellings(raw);
  ClassList classes;
  if (spellings.empty()) return classes;
  classes.type = raw.label_type.value_or(find_type(spellings));
  // emplace keeps the first: a class is printed as it was first spelled.
  std::map<Key, std::string_view> first_spelling;
  for (const std::string_view spelling : spellings) {
    const std::optional<Key> key = make_key(spelling, classes.type);
    if (!key)
      fail(ErrorKind::data, "{}: the label {} is not of the type the file declares", raw.labels_from(),
           quote(spelling));
    first_spelling.emplace(*key, spelling);
  }
  for (const auto& [key, spelling] : first_spelling) classes.names.emplace_back(spelling);
  return classes;
}

std::vector<std::int32_t> map_labels(const RawDataset& raw, const ClassList& classes) {
  std::map<Key, std::int32_t> number;
  std::map<double, std::int32_t> number_by_value;  // whole numbers may be spelled 3.0
  for (std::size_t j = 0; j < classes.names.size(); ++j) {
    const std::string& name = classes.names[j];
    if (const auto key = make_key(name, classes.type)) number.emplace(*key, static_cast<std::int32_t>(j));
    if (const auto value = as_number(name)) number_by_value.emplace(*value, static_cast<std::int32_t>(j));
  }
  // Once for each spelling, not for each row.
  std::vector<std::int32_t> class_of(raw.spelling.size(), -1);
  for (std::size_t k = 0; k < class_of.size(); ++k) {
    const std::string& spelling = raw.spelling[k];
    const std::optional<Key> key = make_key(spelling, classes.type);
    if (!key) continue;
    if (const auto found = number.find(*key); found != number.end()) {
      class_of[k] = found->second;
    } else if (classes.type == LabelType::integer && !is_integer(spelling)) {
      const auto by_value = number_by_value.find(key->value);
      if (by_value != number_by_value.end()) class_of[k] = by_value->second;
    }
  }
  std::vector<std::int32_t> y(raw.label.size());
  std::transform(raw.label.begin(), raw.label.end(), y.begin(),
                 [&](std::int32_t label) { return label < 0 ? -1 : class_of[static_cast<std::size_t>(label)]; });
  return y;
}

Dataset labelled(RawDataset raw) {
  const std::int64_t rows = std::visit([](const auto& X) { return X.rows; }, raw.X);
  const auto unlabelled = std::find(raw.label.begin(), raw.label.end(), -1);
  if (unlabelled != raw.label.end() || static_cast<std::int64_t>(raw.label.size()) != rows) {
    fail(ErrorKind::data, "{}: row {} (counted from 1) has no label", raw.labels_from(),
         unlabelled - raw.label.begin() + 1);
  }
  Dataset data;
  data.classes = collect_classes(raw);
  // Only what becomes a class must be UTF-8: a model's header is JSON.
  check_utf8(raw);
  data.y = map_labels(raw, data.classes);
  data.weights = std::move(raw.weights);
  data.index_base = raw.index_base;
  data.X = Features(std::move(raw.X));
  data.source = std::move(raw.source);
  return data;
}

Dataset make_dataset(RawDataset raw) {
  const std::int64_t rows = std::visit([](const auto& X) { return X.rows; }, raw.X);
  if (rows == 0) fail(ErrorKind::data, "{}: there are no rows", raw.source);
  const std::string labels_from = raw.labels_from();
  Dataset data = labelled(std::move(raw));
  if (data.classes.size() < 2) {
    fail(ErrorKind::data, "{}: all {} rows have the label {}; training needs at least two classes", labels_from, rows,
         quote(data.classes.names.front()));
  }
  return data;
}

// ---- Labels in a file of their own

Labels read_label_file(const std::string& path, UnpackLimit max_unpacked) {
  const Buffer bytes = read_bytes(path, max_unpacked);
  const std::string name = display_name(path);
  if (is_npy(bytes.view())) return npy_labels(parse_npy(bytes.view(), name), name);
  return parse_label_lines(bytes.view(), name);
}

Labels parse_label_lines(std::string_view text, const std::string& name) {
  text = skip_byte_order_mark(text);
  check_no_nul(text, name);
  Labels labels;
  LabelTable table;
  std::size_t rows = 0;  // up to the last line that has a label
  for_lines(text, [&](std::int64_t number, std::string_view line) {
    const std::string_view label = trim_blanks(line);
    labels.label.push_back(label.empty() ? -1 : table.add(label));
    if (label.empty()) return;
    rows = labels.label.size();
    if (!is_finite_or_text(label)) {
      fail(ErrorKind::data, "{}:{}:{}: the label {} is not finite", name, number, label.data() - line.data() + 1,
           quote(label));
    }
  });
  labels.label.resize(rows);
  labels.spelling = table.take();
  return labels;
}

}  // namespace topwolf
