// How many threads to use, and errors thrown inside parallel loops.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <numeric>
#include <vector>

namespace topwolf {

// 0: every core the process may use (OMP_NUM_THREADS respected).
int resolve_threads(int requested);

// One thread for what takes less time than waking others; work in multiplications or so.
inline int threads_worth(double work, int threads) {
  constexpr double small = 2e6;
  return work < small ? 1 : threads;
}

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

// A task's share of a sum over plain numbers.
inline constexpr std::int64_t numbers_per_task = 1 << 15;

// The sum of body(from, to) over fixed pieces of [0, count): the same for any number of threads.
template <class Body>
double parallel_sum(std::int64_t count, int threads, std::int64_t piece, const Body& body) {
  std::vector<double> parts(static_cast<std::size_t>((count + piece - 1) / piece));
  parallel_for(static_cast<std::int64_t>(parts.size()), threads, [&](std::int64_t p) {
    parts[static_cast<std::size_t>(p)] = body(p * piece, std::min(count, (p + 1) * piece));
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace topwolf
