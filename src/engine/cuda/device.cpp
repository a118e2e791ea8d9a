#include "engine/cuda/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/fail.hpp"
#include "core/threads.hpp"

namespace topwolf::cuda {

void check(cudaError_t status, std::string_view doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // it is told here, and not again
  fail(ErrorKind::io, "the CUDA device failed while {}: {}", doing, cudaGetErrorString(status));
}

void check(cublasStatus_t status, std::string_view doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorKind::memory : ErrorKind::io, "the CUDA device failed while {}: {}",
       doing, cublasGetStatusString(status));
}

namespace {

// The first call of the runtime, which finds out what there is.
void require_device(int index) {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found == cudaErrorInsufficientDriver) {
    fail(ErrorKind::option, "{} needs a newer NVIDIA driver, or one at all: {}", Field{"device", "cuda"},
         cudaGetErrorString(found));
  }
  if (found != cudaSuccess || count == 0) {
    cudaGetLastError();
    fail(ErrorKind::option, "{} needs an NVIDIA GPU, but {}", Field{"device", "cuda"},
         found == cudaSuccess || found == cudaErrorNoDevice ? "there is none here" : cudaGetErrorString(found));
  }
  if (index >= count) {
    fail(ErrorKind::option, "{} is cuda:{}, but there {}", Field{"device"}, index,
         count == 1 ? "is only cuda:0" : fmt::format("are only cuda:0 to cuda:{}", count - 1));
  }
  const cudaError_t chosen = cudaSetDevice(index);
  if (chosen != cudaSuccess || cudaFree(nullptr) != cudaSuccess) {
    const cudaError_t why = chosen != cudaSuccess ? chosen : cudaGetLastError();
    fail(ErrorKind::option, "{} is cuda:{}, which cannot be used now: {}", Field{"device"}, index,
         cudaGetErrorString(why));
  }
}

}  // namespace

Device::Device(int index) : index_(index) {
  constexpr const char* emulation = "CUBLAS_EMULATE_DOUBLE_PRECISION";
  if (std::getenv(emulation)) {
    fail(ErrorKind::option, "{} cannot be used while {} is set: a certificate rests on products in double",
         Field{"device", "cuda"}, emulation);
  }
  require_device(index);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "starting");
  check(cublasCreate(&products_), "starting its products");
  check(cublasSetStream(products_, stream_), "starting its products");
  // Its own, so that products are the same every time, and can be part of a graph.
  constexpr std::size_t bytes = std::size_t{32} << 20;
  workspace_ = allocate(bytes);
  check(cublasSetWorkspace(products_, workspace_, bytes), "starting its products");
}

Device::~Device() {
  cublasDestroy(products_);
  cudaFree(workspace_);
  cudaStreamDestroy(stream_);
}

void Device::choose() const {
  check(cudaSetDevice(index_), "being chosen");
}

void Device::wait() const {
  check(cudaGetLastError(), "starting its work");
  check(cudaStreamSynchronize(stream_), "working");
}

// Column by column this is S^T (m x count) = W X^T.
void Device::scores(const double* X, const double* W, std::int64_t count, std::int64_t m, std::int64_t pitch, double* S,
                    Products) const {
  const double one = 1.0, zero = 0.0;
  check(cublasGemmEx_64(products_, CUBLAS_OP_T, CUBLAS_OP_N, m, count, pitch, &one, W, CUDA_R_64F, pitch, X, CUDA_R_64F,
                        pitch, &zero, S, CUDA_R_64F, m, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT),
        "multiplying");
}

void Device::scores(const float* X, const float* W, std::int64_t count, std::int64_t m, std::int64_t pitch, float* S,
                    Products products) const {
  const float one = 1.0F, zero = 0.0F;
  check(cublasGemmEx_64(products_, CUBLAS_OP_T, CUBLAS_OP_N, m, count, pitch, &one, W, CUDA_R_32F, pitch, X, CUDA_R_32F,
                        pitch, &zero, S, CUDA_R_32F, m,
                        products == Products::fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT),
        "multiplying");
}

void Device::scale(double factor, std::int64_t count, float* values) const {
  const auto by = static_cast<float>(factor);
  check(cublasSscal_64(products_, count, &by, values, 1), "scaling");
}
void Device::scale(double factor, std::int64_t count, double* values) const {
  check(cublasDscal_64(products_, count, &factor, values, 1), "scaling");
}

namespace {

// Memory that the device reads by itself, and when it has done so.
struct Pinned {
  explicit Pinned(std::size_t bytes) {
    check(cudaMallocHost(reinterpret_cast<void**>(&data), bytes), "getting memory that it can read");
    check(cudaEventCreateWithFlags(&read, cudaEventDisableTiming), "getting memory that it can read");
  }
  ~Pinned() {
    cudaEventDestroy(read);
    cudaFreeHost(data);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  char* data = nullptr;
  cudaEvent_t read = nullptr;
};

}  // namespace

// Many rows go through two pieces of pinned memory, of which one is filled by all threads while the other is on its
// way: several times as fast as from memory that is not pinned.
void Device::send_rows(const char* from, std::int64_t rows, std::int64_t width, std::int64_t stride, char* to,
                       int threads) const {
  constexpr std::int64_t piece = std::int64_t{64} << 20;
  choose();
  if (rows * width < 4 * piece || width > piece) {
    check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(width), from, static_cast<std::size_t>(stride),
                            static_cast<std::size_t>(width), static_cast<std::size_t>(rows), cudaMemcpyHostToDevice,
                            stream_),
          "copying rows to it");
    return wait();
  }
  Pinned first(static_cast<std::size_t>(piece)), second(static_cast<std::size_t>(piece));
  Pinned *filling = &first, *other = &second;
  const std::int64_t at_once = piece / width;
  for (std::int64_t begin = 0; begin < rows; begin += at_once) {
    const std::int64_t count = std::min(at_once, rows - begin);
    check(cudaEventSynchronize(filling->read), "copying rows to it");
    parallel_for(count, threads, [&](std::int64_t r) {
      std::memcpy(filling->data + r * width, from + (begin + r) * stride, static_cast<std::size_t>(width));
    });
    check(cudaMemcpyAsync(to + begin * width, filling->data, static_cast<std::size_t>(count * width),
                          cudaMemcpyHostToDevice, stream_),
          "copying rows to it");
    check(cudaEventRecord(filling->read, stream_), "copying rows to it");
    std::swap(filling, other);
  }
  wait();
}

void* Device::allocate(std::size_t bytes) const {
  choose();
  void* at = nullptr;
  if (cudaMalloc(&at, bytes) == cudaSuccess) return at;
  cudaGetLastError();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "counting its memory");
  fail(ErrorKind::memory,
       "{:.2f} GB are needed on the CUDA device, but of its {:.2f} GB only {:.2f} GB are free; features of 16 bits, "
       "fewer rows, or {} need less",
       static_cast<double>(bytes) / 1e9, static_cast<double>(total) / 1e9, static_cast<double>(free) / 1e9,
       Field{"device", "cpu"});
}

}  // namespace topwolf::cuda
