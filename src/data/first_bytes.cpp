#include "data/first_bytes.hpp"

namespace topwolf {

using namespace std::string_view_literals;

namespace {

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b"sv);
}

// "BZh9" alone could be a label; a block or the end of the stream follows it.
bool is_bzip2(std::string_view bytes) {
  if (!bytes.starts_with("BZh"sv) || bytes.size() < 4 || bytes[3] < '1' || bytes[3] > '9') return false;
  const std::string_view next = bytes.substr(4, 6);
  return "\x31\x41\x59\x26\x53\x59"sv.starts_with(next) || "\x17\x72\x45\x38\x50\x90"sv.starts_with(next);
}

bool is_xz(std::string_view bytes) {
  return bytes.starts_with(
      "\xfd"
      "7zXZ\0"sv);
}

bool is_zstd(std::string_view bytes) {
  return bytes.starts_with("\x28\xb5\x2f\xfd"sv);
}

}  // namespace

Compression compression_of(std::string_view bytes) {
  if (is_gzip(bytes)) return Compression::gzip;
  if (is_bzip2(bytes)) return Compression::bzip2;
  if (is_xz(bytes)) return Compression::xz;
  return is_zstd(bytes) ? Compression::zstd : Compression::none;
}

bool is_zip(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04"sv) || bytes.starts_with("PK\x05\x06"sv);
}

}  // namespace topwolf
