#include "engine/blas.hpp"

#include <cblas.h>

#include <mutex>

#include "core/fail.hpp"

namespace topwolf {

namespace {

// The count is one per process, so users that overlap share one saved value.
std::mutex guard;
int users = 0;
int callers_count = 0;

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
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(rows), static_cast<blasint>(m),
              static_cast<blasint>(d), 1.0f, X, static_cast<blasint>(ldx), W, static_cast<blasint>(ldw), 0.0f, S,
              static_cast<blasint>(lds));
}

void multiply_transposed(std::int64_t rows, std::int64_t m, std::int64_t d, const double* X, std::int64_t ldx,
                         const double* W, std::int64_t ldw, double* S, std::int64_t lds) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(rows), static_cast<blasint>(m),
              static_cast<blasint>(d), 1.0, X, static_cast<blasint>(ldx), W, static_cast<blasint>(ldw), 0.0, S,
              static_cast<blasint>(lds));
}

void multiply(std::int64_t rows, std::int64_t cols, std::int64_t inner, const double* A, std::int64_t lda,
              const double* B, std::int64_t ldb, double* C, std::int64_t ldc) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<blasint>(rows), static_cast<blasint>(cols),
              static_cast<blasint>(inner), 1.0, A, static_cast<blasint>(lda), B, static_cast<blasint>(ldb), 0.0, C,
              static_cast<blasint>(ldc));
}

}  // namespace topwolf
