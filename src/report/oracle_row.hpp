// One example of a loss that is known by its oracle alone, for verify: what it says, looked at once more, and how far a
// dual row is from what its vertices make (ledger, G4, L12). Shares no code with src/loss, and is slow on purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "topwolf/loss.hpp"

namespace topwolf {

using LongRow = std::vector<long double>;

// The oracle's value at violations that are not below z, and what its own sum may have lost.
long double oracle_bound(const Loss& loss, const LongRow& z, std::int64_t y);

// The beta of a convex combination of vertices that is near the one of b, of which that of y does not count.
LongRow oracle_nearest(const Loss& loss, const LongRow& b, std::int64_t y);

}  // namespace topwolf
