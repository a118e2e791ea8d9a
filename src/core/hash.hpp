// Fingerprints of bytes: XXH3-128 in streaming form, printed as xxhsum prints it. Detects accidents, not attacks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace topwolf {

class Hasher {
 public:
  Hasher();
  void add(const void* bytes, std::size_t count);
  void add(std::string_view text) { add(text.data(), text.size()); }
  std::string hex() const;  // 32 digits, of everything added so far

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace topwolf
