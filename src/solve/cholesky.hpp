// Dense positive definite systems, in double, on all threads. Knows nothing of what they are for.
#pragma once

#include <cstdint>
#include <vector>

namespace topwolf {

// Replaces the lower triangle of H (size x size, row by row) by L with H = L L^T; what is above the diagonal is
// neither looked at nor kept. False where H is not positive definite, or no numbers.
bool factorise(std::vector<double>& H, std::int64_t size, int threads);

// b becomes H^-1 b.
void solve(const std::vector<double>& L, std::vector<double>& b);

}  // namespace topwolf
