// OpenBLAS, pthread variant, called with one thread from inside our own parallel loops.
#pragma once

#include <cstdint>

namespace topwolf {

// Sets OpenBLAS to one thread; the last of several that overlap puts the caller's count back. Throws if the library
// loaded at run time is not the pthread variant: the serial one returns wrong numbers when several threads call it.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

// S (rows x m, pitch lds) = X (rows x d, pitch ldx) times W^T (W: m x d, pitch ldw).
void multiply_transposed(std::int64_t rows, std::int64_t m, std::int64_t d, const float* X, std::int64_t ldx,
                         const float* W, std::int64_t ldw, float* S, std::int64_t lds);
void multiply_transposed(std::int64_t rows, std::int64_t m, std::int64_t d, const double* X, std::int64_t ldx,
                         const double* W, std::int64_t ldw, double* S, std::int64_t lds);

// C (rows x cols, pitch ldc) = A (rows x inner, pitch lda) times B (inner x cols, pitch ldb).
void multiply(std::int64_t rows, std::int64_t cols, std::int64_t inner, const double* A, std::int64_t lda,
              const double* B, std::int64_t ldb, double* C, std::int64_t ldc);

}  // namespace topwolf
