// A dual that is on the device, in this process's memory, or on both sides, and goes where it is looked at.
#pragma once

#include "engine/cuda/device.hpp"
#include "engine/cuda/views.hpp"
#include "engine/host/dual.hpp"

namespace topwolf::cuda {

class CudaDual final : public Dual {
 public:
  CudaDual(const Device& device, std::int64_t n, int threads) : device_(device), threads_(threads), rows_(n) {}

  const HostDual& host() const;
  // To be changed there.
  HostDual& on_host();
  // What on_host() gave was looked at only.
  void stayed_the_same() { device_has_it_ = device_had_it_; }

  // With `slots` places for each row, or more where a row has more entries than that.
  DualView view(std::int64_t slots) const;
  // To be changed there.
  DualView on_device(std::int64_t slots);

 private:
  void fetch() const;
  void send(std::int64_t slots) const;

  template <class Body>
  void for_pieces(const Body& body) const;

  const Device& device_;
  const int threads_;
  mutable HostDual rows_;
  mutable std::int64_t slots_ = 0;
  mutable Buffer<std::int32_t> column_, count_;
  mutable Buffer<double> value_;
  mutable bool host_has_it_ = true, device_has_it_ = false;
  bool device_had_it_ = false;
};

// Every dual of a CUDA engine is one.
inline CudaDual& cuda_dual(Dual& A) {
  return static_cast<CudaDual&>(A);
}
inline const CudaDual& cuda_dual(const Dual& A) {
  return static_cast<const CudaDual&>(A);
}

}  // namespace topwolf::cuda
