#include "solve/driver.hpp"

#include <cmath>

namespace topwolf {

bool StopRule::reached(const Certificate& at) const {
  return (tolerance && at.gap() <= *tolerance * at.primal) || (absolute_gap && at.gap() <= *absolute_gap);
}

namespace {

// Whether a certificate is worth its passes. An estimate can be too good: each refusal halves what it must be.
class Patience {
 public:
  explicit Patience(const StopRule& rule) : rule_(rule) {}

  bool promising(const Certificate& estimate) const {
    const Certificate cautious{estimate.dual + std::ldexp(estimate.gap(), refusals_), estimate.dual};
    return rule_.reached(cautious);
  }

  void refused() { ++refusals_; }
  bool exhausted() const { return refusals_ >= 20; }

 private:
  const StopRule& rule_;
  int refusals_ = 0;
};

}  // namespace

RunResult run(Solver& solver, const StopRule& rule, const Stopwatch& clock,
              const std::function<bool(const IterationRecord&)>& observer) {
  Patience patience(rule);
  Status status = Status::iteration_limit;
  std::int64_t iteration = 0;
  while (iteration < rule.max_iterations) {
    const Pass pass = solver.step();
    const Certificate& seen = pass.estimate;
    const IterationRecord record{++iteration,         clock.seconds(), seen.primal, seen.dual,
                                 seen.relative_gap(), pass.gamma,      pass.primal, pass.dual};
    if (observer && !observer(record)) {
      status = Status::interrupted;
      break;
    }
    if (patience.promising(seen)) {
      const Certificate certificate = solver.certify();
      if (rule.reached(certificate)) return {Status::converged, certificate, iteration};
      patience.refused();
    }
    if (pass.gamma == 0.0 || patience.exhausted()) {
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
