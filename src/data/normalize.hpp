// Normalisation of rows that are read some at a time; of those in memory: topwolf/dataset.hpp.
#pragma once

#include <vector>

#include "data/row_files.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

// What maxabs measures: each of scale (d) becomes the largest magnitude of its column, where that is larger.
void add_largest(const FeatureView& X, std::vector<double>& scale);

// The rows, normalised when they are read.
SharedRows normalized(const Normalization& normalization, SharedRows rows);

}  // namespace topwolf
