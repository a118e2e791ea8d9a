// What the first bytes of a file say it is, whatever its name.
#pragma once

#include <string_view>

namespace topwolf {

enum class Compression { none, gzip, bzip2, xz, zstd };

Compression compression_of(std::string_view bytes);

bool is_zip(std::string_view bytes);

}  // namespace topwolf
