// .twd: a data set as topwolf itself stores it, read back without parsing (docs/file_formats.md). Trusts nothing it
// reads: arrays that do not fit together are Error{data}.
#pragma once

#include <string>

#include "topwolf/dataset.hpp"

namespace topwolf {

void write_cache(const RawDataset& raw, const std::string& path);

// In the precision it was stored in.
RawDataset read_cache(const std::string& path);

}  // namespace topwolf
