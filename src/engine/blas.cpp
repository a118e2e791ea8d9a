#include "engine/blas.hpp"

#include <cblas.h>

#include "core/fail.hpp"

namespace topwolf {

SingleThreadedBlas::SingleThreadedBlas() : callers_count_(openblas_get_num_threads()) {
  constexpr int pthread_variant = 1;
  if (openblas_get_parallel() != pthread_variant) {
    fail(ErrorKind::internal,
         "the OpenBLAS loaded at run time is not the pthread variant; install libopenblas0-pthread and select it with "
         "update-alternatives");
  }
  openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  openblas_set_num_threads(callers_count_);
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

}  // namespace topwolf
