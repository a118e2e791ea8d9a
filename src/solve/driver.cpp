// The one loop, and the one place that knows a clock, a stop rule and an observer.
#include "solve/driver.hpp"

#include <algorithm>
#include <cmath>

namespace topwolf {

bool StopRule::reached(const Certificate& at) const {
  return (tolerance && at.gap() <= *tolerance * at.primal) || (absolute_gap && at.gap() <= *absolute_gap);
}

StopRule stop_rule(const TrainOptions& options) {
  StopRule rule;
  rule.tolerance = options.tolerance;
  if (!options.tolerance && !options.absolute_gap) rule.tolerance = default_tolerance;
  rule.absolute_gap = options.absolute_gap;
  rule.max_iterations = options.max_iterations;
  rule.time_limit_s = options.time_limit_s;
  rule.should_stop = options.should_stop;
  return rule;
}

void RunState::exchange(State& state) {
  state.count("iteration", iteration);
  state("optimism", optimism);
  state.count("refusals", refusals);
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

// Asked far more often than anybody wants to be: the clock and the caller are looked at every few milliseconds.
class Interruption {
 public:
  Interruption(const StopRule& rule, const Stopwatch& clock) : rule_(rule), clock_(clock) {}

  bool operator()() {
    if (--left_ > 0) return false;
    constexpr double seldom_s = 0.002, often_s = 0.01;
    const double now = clock_.seconds(), passed = now - last_;
    if (passed < seldom_s) stride_ = std::min<std::int64_t>(2 * stride_, 1 << 16);
    if (passed > often_s) stride_ = std::max<std::int64_t>(stride_ / 4, 1);
    left_ = stride_;
    last_ = now;
    return reason().has_value();
  }

  std::optional<Status> reason() const {
    if (rule_.should_stop && rule_.should_stop()) return Status::interrupted;
    if (rule_.time_limit_s && clock_.seconds() >= *rule_.time_limit_s) return Status::time_limit;
    return std::nullopt;
  }

 private:
  const StopRule& rule_;
  const Stopwatch& clock_;
  std::int64_t stride_ = 1, left_ = 1;
  double last_ = 0.0;
};

// Nobody is asked after the run.
class Asking {
 public:
  Asking(Solver& solver, Interruption& interruption) : solver_(solver) {
    solver.set_should_stop([&interruption] { return interruption(); });
  }
  ~Asking() { solver_.set_should_stop({}); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  Solver& solver_;
};

std::optional<Pass> step(Solver& solver) {
  try {
    return solver.step();
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

}  // namespace

RunResult run(Solver& solver, const StopRule& rule, const Stopwatch& clock,
              const std::function<bool(const Progress&)>& observer, RunState* given, const Between& between) {
  RunState fresh;
  RunState& state = given ? *given : fresh;
  std::optional<Status> ended;
  if (state.stalled) ended = Status::stalled;
  Interruption interruption(rule, clock);
  if (!ended && rule.asks_first) {
    ended = interruption.reason();
    if (ended && between) between(true);
  }
  std::optional<Asking> asking(std::in_place, solver, interruption);
  while (!ended && state.iteration < rule.max_iterations) {
    const std::optional<Pass> stepped = step(solver);
    if (!stepped) {
      ended = interruption.reason().value_or(Status::interrupted);
      if (between) between(true);
      break;
    }
    const Pass& pass = *stepped;
    const Certificate& seen = pass.estimate;
    // Any primal and any dual bound the optimum, so that the best of each belong together (G1).
    state.highest_dual = std::max(state.highest_dual, seen.dual);
    state.lowest_primal =
        pass.guessed ? std::max(seen.primal, state.highest_dual) : std::min(state.lowest_primal, seen.primal);
    const Certificate best{state.lowest_primal, state.highest_dual};
    const IterationRecord record{++state.iteration,   clock.seconds(), best.primal, best.dual,
                                 best.relative_gap(), pass.gamma,      pass.primal, pass.dual};
    const bool go_on = !observer || observer(Progress(record, [&] { return solver.current_weights(); }));
    if (promising(seen, rule, state)) {
      const Certificate certificate = solver.certify();
      // Only a certificate ends a run as converged; an estimate asks for one.
      if (rule.reached(certificate)) return {Status::converged, certificate, state.iteration};
      refused(seen, certificate, state);
    }
    if (pass.gamma == 0.0 || state.refusals >= most_refusals) {
      ended = Status::stalled;
      state.stalled = true;
    } else if (!go_on) {
      ended = Status::interrupted;
    } else if (const auto reason = interruption.reason()) {
      ended = reason;
    } else if (state.iteration == rule.max_iterations) {
      ended = Status::iteration_limit;
    }
    // A checkpoint is taken here, between two passes, where a state is whole.
    if (between) between(ended.has_value());
  }
  asking.reset();
  const Certificate certificate = solver.certify();
  const Status status = ended.value_or(Status::iteration_limit);
  // Who interrupts a job may go on with it later, and it must end where it would have ended.
  const bool resumable = status == Status::interrupted || (between && status == Status::time_limit);
  const bool reached = !resumable && rule.reached(certificate);
  return {reached ? Status::converged : status, certificate, state.iteration};
}

}  // namespace topwolf
