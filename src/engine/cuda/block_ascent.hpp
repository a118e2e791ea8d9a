// Block ascent on the device (B2): the rows of a batch step at once, each alone, and what is taken of their steps
// follows from their slope and their length. Nothing comes back but a few numbers for every few batches.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/cuda/problem.hpp"
#include "engine/engine.hpp"

namespace topwolf::cuda {

class CudaBlockAscent : public BlockAscent {
 public:
  // On the device: a pass that knows the rows' shares of the gap better writes them here.
  virtual double* shares() = 0;
  // Or says them.
  virtual void see(const std::vector<double>& shares) = 0;
};

// What is given must outlive the ascent; the problem may change between two runs. R: what is multiplied.
template <class R>
std::unique_ptr<CudaBlockAscent> make_block_ascent(const Device& device, const DeviceRows& rows,
                                                   const DeviceScratch& scratch,
                                                   const std::optional<DeviceProblem>& on_device,
                                                   const Problem& problem);

}  // namespace topwolf::cuda
