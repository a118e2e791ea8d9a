// When two data sets are the same, and what every data set must be.
#pragma once

#include "data/check_dataset.hpp"
#include "fuzz.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf::fuzz {

template <class T>
bool same(const DenseStore<T>& a, const DenseStore<T>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.values == b.values;
}

template <class T>
bool same(const CsrStore<T>& a, const CsrStore<T>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.row_begin == b.row_begin && a.column == b.column &&
         a.values == b.values;
}

inline bool same_features(const FeatureStore& a, const FeatureStore& b) {
  return a.index() == b.index() && std::visit(
                                       [&](const auto& X) {
                                         using Store = std::decay_t<decltype(X)>;
                                         return same(X, std::get<Store>(b));
                                       },
                                       a);
}

// Row by row, as spelled; "" for none.
inline std::vector<std::string> labels_of(const RawDataset& raw) {
  std::vector<std::string> labels;
  for (const std::int32_t label : raw.label) {
    require(label >= -1 && label < static_cast<std::int32_t>(raw.spelling.size()), "a label is one of the spellings");
    labels.push_back(label < 0 ? "" : raw.spelling[static_cast<std::size_t>(label)]);
  }
  return labels;
}

inline bool same_rows(const RawDataset& a, const RawDataset& b) {
  return same_features(a.X, b.X) && labels_of(a) == labels_of(b);
}

// Rows, columns and labels fit together. What is read is either refused by the checks before training, or passes them
// as a data set.
inline void check_rows(const RawDataset& raw) {
  const std::int64_t rows = std::visit([](const auto& X) { return X.rows; }, raw.X);
  require(rows > 0, "what is accepted has rows");
  require(raw.label.empty() || static_cast<std::int64_t>(raw.label.size()) == rows, "there is a label for each row");
  static_cast<void>(labels_of(raw));
  const auto data = attempt([&] { return make_dataset(raw); });
  if (!data) return;
  check_labels(data->y, rows, data->classes.size());
  attempt([&] {
    check_features(data->X, 1);
    return true;
  });
}

}  // namespace topwolf::fuzz
