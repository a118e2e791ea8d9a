// XXH3-128 by xxHash's one header (third_party/xxhash).
#include "core/hash.hpp"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace topwolf {

struct Hasher::State {
  XXH3_state_t xxh3;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh3);
}

Hasher::~Hasher() = default;

void Hasher::add(const void* bytes, std::size_t count) {
  if (count > 0) XXH3_128bits_update(&state_->xxh3, bytes, count);
}

std::string Hasher::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace topwolf
