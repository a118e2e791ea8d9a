#include "solve/driver.hpp"

#include <algorithm>
#include <cmath>

namespace topwolf {

bool StopRule::reached(const Certificate& at) const {
  return (tolerance && at.gap() <= *tolerance * at.primal) || (absolute_gap && at.gap() <= *absolute_gap);
}

void RunState::exchange(State& state) {
  state("iteration", iteration);
  state("optimism", optimism);
  state("refusals", refusals);
  state("stalled", stalled);
  state("lowest_primal", lowest_primal);
  state("highest_dual", highest_dual);
}

namespace {

constexpr std::int64_t most_refusals = 20;

// Whether a certificate is worth its passes.
bool promising(const Certificate& estimate, const StopRule& rule, const RunState& state) {
  return rule.reached({estimate.dual + state.optimism * estimate.gap(), estimate.dual});
}

// A refusal shows by how much the estimate was too good, and each one asks for a little more.
void refused(const Certificate& estimate, const Certificate& certificate, RunState& state) {
  const double ratio = certificate.gap() / estimate.gap();
  const auto times = static_cast<double>(++state.refusals);
  state.optimism =
      std::isfinite(ratio) ? std::max(1.0, ratio) * std::pow(1.1, times) : state.optimism * std::pow(2.0, times);
}

}  // namespace

RunResult run(Solver& solver, const StopRule& rule, const Stopwatch& clock,
              const std::function<bool(const Progress&)>& observer, RunState* given, const Between& between) {
  RunState fresh;
  RunState& state = given ? *given : fresh;
  std::optional<Status> ended;
  if (state.stalled) ended = Status::stalled;
  while (!ended && state.iteration < rule.max_iterations) {
    const Pass pass = solver.step();
    const Certificate& seen = pass.estimate;
    state.lowest_primal = std::min(state.lowest_primal, seen.primal);
    state.highest_dual = std::max(state.highest_dual, seen.dual);
    const Certificate best{state.lowest_primal, state.highest_dual};
    const IterationRecord record{++state.iteration,   clock.seconds(), best.primal, best.dual,
                                 best.relative_gap(), pass.gamma,      pass.primal, pass.dual};
    const bool go_on = !observer || observer(Progress(record, [&] { return solver.current_weights(); }));
    if (promising(seen, rule, state)) {
      const Certificate certificate = solver.certify();
      if (rule.reached(certificate)) return {Status::converged, certificate, state.iteration};
      refused(seen, certificate, state);
    }
    if (pass.gamma == 0.0 || state.refusals >= most_refusals) {
      ended = Status::stalled;
      state.stalled = true;
    } else if (!go_on) {
      ended = Status::interrupted;
    } else if (rule.time_limit_s && clock.seconds() >= *rule.time_limit_s) {
      ended = Status::time_limit;
    } else if (state.iteration == rule.max_iterations) {
      ended = Status::iteration_limit;
    }
    if (between) between(ended.has_value());
  }
  const Certificate certificate = solver.certify();
  const Status status = ended.value_or(Status::iteration_limit);
  // Who interrupts a job may go on with it later, and it must end where it would have ended.
  const bool resumable = status == Status::interrupted || (between && status == Status::time_limit);
  const bool reached = !resumable && rule.reached(certificate);
  return {reached ? Status::converged : status, certificate, state.iteration};
}

}  // namespace topwolf
