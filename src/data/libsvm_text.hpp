// LIBSVM text: `label index:value ...`, one row a line (docs/file_formats.md). Refuses, with Error{data} and the place
// `file:line:column`, whatever it would have to guess about.
#pragma once

#include <cstddef>
#include <string>

#include "data/text_source.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

inline constexpr std::size_t libsvm_chunk_bytes = std::size_t{1} << 22;

// Always CSR, with as many columns as the largest index asks for. The result and the error, if any, depend neither on
// the number of threads nor on the chunks.
RawDataset parse_libsvm(const TextSource& text, const LoadOptions& options, const std::string& name,
                        std::size_t chunk_bytes = libsvm_chunk_bytes);

}  // namespace topwolf
