// Sparse rows on fewer columns: weights are then kept, certified and stored for these alone. Which columns are kept is
// said by kept_columns (topwolf/dataset.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "topwolf/matrix.hpp"

namespace topwolf {

// The columns where X stores a value, ascending; of dense features all.
std::vector<std::int32_t> occurring_columns(const Features& X);

// The same rows on these columns (ascending), which are numbered from 0; values in others are left out. Without columns
// X as it is. Where nothing is left out, the values of X are shared, and must live as long if they are borrowed.
Features on_columns(const Features& X, const std::vector<std::int32_t>& columns);

}  // namespace topwolf
