// What the fuzz targets share. A target is one function that takes any bytes: they are refused with topwolf::Error, or
// what comes of them satisfies the invariants that the target names. Whatever else happens is a finding: another
// exception, a sanitizer's report, an Error{internal}, too much time or memory.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "topwolf/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace topwolf::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline std::string text(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}

inline void require(bool holds, const std::string& invariant) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", invariant.c_str());
  std::abort();
}

// What body() returns, or nothing where it refuses; `sentence` becomes the reason.
template <class Body>
auto attempt(const Body& body, std::string* sentence = nullptr) -> std::optional<decltype(body())> {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    if (sentence) *sentence = error.what();
    require(!std::string_view(error.what()).empty(), "a refusal gives its reason");
    return std::nullopt;
  }
}

// A folder of this process, for readers and writers that know paths alone. scripts/fuzz puts it into memory (TMPDIR).
inline std::string scratch_file(const std::string& name) {
  static const struct Folder {
    // mkdtemp() writes the name over the six X that it asks for.
    Folder() : path((std::filesystem::temp_directory_path() / "topwolf-fuzz-XXXXXX").string()) {
      if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::string path;
  } folder;
  return folder.path + "/" + name;
}

inline std::string stored(std::string_view bytes, const std::string& name) {
  std::string path = scratch_file(name);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("the scratch file cannot be written");
  return path;
}

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace topwolf::fuzz
