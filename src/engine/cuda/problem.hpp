// The rows and the problem on the device, and memory for the kernels that look at them.
#pragma once

#include "engine/cuda/device.hpp"
#include "engine/cuda/views.hpp"
#include "engine/problem.hpp"

namespace topwolf::cuda {

// X as it was given, and what stays the same for every problem on these rows.
class DeviceRows {
 public:
  DeviceRows(const Device& device, const Problem& problem, const std::vector<double>& lengths2, int threads);
  const RowsView& view() const { return view_; }
  const double* lengths2() const { return lengths2_.data(); }

 private:
  template <class View>
  void copy(const Device& device, const View& X, int threads);

  RowsView view_;
  Buffer<char> value_;
  Buffer<std::int64_t> row_begin_;
  Buffer<std::int32_t> column_;
  Buffer<double> mean_, lengths2_;
};

// Labels, weights, margins and the loss, which change with the problem.
class DeviceProblem {
 public:
  DeviceProblem(const Device& device, const Problem& problem, const DeviceRows& rows);
  const ProblemView& view() const { return view_; }

 private:
  ProblemView view_;
  Buffer<std::int32_t> y_, exception_column_;
  Buffer<std::int64_t> exception_begin_;
  Buffer<double> omega_, rho_, cost_, margins_;
};

// For row kernels: a part for each warp at work.
class DeviceScratch {
 public:
  DeviceScratch(const Device& device, std::int64_t m);
  // With softmax.
  void make_more(const Device& device);
  const ScratchView& view() const { return view_; }

 private:
  ScratchView view_;
  Buffer<double> key_, more_;
  Buffer<Ranked> raw_, sorted_;
  Buffer<PooledBlock> block_;
};

}  // namespace topwolf::cuda
