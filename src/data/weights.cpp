// Example weights from files, from labels and from the sizes of the classes.
#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "data/byte_source.hpp"
#include "data/fingerprint.hpp"
#include "data/labels.hpp"
#include "data/npy.hpp"
#include "data/text.hpp"

namespace topwolf {
namespace {

// Where: "weights.txt:3:1".
double weight_from(std::string_view text, const std::string& where) {
  const auto [value, fault] = parse_number<double>(text);
  if (fault != NumberFault::none || !(value >= 0.0)) {
    fail(ErrorKind::data, "{}: the weight {} is not a finite number of at least 0", where, quote(text));
  }
  return value;
}

std::string place(const std::string& name, std::int64_t number, std::string_view line, std::string_view word) {
  return fmt::format("{}:{}:{}", name, number, word.empty() ? 1 : word.data() - line.data() + 1);
}

std::vector<double> parse_weight_array(std::string_view bytes, const std::string& name) {
  const NpyArray array = parse_npy(bytes, name);
  if (array.shape.size() != 1) {
    fail(ErrorKind::data, "{}: weights need one dimension, but the shape is ({})", name, fmt::join(array.shape, ", "));
  }
  std::vector<double> weights = npy_numbers<double>(array, name);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (std::isfinite(weights[i]) && weights[i] >= 0.0) continue;
    fail(ErrorKind::data, "{}: row {} (counted from 1): the weight {} is not a finite number of at least 0", name,
         i + 1, weights[i]);
  }
  return weights;
}

// One a line; empty lines at the end do not count.
std::vector<double> parse_weight_lines(std::string_view text, const std::string& name) {
  check_no_nul(text, name);
  text = skip_byte_order_mark(text);
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  std::vector<double> weights;
  for_lines(text, [&](std::int64_t number, std::string_view line) {
    const std::string_view word = trim_blanks(line);
    weights.push_back(weight_from(word, place(name, number, line, word)));
  });
  return weights;
}

}  // namespace

void split_label_weights(RawDataset& raw) {
  LabelTable table;
  std::vector<std::int32_t> label_of(raw.spelling.size());
  std::vector<double> weight_of(raw.spelling.size(), 1.0);
  for (std::size_t k = 0; k < raw.spelling.size(); ++k) {
    const std::string_view text = raw.spelling[k];
    const std::size_t colon = text.rfind(':');
    const std::string where = colon == std::string_view::npos ? "" : place_of_label(raw, k).value_or(raw.labels_from());
    if (colon == 0) fail(ErrorKind::data, "{}: {} has no label before its weight", where, quote(text));
    label_of[k] = table.add(text.substr(0, colon));
    if (colon != std::string_view::npos) weight_of[k] = weight_from(text.substr(colon + 1), where);
  }
  raw.weights.clear();
  for (std::int32_t& label : raw.label) {
    raw.weights.push_back(label < 0 ? 1.0 : weight_of[static_cast<std::size_t>(label)]);
    if (label >= 0) label = label_of[static_cast<std::size_t>(label)];
  }
  raw.spelling = table.take();
}

std::vector<double> load_weights(const std::string& path, std::int64_t n, UnpackLimit max_unpacked) {
  const std::string name = display_name(path);
  const Buffer bytes = read_bytes(path, max_unpacked);
  auto weights = is_npy(bytes.view()) ? parse_weight_array(bytes.view(), name) : parse_weight_lines(bytes.view(), name);
  if (static_cast<std::int64_t>(weights.size()) != n) {
    fail(ErrorKind::data, "{}: there are {} weights for {} rows", name, weights.size(), n);
  }
  return weights;
}

namespace {

// The lines of a file of class weights: labels as if they were rows of data, and for each its weight and line.
struct ClassWeights {
  RawDataset labels;
  std::vector<double> weight;
  std::vector<std::int64_t> line;
};

ClassWeights parse_class_weights(std::string_view text, const std::string& name) {
  constexpr const char* separators = " \t,";
  check_no_nul(text, name);
  ClassWeights out;
  for_lines(skip_byte_order_mark(text), [&](std::int64_t number, std::string_view line) {
    const std::string_view content = trim_blanks(line);
    if (content.empty()) return;
    const std::size_t blank = content.find_last_of(separators);
    const std::size_t end = content.find_last_not_of(separators, blank) + 1;
    if (blank == std::string_view::npos || end == 0) {
      fail(ErrorKind::data, "{}:{}: the line {} is not a label and a weight", name, number, quote(content));
    }
    const std::string_view word = content.substr(blank + 1);
    out.weight.push_back(weight_from(word, place(name, number, line, word)));
    out.line.push_back(number);
    out.labels.label.push_back(static_cast<std::int32_t>(out.labels.spelling.size()));
    out.labels.spelling.emplace_back(content.substr(0, end));
  });
  return out;
}

}  // namespace

std::vector<double> load_class_weights(const std::string& path, const ClassList& classes, UnpackLimit max_unpacked) {
  const std::string name = display_name(path);
  const Buffer bytes = read_bytes(path, max_unpacked);
  const ClassWeights given = parse_class_weights(bytes.view(), name);
  const std::vector<std::int32_t> number = map_labels(given.labels, classes);
  std::vector<double> out(classes.names.size(), 1.0);
  std::vector<bool> named(out.size(), false);
  for (std::size_t k = 0; k < number.size(); ++k) {
    const std::string label = quote(given.labels.spelling[k]);
    if (number[k] < 0) {
      fail(ErrorKind::data, "{}:{}: {} is none of the {} classes", name, given.line[k], label, classes.size());
    }
    const auto j = static_cast<std::size_t>(number[k]);
    if (named[j]) fail(ErrorKind::data, "{}:{}: the class {} has two weights", name, given.line[k], label);
    named[j] = true;
    out[j] = given.weight[k];
  }
  return out;
}

std::vector<double> balanced_class_weights(const Dataset& data) {
  const IeeeArithmetic ieee;
  std::vector<double> sums(data.classes.names.size(), 0.0);
  for (std::size_t i = 0; i < data.y.size(); ++i) {
    sums[static_cast<std::size_t>(data.y[i])] += data.weights.empty() ? 1.0 : data.weights[i];
  }
  const double N = weight_sum(data);
  std::vector<double> weights;
  for (const double sum : sums) {
    // A class without weight has no rows to weigh; any number would do.
    weights.push_back(sum > 0.0 ? N / (static_cast<double>(sums.size()) * sum) : 1.0);
  }
  return weights;
}

void weigh_classes(Dataset& data, const std::vector<double>& class_weights) {
  const IeeeArithmetic ieee;
  if (data.weights.empty()) data.weights.assign(data.y.size(), 1.0);
  for (std::size_t i = 0; i < data.y.size(); ++i) {
    data.weights[i] *= class_weights.at(static_cast<std::size_t>(data.y[i]));
  }
}

}  // namespace topwolf
