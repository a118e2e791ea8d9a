// Example weights from files, from labels and from the sizes of the classes.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/fail.hpp"
#include "data/byte_source.hpp"
#include "data/fingerprint.hpp"
#include "data/label_file.hpp"
#include "data/label_weights.hpp"
#include "data/text.hpp"

namespace topwolf {
namespace {

// Where: "weights.txt: row 3".
double weight_from(std::string_view text, const std::string& where) {
  const auto [value, fault] = parse_number<double>(text);
  if (fault != NumberFault::none || !(value >= 0.0)) {
    fail(ErrorKind::data, "{}: the weight {} is not a finite number of at least 0", where, quote(text));
  }
  return value;
}

}  // namespace

void split_label_weights(RawDataset& raw) {
  LabelTable table;
  std::vector<std::int32_t> label_of(raw.spelling.size());
  std::vector<double> weight_of(raw.spelling.size(), 1.0);
  for (std::size_t k = 0; k < raw.spelling.size(); ++k) {
    const std::string_view text = raw.spelling[k];
    const std::size_t colon = text.rfind(':');
    if (colon == 0) fail(ErrorKind::data, "{}: {} has no label before its weight", raw.source, quote(text));
    label_of[k] = table.add(text.substr(0, colon));
    if (colon != std::string_view::npos) weight_of[k] = weight_from(text.substr(colon + 1), raw.source);
  }
  raw.weights.clear();
  for (std::int32_t& label : raw.label) {
    raw.weights.push_back(label < 0 ? 1.0 : weight_of[static_cast<std::size_t>(label)]);
    if (label >= 0) label = label_of[static_cast<std::size_t>(label)];
  }
  raw.spelling = table.take();
}

std::vector<double> load_weights(const std::string& path, std::int64_t n) {
  const Labels numbers = read_label_file(path);
  const std::string name = display_name(path);
  if (static_cast<std::int64_t>(numbers.label.size()) != n) {
    fail(ErrorKind::data, "{}: there are {} weights for {} rows", name, numbers.label.size(), n);
  }
  std::vector<double> weights;
  for (const std::int32_t at : numbers.label) {
    const std::string where = fmt::format("{}: row {}", name, weights.size() + 1);
    weights.push_back(weight_from(at < 0 ? "" : numbers.spelling[static_cast<std::size_t>(at)], where));
  }
  return weights;
}

std::vector<double> load_class_weights(const std::string& path, const ClassList& classes) {
  const std::string name = display_name(path);
  const Buffer bytes = read_bytes(path);
  const Labels lines = parse_label_lines(bytes.view(), name);
  RawDataset raw;
  std::vector<double> weights;
  for (const std::int32_t at : lines.label) {
    if (at < 0) continue;
    const std::string_view line = lines.spelling[static_cast<std::size_t>(at)];
    const std::size_t blank = line.find_last_of(" \t,");
    if (blank == std::string_view::npos) {
      fail(ErrorKind::data, "{}: the line {} is not a label and a weight", name, quote(line));
    }
    weights.push_back(weight_from(trim_blanks(line.substr(blank + 1)), name));
    raw.label.push_back(static_cast<std::int32_t>(raw.spelling.size()));
    raw.spelling.emplace_back(trim_blanks(line.substr(0, line.find_last_not_of(" \t,", blank) + 1)));
  }
  const std::vector<std::int32_t> number = map_labels(raw, classes);
  std::vector<double> out(classes.names.size(), 1.0);
  std::vector<bool> named(out.size(), false);
  for (std::size_t k = 0; k < number.size(); ++k) {
    if (number[k] < 0) {
      fail(ErrorKind::data, "{}: {} is none of the {} classes", name, quote(raw.spelling[k]), classes.size());
    }
    const auto j = static_cast<std::size_t>(number[k]);
    if (named[j]) fail(ErrorKind::data, "{}: the class {} has two weights", name, quote(raw.spelling[k]));
    named[j] = true;
    out[j] = weights[k];
  }
  return out;
}

std::vector<double> balanced_class_weights(const Dataset& data) {
  std::vector<double> sums(data.classes.names.size(), 0.0);
  for (std::size_t i = 0; i < data.y.size(); ++i) {
    sums[static_cast<std::size_t>(data.y[i])] += data.weights.empty() ? 1.0 : data.weights[i];
  }
  const double N = weight_sum(data);
  std::vector<double> weights;
  for (const double sum : sums) {
    weights.push_back(sum > 0.0 ? N / (static_cast<double>(sums.size()) * sum) : 1.0);
  }
  return weights;
}

void weigh_classes(Dataset& data, const std::vector<double>& class_weights) {
  if (data.weights.empty()) data.weights.assign(data.y.size(), 1.0);
  for (std::size_t i = 0; i < data.y.size(); ++i) {
    data.weights[i] *= class_weights.at(static_cast<std::size_t>(data.y[i]));
  }
}

}  // namespace topwolf
