// Whether several threads are inside one loop at the same time. On a busy machine a loop may have fewer threads than it
// asks for: nobody waits for long, and it is tried again.
#pragma once

#include <atomic>
#include <thread>

#include "core/clock.hpp"
#include "core/threads.hpp"

namespace topwolf::testing {

// meet() is called on each of them once they have met, and nobody leaves before.
template <class Meet>
bool threads_meet(int count, const Meet& meet) {
  bool met = false;
  for (int attempt = 0; attempt < 1000 && !met; ++attempt) {
    std::atomic<int> waiting = 0, together = 0;
    on_threads(count, [&] {
      ++waiting;
      for (const Stopwatch clock; waiting < count && clock.seconds() < 0.05;) std::this_thread::yield();
      if (waiting < count) return;
      ++together;
      meet();
    });
    met = together == count;
  }
  return met;
}

inline bool threads_meet(int count) {
  return threads_meet(count, [] {});
}

}  // namespace topwolf::testing
