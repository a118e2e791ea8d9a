// The engine on an NVIDIA GPU: the plain problem (the Kronecker map), with rows that fit into its memory.
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace topwolf {

// On the device of this index. A build without CUDA throws one sentence that says how to get one with it. lengths2:
// ||x_i||^2 of the rows, less the mean where there is one.
std::unique_ptr<Engine> make_cuda_engine(const Problem& problem, int device, SharedLengths lengths2, int threads);

}  // namespace topwolf
