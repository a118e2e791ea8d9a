#include "engine/blas.hpp"

#include <cblas.h>
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <new>

#include "core/fail.hpp"

namespace topwolf {

namespace {

// The count is one per process, so users that overlap share one saved value.
std::mutex guard;
int users = 0;
int callers_count = 0;

// Everybody who multiplies goes through here. OpenBLAS keeps a lock of its own and a list of buffers in use; a process
// forked while a thread is inside would find both as that thread left them. So fork waits until nobody is.
class Gate {
 public:
  void enter() {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [&] { return !closed_; });
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
  std::mutex guard_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool closed_ = false;
};

Gate& gate = *new Gate;  // never destroyed: at exit threads may still be inside

void before_fork() {
  guard.lock();
  gate.close();
}

void after_fork_in_parent() {
  gate.reopen();
  guard.unlock();
}

void after_fork_in_child() {
  new (&gate) Gate;  // whoever held its mutex, or waited, is not here
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

void multiply_transposed(std::int64_t rows, std::int64_t m, std::int64_t d, const float* X, std::int64_t ldx,
                         const float* W, std::int64_t ldw, float* S, std::int64_t lds) {
  const Inside inside;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(rows), static_cast<blasint>(m),
              static_cast<blasint>(d), 1.0f, X, static_cast<blasint>(ldx), W, static_cast<blasint>(ldw), 0.0f, S,
              static_cast<blasint>(lds));
}

void multiply_transposed(std::int64_t rows, std::int64_t m, std::int64_t d, const double* X, std::int64_t ldx,
                         const double* W, std::int64_t ldw, double* S, std::int64_t lds) {
  const Inside inside;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(rows), static_cast<blasint>(m),
              static_cast<blasint>(d), 1.0, X, static_cast<blasint>(ldx), W, static_cast<blasint>(ldw), 0.0, S,
              static_cast<blasint>(lds));
}

void multiply(std::int64_t rows, std::int64_t cols, std::int64_t inner, const double* A, std::int64_t lda,
              const double* B, std::int64_t ldb, double* C, std::int64_t ldc) {
  const Inside inside;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<blasint>(rows), static_cast<blasint>(cols),
              static_cast<blasint>(inner), 1.0, A, static_cast<blasint>(lda), B, static_cast<blasint>(ldb), 0.0, C,
              static_cast<blasint>(ldc));
}

}  // namespace topwolf
