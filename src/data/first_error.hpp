// A parallel loop whose error does not depend on the number of threads: that of the lowest index wins.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>

#include "core/threads.hpp"

namespace topwolf {

template <class Body>
void parallel_first_error(std::int64_t count, int threads, Body&& body) {
  std::atomic<std::int64_t> failed = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr error;
  std::mutex guard;
  parallel_for(count, threads, [&](std::int64_t i) {
    if (i > failed) return;
    try {
      body(i);
    } catch (...) {
      std::lock_guard lock(guard);
      if (i < failed) {
        failed = i;
        error = std::current_exception();
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace topwolf
