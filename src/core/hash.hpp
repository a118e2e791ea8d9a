// Fingerprints of bytes: XXH3-128 in streaming form, printed as xxhsum prints it. Detects accidents, not attacks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace topwolf {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  void add(const void* bytes, std::size_t count);
  void add(std::string_view text) { add(text.data(), text.size()); }
  std::string hex() const;  // 32 digits, of everything added so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace topwolf
