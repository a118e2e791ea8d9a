// gzip, bzip2, xz and zstd in memory. Corrupt or truncated data is Error{data}, never a shorter content; so is what
// unpacks to more than is allowed, as a small file may hold any number of equal bytes.
#pragma once

#include <string>
#include <string_view>

#include "data/buffer.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

// Streams one after the other are one content, as gzip, bzip2, xz and zstd themselves read them.
Buffer decompress(std::string_view bytes, const std::string& name, UnpackLimit max_unpacked = {});

// The bytes that a file of this size may unpack to.
std::size_t most_unpacked(UnpackLimit asked, std::size_t packed);
[[noreturn]] void fail_unpacked(const std::string& name, std::size_t most);

}  // namespace topwolf
