#include "solve/driver.hpp"

#include <algorithm>

namespace topwolf {

bool StopRule::reached(const Certificate& at) const {
  return (tolerance && at.gap() <= *tolerance * at.primal) || (absolute_gap && at.gap() <= *absolute_gap);
}

namespace {

// The lowest primal and highest dual seen, in the precision of the passes.
class Tracker {
 public:
  explicit Tracker(const StopRule& rule) : rule_(rule) {}

  IterationRecord record(std::int64_t iteration, double seconds, const Pass& pass) {
    best_.primal = iteration == 1 ? pass.primal : std::min(best_.primal, pass.primal);
    best_.dual = iteration == 1 ? pass.dual : std::max(best_.dual, pass.dual);
    return {iteration, seconds, best_.primal, best_.dual, best_.relative_gap(), pass.gamma, pass.primal, pass.dual};
  }

  // Whether a certificate is worth its passes: after a refusal, only once the estimate has made up the difference.
  bool promising() const { return rule_.reached({best_.primal + surplus_, best_.dual}); }

  void refused(const Certificate& certificate) {
    ++refusals_;
    surplus_ = std::max(surplus_, certificate.gap() - best_.gap());
  }

  bool hopeless() const { return refusals_ >= 20; }

 private:
  const StopRule& rule_;
  Certificate best_;
  double surplus_ = 0.0;
  int refusals_ = 0;
};

}  // namespace

RunResult run(Solver& solver, const StopRule& rule, const Stopwatch& clock,
              const std::function<bool(const IterationRecord&)>& observer) {
  Tracker tracker(rule);
  Status status = Status::iteration_limit;
  std::int64_t iteration = 0;
  while (iteration < rule.max_iterations) {
    const Pass pass = solver.step();
    const IterationRecord record = tracker.record(++iteration, clock.seconds(), pass);
    if (observer && !observer(record)) {
      status = Status::interrupted;
      break;
    }
    if (tracker.promising()) {
      const Certificate certificate = solver.certify();
      if (rule.reached(certificate)) return {Status::converged, certificate, iteration};
      tracker.refused(certificate);
    }
    if (pass.gamma == 0.0 || tracker.hopeless()) {
      status = Status::stalled;
      break;
    }
    if (rule.time_limit_s && clock.seconds() >= *rule.time_limit_s) {
      status = Status::time_limit;
      break;
    }
  }
  const Certificate certificate = solver.certify();
  return {rule.reached(certificate) ? Status::converged : status, certificate, iteration};
}

}  // namespace topwolf
