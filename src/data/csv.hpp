// CSV (RFC 4180) with numbers as features and one column of labels (docs/file_formats.md). Refuses empty cells, cells
// that are not numbers and rows of another length, with their place `file:line:column`.
#pragma once

#include <string>

#include "data/buffer.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

RawDataset parse_csv(const Buffer& text, const LoadOptions& options, const std::string& name);

}  // namespace topwolf
