// Seconds since construction, from a clock that never goes back.
#pragma once

#include <chrono>

namespace topwolf {

class Stopwatch {
 public:
  // `already`: seconds that have passed before.
  explicit Stopwatch(double already = 0.0) : already_(already) {}
  double seconds() const { return already_ + std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double already_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace topwolf
