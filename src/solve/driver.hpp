// One loop runs every solver: it owns the clock, the stop rule, the status and the calls to the observer.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "core/clock.hpp"
#include "solve/solver.hpp"
#include "topwolf/options.hpp"

namespace topwolf {

struct StopRule {
  std::optional<double> tolerance{};     // gap <= tolerance * primal
  std::optional<double> absolute_gap{};  // gap <= absolute_gap
  std::int64_t max_iterations = 0;
  std::optional<double> time_limit_s{};
  std::function<bool()> should_stop{};  // asked a hundred times a second or so, between and within passes
  bool asks_first = false;              // before the first pass too: earlier runs may have used up the clock

  bool reached(const Certificate& at) const;
};
StopRule stop_rule(const TrainOptions& options);

struct RunResult {
  Status status;
  Certificate certificate;
  std::int64_t iterations;
};

// Where a run is, besides its solver: exchanged with it, the run goes on elsewhere as if nothing had happened.
struct RunState {
  std::int64_t iteration = 0;
  // An estimate of the gap can be too good: what it must be multiplied with, and how often certifying showed so.
  double optimism = 1.0;
  std::int64_t refusals = 0;
  bool stalled = false;  // there is nowhere left to go
  // Of what the passes saw.
  double lowest_primal = std::numeric_limits<double>::infinity(), highest_dual = 0.0;

  void exchange(State& state);
};

// Called between two passes, with the last one behind it; `leaving` before the run ends without having converged.
using Between = std::function<void(bool leaving)>;

// The state, where given, is where the run begins and can be looked at in between.
RunResult run(Solver& solver, const StopRule& rule, const Stopwatch& clock,
              const std::function<bool(const Progress&)>& observer, RunState* given = nullptr,
              const Between& between = {});

}  // namespace topwolf
