// A device: its stream, its products, and memory on it. What goes wrong there is one sentence.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace topwolf::cuda {

// Throws unless all is well; `doing` says what did not work: "copying rows to it".
void check(cudaError_t status, std::string_view doing);
void check(cublasStatus_t status, std::string_view doing);

// What products of float32 may round their factors to.
enum class Products { exact, fast };

class Device {
 public:
  // Throws Error{option} where there is no driver, no such device, or none that is free.
  explicit Device(int index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  cudaStream_t stream() const { return stream_; }
  // Every thread has a device of its own choice: this one is now the caller's.
  void choose() const;
  // Until all that was started is done; throws where some of it went wrong.
  void wait() const;

  // S (count x m) = X W^T, with X (count x pitch) and W (m x pitch).
  void scores(const float* X, const float* W, std::int64_t count, std::int64_t m, std::int64_t pitch, float* S,
              Products products = Products::exact) const;
  void scores(const double* X, const double* W, std::int64_t count, std::int64_t m, std::int64_t pitch, double* S,
              Products products = Products::exact) const;
  void scale(double factor, std::int64_t count, float* values) const;
  void scale(double factor, std::int64_t count, double* values) const;

  // Rows of `width` bytes that lie `stride` bytes apart, one behind the other to the device.
  void send_rows(const char* from, std::int64_t rows, std::int64_t width, std::int64_t stride, char* to,
                 int threads) const;

  // Throws Error{memory}, with the figures, where that is not to be had.
  void* allocate(std::size_t bytes) const;

 private:
  int index_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t products_ = nullptr;
  void* workspace_ = nullptr;
};

// Numbers on the device. Copies are in the order of the stream, and done when they return.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Device& device, std::int64_t size)
      : device_(&device),
        data_(size > 0 ? static_cast<T*>(device.allocate(static_cast<std::size_t>(size) * sizeof(T))) : nullptr),
        size_(size) {}
  template <class Values>
  requires requires(const Values& values) { values.data(); }
  Buffer(const Device& device, const Values& values) : Buffer(device, static_cast<std::int64_t>(values.size())) {
    put(values.data(), size_);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() { cudaFree(data_); }

  T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  void clear() {
    if (size_ > 0) check(cudaMemsetAsync(data_, 0, bytes(size_), device_->stream()), "clearing its memory");
  }
  void put(const T* values, std::int64_t count) {
    if (count == 0) return;
    check(cudaMemcpyAsync(data_, values, bytes(count), cudaMemcpyHostToDevice, device_->stream()), "copying to it");
    device_->wait();
  }
  void get(T* values, std::int64_t count) const {
    if (count == 0) return;
    check(cudaMemcpyAsync(values, data_, bytes(count), cudaMemcpyDeviceToHost, device_->stream()), "copying from it");
    device_->wait();
  }
  std::vector<T> get() const {
    std::vector<T> out(static_cast<std::size_t>(size_));
    get(out.data(), size_);
    return out;
  }

 private:
  static std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); }
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  const Device* device_ = nullptr;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace topwolf::cuda
