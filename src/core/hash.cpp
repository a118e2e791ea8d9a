// XXH3-128 through the system's xxHash library.
#include "core/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace topwolf {

void Hasher::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

Hasher::Hasher() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void Hasher::add(const void* bytes, std::size_t count) {
  if (count > 0) XXH3_128bits_update(state_.get(), bytes, count);
}

std::string Hasher::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace topwolf
