// How many threads to use, and errors thrown inside parallel loops.
#pragma once

#include <omp.h>

#include <cstdint>
#include <exception>
#include <mutex>

namespace topwolf {

// 0: every core the process may use (OMP_NUM_THREADS respected).
int resolve_threads(int requested);

// Calls body(i) for i in [0, count) on `threads` threads; the order is free, so body must not depend on it. The first
// exception is thrown again after the loop.
template <class Body>
void parallel_for(std::int64_t count, int threads, Body&& body) {
  std::exception_ptr error;
  std::mutex guard;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1 && count > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      body(i);
    } catch (...) {
      std::lock_guard lock(guard);
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace topwolf
