#include "solve/driver.hpp"

#include <algorithm>
#include <cmath>

namespace topwolf {

bool StopRule::reached(const Certificate& at) const {
  return (tolerance && at.gap() <= *tolerance * at.primal) || (absolute_gap && at.gap() <= *absolute_gap);
}

namespace {

// Whether a certificate is worth its passes. An estimate can be too good: a refusal shows by how much, and each one
// asks for a little more.
class Patience {
 public:
  explicit Patience(const StopRule& rule) : rule_(rule) {}

  bool promising(const Certificate& estimate) const {
    return rule_.reached({estimate.dual + optimism_ * estimate.gap(), estimate.dual});
  }

  void refused(const Certificate& estimate, const Certificate& certificate) {
    const double ratio = certificate.gap() / estimate.gap();
    optimism_ = std::isfinite(ratio) ? std::max(1.0, ratio) * std::pow(1.1, ++refusals_)
                                     : optimism_ * std::pow(2.0, ++refusals_);
  }
  bool exhausted() const { return refusals_ >= 20; }

 private:
  const StopRule& rule_;
  double optimism_ = 1.0;  // what an estimate must be multiplied with
  int refusals_ = 0;
};

}  // namespace

RunResult run(Solver& solver, const StopRule& rule, const Stopwatch& clock,
              const std::function<bool(const Progress&)>& observer) {
  Patience patience(rule);
  Status status = Status::iteration_limit;
  std::int64_t iteration = 0;
  while (iteration < rule.max_iterations) {
    const Pass pass = solver.step();
    const Certificate& seen = pass.estimate;
    const IterationRecord record{++iteration,         clock.seconds(), seen.primal, seen.dual,
                                 seen.relative_gap(), pass.gamma,      pass.primal, pass.dual};
    if (observer && !observer(Progress(record, [&] { return solver.current_weights(); }))) {
      status = Status::interrupted;
      break;
    }
    if (patience.promising(seen)) {
      const Certificate certificate = solver.certify();
      if (rule.reached(certificate)) return {Status::converged, certificate, iteration};
      patience.refused(seen, certificate);
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
