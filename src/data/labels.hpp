// Labels on their way from a file to class numbers: distinct ones are numbered in order of first appearance. Refuses
// nothing itself: what a label may be is the reader's business.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/text.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

class LabelTable {
 public:
  std::int32_t add(std::string_view spelling) {
    // Neighbouring rows often have the same label.
    if (!spelling_.empty() && spelling_[static_cast<std::size_t>(last_)] == spelling) return last_;
    if (const auto found = number_.find(spelling); found != number_.end()) return last_ = found->second;
    last_ = static_cast<std::int32_t>(spelling_.size());
    number_.emplace(spelling, last_);
    spelling_.emplace_back(spelling);
    return last_;
  }

  const std::vector<std::string>& spelling() const { return spelling_; }
  std::vector<std::string> take() { return std::move(spelling_); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> number_;
  std::vector<std::string> spelling_;
  std::int32_t last_ = 0;
};

// "nan" and "inf" come from a failed computation, not from a choice of names.
inline bool is_finite_or_text(std::string_view label) {
  return parse_number<double>(label).fault != NumberFault::not_finite;
}

// "file: row 3 (counted from 1)", for the first row that has this label; nothing where none has.
inline std::optional<std::string> place_of_label(const RawDataset& raw, std::size_t spelling) {
  const auto row = std::find(raw.label.begin(), raw.label.end(), static_cast<std::int32_t>(spelling));
  if (row == raw.label.end()) return std::nullopt;
  return raw.labels_from() + ": row " + std::to_string(row - raw.label.begin() + 1) + " (counted from 1)";
}

// The labels of the rows of a file.
struct Labels {
  std::vector<std::int32_t> label;    // an index into spelling; -1: none
  std::vector<std::string> spelling;  // in order of first appearance
  std::optional<LabelType> type;      // where the file declares it
};

// From a file of their own: a .npy array, or text with one label a line.
Labels read_label_file(const std::string& path, UnpackLimit max_unpacked = {});

// Blanks around a label do not count, nor do empty lines at the end; an empty line before is a row without a label.
Labels parse_label_lines(std::string_view text, const std::string& name);

// make_dataset() for a part of the rows, which may be of one class, or none.
Dataset labelled(RawDataset raw);

// Labels written label:weight: takes the weights out of them; a label without one weighs 1.
void split_label_weights(RawDataset& raw);

}  // namespace topwolf
