// Exact block ascent on the dual: one example's alpha at a time is set to its maximiser in closed form (L6). An
// iteration is an epoch over the examples that still have a share of the gap, in a fresh random order.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/block_scores.hpp"
#include "solve/solver.hpp"

namespace topwolf {

struct BlockOptions {
  std::uint64_t seed{0};
  std::int64_t block_rows{0};  // 0: what the scores like best
  bool shrink{true};           // visit examples without a share of the gap less often
  bool accelerate{true};       // conjugate gradients on the face before every few epochs
};

// The scores are those of W = 0, or the solver is started.
std::unique_ptr<Solver> make_block_solver(const Problem& problem, Engine& engine, BlockScores& scores,
                                          const BlockOptions& options, int threads);

}  // namespace topwolf
