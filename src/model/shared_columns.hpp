// Rows and a classifier that has weights for some columns only, brought onto the columns that either of them uses, so
// that whoever wants plain arrays can have them without a column for every feature there could be.
#pragma once

#include <cstdint>
#include <vector>

#include "topwolf/model.hpp"

namespace topwolf {

struct SharedColumns {
  std::vector<std::int32_t> columns;  // which they are
  Features X;
  Classifier classifier;  // `columns` is empty, d that of X; its normalisation has no scales, for it is already applied
};

// The rows may be wider than the classifier. Only for one whose `columns` are not empty.
SharedColumns on_shared_columns(const Features& X, const Classifier& classifier);

}  // namespace topwolf
