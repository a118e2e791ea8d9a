// One loop runs every solver: it owns the clock, the stop rule, the status and the calls to the observer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/clock.hpp"
#include "solve/solver.hpp"

namespace topwolf {

struct StopRule {
  std::optional<double> tolerance{};     // gap <= tolerance * primal
  std::optional<double> absolute_gap{};  // gap <= absolute_gap
  std::int64_t max_iterations = 0;
  std::optional<double> time_limit_s{};

  bool reached(const Certificate& at) const;
};

struct RunResult {
  Status status;
  Certificate certificate;
  std::int64_t iterations;
};

RunResult run(Solver& solver, const StopRule& rule, const Stopwatch& clock,
              const std::function<bool(const Progress&)>& observer);

}  // namespace topwolf
