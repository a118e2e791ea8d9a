// Some rows of a data set, copied.
#pragma once

#include <span>

#include "topwolf/dataset.hpp"

namespace topwolf {

Features rows_of(const Features& X, std::span<const std::int64_t> rows);

// With the same classes, normalisation and index base.
Dataset subset(const Dataset& data, std::span<const std::int64_t> rows);

}  // namespace topwolf
