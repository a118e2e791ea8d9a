// A dual from an earlier run as the start of another (docs/maths.md, D3).
#pragma once

#include "engine/engine.hpp"

namespace topwolf {

// Any rows over the classes, one per example, made feasible for this problem and scaled to where the dual is largest.
DualRows warm_start(const Problem& problem, Engine& engine, const SparseRows& earlier, int threads);

}  // namespace topwolf
