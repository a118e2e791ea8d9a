// gzip, bzip2, xz and zstd in memory. Corrupt or truncated data is Error{data}, never a shorter content.
#pragma once

#include <string>
#include <string_view>

#include "data/buffer.hpp"

namespace topwolf {

// Streams one after the other are one content, as gzip, bzip2, xz and zstd themselves read them.
Buffer decompress(std::string_view bytes, const std::string& name);

}  // namespace topwolf
