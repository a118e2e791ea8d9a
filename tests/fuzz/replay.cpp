// Feeds files to the fuzz targets without a fuzzer, so that every build runs them over their seeds and over all that
// was ever found: fuzz_replay TARGET FOLDER... prints how many files it fed.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.hpp"

using Target = int(const std::uint8_t*, std::size_t);

#define TOPWOLF_TARGET(name) extern "C" Target fuzz_##name;
#include "targets.inc"
#undef TOPWOLF_TARGET

namespace {

Target* find_target(std::string_view wanted) {
#define TOPWOLF_TARGET(name) \
  if (wanted == #name) return fuzz_##name;
#include "targets.inc"
#undef TOPWOLF_TARGET
  return nullptr;
}

// Read into a block of its own, so that reading past its end is seen.
void feed(Target* target, const std::filesystem::path& path) {
  const std::string text = topwolf::fuzz::content(path.string());
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  try {
    target(bytes.data(), bytes.size());
  } catch (const std::exception& error) {
    topwolf::fuzz::require(false, path.string() + ": " + error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Target* const target = argc > 2 ? find_target(argv[1]) : nullptr;
  if (target == nullptr) {
    std::fprintf(stderr, "usage: fuzz_replay TARGET FOLDER...\n");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (int k = 2; k < argc; ++k) {
    if (!std::filesystem::exists(argv[k])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[k])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::printf("%s\n", file.c_str());  // the last one is the one that failed
    std::fflush(stdout);
    feed(target, file);
  }
  std::printf("%zu files, and nothing to report\n", files.size());
  return files.empty() ? 1 : 0;
}
