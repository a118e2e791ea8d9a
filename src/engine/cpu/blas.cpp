#include "engine/cpu/blas.hpp"

#include <cblas.h>
#include <pthread.h>
#include <sys/mman.h>

#include <condition_variable>
#include <limits>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/fail.hpp"

namespace topwolf {

namespace {

// The count is one per process, so users that overlap share one saved value.
std::mutex guard;
int users = 0;
int callers_count = 0;

// Everybody who multiplies goes through here, for two weaknesses of OpenBLAS. It keeps a lock of its own and a list of
// buffers in use; a process forked while a thread is inside would find both as that thread left them: fork waits until
// nobody is. And each of those who are inside at the same time needs a buffer, which it tries to get for ever where
// there is no memory: it is asked for here first.
class Gate {
 public:
  explicit Gate(int buffers) : buffers_(buffers) {}
  int buffers() const { return buffers_; }

  void enter() {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [&] { return !closed_ && (inside_ < buffers_ || add_buffer()); });
    ++inside_;
  }
  void leave() {
    const std::lock_guard lock(guard_);
    --inside_;
    changed_.notify_all();
  }
  void close() {
    std::unique_lock lock(guard_);
    closed_ = true;
    changed_.wait(lock, [&] { return inside_ == 0; });
  }
  void reopen() {
    const std::lock_guard lock(guard_);
    closed_ = false;
    changed_.notify_all();
  }

 private:
  // All that there are being in use. False: wait until one is free.
  bool add_buffer() {
    constexpr int most = 128;  // what an OpenBLAS built for 64 threads has, without a word about it on standard error
    constexpr std::size_t buffer = 129 << 20;
    // Between this look and OpenBLAS's own another thread may start, whose stack and first allocation reserve this
    // much.
    constexpr std::size_t bytes = buffer + (144 << 20);
    if (buffers_ == most) return false;
    // Too large for the products that OpenBLAS does without a buffer.
    constexpr blasint side = 128;
    std::vector<float> zero(side * side), product(side * side);
    void* probe = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) {
      if (buffers_ > 0) return false;
      fail(ErrorKind::memory, "there is no memory for the buffer that OpenBLAS multiplies with, {} MiB", buffer >> 20);
    }
    munmap(probe, bytes);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, side, side, side, 0.5f, zero.data(), side, zero.data(), side,
                0.0f, product.data(), side);
    ++buffers_;
    return true;
  }

  std::mutex guard_;
  std::condition_variable changed_;
  int buffers_;  // that OpenBLAS has
  int inside_ = 0;
  bool closed_ = false;
};

Gate& gate = *new Gate(0);  // never destroyed: at exit threads may still be inside

void before_fork() {
  guard.lock();
  gate.close();
}

void after_fork_in_parent() {
  gate.reopen();
  guard.unlock();
}

void after_fork_in_child() {
  new (&gate) Gate(gate.buffers());  // whoever held its mutex, or waited, is not here
  guard.unlock();
}

[[maybe_unused]] const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

struct Inside {
  Inside() { gate.enter(); }
  ~Inside() { gate.leave(); }
};

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  constexpr int pthread_variant = 1;
  if (openblas_get_parallel() != pthread_variant) {
    fail(ErrorKind::internal,
         "the OpenBLAS loaded at run time is not the pthread variant; install libopenblas0-pthread and select it with "
         "update-alternatives");
  }
  std::lock_guard lock(guard);
  if (users++ > 0) return;
  callers_count = openblas_get_num_threads();
  openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  std::lock_guard lock(guard);
  if (--users == 0) openblas_set_num_threads(callers_count);
}

namespace {

// BLAS counts with 32 bits.
blasint count(std::int64_t size) {
  if (!std::in_range<blasint>(size)) {
    fail(ErrorKind::internal, "a product has a side or a pitch of {}, but OpenBLAS counts to {}", size,
         std::numeric_limits<blasint>::max());
  }
  return static_cast<blasint>(size);
}

void gemm_transposed(blasint rows, blasint m, blasint d, const float* X, blasint ldx, const float* W, blasint ldw,
                     float* S, blasint lds) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, m, d, 1.0f, X, ldx, W, ldw, 0.0f, S, lds);
}

void gemm_transposed(blasint rows, blasint m, blasint d, const double* X, blasint ldx, const double* W, blasint ldw,
                     double* S, blasint lds) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, m, d, 1.0, X, ldx, W, ldw, 0.0, S, lds);
}

// Row by row where the rows lie too far apart for BLAS, as those of a slice can.
template <class T>
void product(std::int64_t rows, std::int64_t m, std::int64_t d, const T* X, std::int64_t ldx, const T* W,
             std::int64_t ldw, T* S, std::int64_t lds) {
  if (!std::in_range<blasint>(ldx)) {
    for (std::int64_t i = 0; i < rows; ++i) product(1, m, d, X + i * ldx, d, W, ldw, S + i * lds, lds);
  } else if (!std::in_range<blasint>(ldw)) {
    for (std::int64_t j = 0; j < m; ++j) product(rows, 1, d, X, ldx, W + j * ldw, d, S + j, lds);
  } else {
    gemm_transposed(count(rows), count(m), count(d), X, count(ldx), W, count(ldw), S, count(lds));
  }
}

}  // namespace

void multiply_transposed(std::int64_t rows, std::int64_t m, std::int64_t d, const float* X, std::int64_t ldx,
                         const float* W, std::int64_t ldw, float* S, std::int64_t lds) {
  const Inside inside;
  product(rows, m, d, X, ldx, W, ldw, S, lds);
}

void multiply_transposed(std::int64_t rows, std::int64_t m, std::int64_t d, const double* X, std::int64_t ldx,
                         const double* W, std::int64_t ldw, double* S, std::int64_t lds) {
  const Inside inside;
  product(rows, m, d, X, ldx, W, ldw, S, lds);
}

void multiply(std::int64_t rows, std::int64_t cols, std::int64_t inner, const double* A, std::int64_t lda,
              const double* B, std::int64_t ldb, double* C, std::int64_t ldc) {
  const Inside inside;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count(rows), count(cols), count(inner), 1.0, A, count(lda), B,
              count(ldb), 0.0, C, count(ldc));
}

}  // namespace topwolf
