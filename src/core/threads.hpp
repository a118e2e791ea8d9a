// How many threads to use, loops that run on them, and errors thrown inside. Threads are started when a loop first
// wants them, sleep between loops, and are started anew in a process that was forked.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

namespace topwolf {

inline constexpr int most_threads = 1024;

// 0: every core the process may use, or OMP_NUM_THREADS. Throws if it is not from 0 to most_threads.
int resolve_threads(int requested);

// As many threads as have `share` of the work each: one for what takes less time than waking others. Work in
// multiplications or so.
inline int threads_worth(double work, int threads, double share = 1e6) {
  return work < 2.0 * share ? 1 : static_cast<int>(std::min(static_cast<double>(threads), work / share));
}

// Calls work() on this thread and, meanwhile, on at most threads - 1 others; returns when all calls have. It may be
// fewer, where the system refuses threads or the work is done before they woke: work() takes tasks until none is left.
// The first exception is thrown again.
void on_threads(int threads, const std::function<void()>& work);

// Which of the threads of the innermost on_threads() this is, from 0.
int thread_number();

// The same for a thread whatever the loop: 0 for those that are not the pool's. For what should stay in one core's
// cache, not for what must be right.
int worker_id();

// Whether the system has refused to start a thread, so that fewer than asked for have worked.
bool threads_refused();

// Calls body(i) for i in [0, count) on `threads` threads; the order is free, so body must not depend on it. After an
// exception no i is begun any more. Every thread begins with a range of its own, the same one in every loop with as
// many threads, so that what it wrote there may still be in its cache; then it helps the others.
template <class Body>
void parallel_for(std::int64_t count, int threads, Body&& body) {
  if (threads <= 1 || count <= 1) {
    on_threads(1, [&] {
      for (std::int64_t i = 0; i < count; ++i) body(i);
    });
    return;
  }
  struct alignas(64) Range {
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };
  constexpr std::int64_t most_ranges = 64;
  const auto ranges = std::min<std::int64_t>({threads, count, most_ranges});
  std::array<Range, most_ranges> range;
  for (std::int64_t r = 0; r < ranges; ++r) {
    range[static_cast<std::size_t>(r)].next = count * r / ranges;
    range[static_cast<std::size_t>(r)].end = count * (r + 1) / ranges;
  }
  const auto work = [&] {
    try {
      for (std::int64_t k = 0; k < ranges; ++k) {
        Range& mine = range[static_cast<std::size_t>((worker_id() + k) % ranges)];
        while (mine.next.load(std::memory_order_relaxed) < mine.end) {
          const std::int64_t i = mine.next++;
          if (i < mine.end) body(i);
        }
      }
    } catch (...) {
      for (std::int64_t r = 0; r < ranges; ++r) range[static_cast<std::size_t>(r)].next = count;
      throw;
    }
  };
  on_threads(static_cast<int>(std::min<std::int64_t>(threads, count)), std::ref(work));
}

// The same where the error must not depend on the number of threads: that of the lowest i wins.
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
