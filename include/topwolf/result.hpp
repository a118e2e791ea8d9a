// What a run says about itself: why it stopped, and a certificate of how far from the optimum it can be.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "topwolf/loss.hpp"

namespace topwolf {

// Why a run stopped. None of these is an error: there are weights and a certificate.
enum class Status {
  converged,        // the gap is as small as was asked for
  iteration_limit,  // TrainOptions::max_iterations
  time_limit,       // TrainOptions::time_limit_s
  stalled,          // the precision of the numbers allows no more
  interrupted,      // by an observer, or should_stop
};
template <>
struct Names<Status> {
  static constexpr std::array<std::string_view, 5> all{"converged", "iteration_limit", "time_limit", "stalled",
                                                       "interrupted"};
};

// Computed in double at the returned point: the optimum lies in [dual, primal].
struct Certificate {
  double primal = 0.0;  // P at the weights, rounded up
  double dual = 0.0;    // a lower bound of the optimum, rounded down
  // The objective is above the optimum by no more than this.
  double gap() const { return primal - dual; }
  // The same as a share of the primal; 0 where rounding made it negative.
  double relative_gap() const { return gap() <= 0.0 ? 0.0 : gap() / primal; }
  // The same numbers.
  bool operator==(const Certificate&) const = default;
};

// How a fit ended, and what it was about.
struct Outcome {
  Status status = Status::converged;  // why it stopped
  Certificate certificate;            // how far from the optimum it can be
  std::int64_t iterations = 0;        // passes
  std::int64_t row_visits = 0;        // how often a row was looked at, in all
  Loss loss;                          // as resolved for m classes
  double lambda = 0.0;                // = 1 / (C N)
  double C = 0.0;                     // = 1 / (lambda N)
  double seconds = 0.0;               // from data ready through the final certificate
};

// One line of progress: what a pass saw, in the precision of the pass (a certificate comes only at the end).
struct IterationRecord {
  std::int64_t iteration = 0;  // counted from 1
  double seconds = 0.0;        // since the run began
  double primal = 0.0;         // lowest so far; block: a guess at the present one, from when the rows were last seen
  double dual = 0.0;           // highest so far
  double relative_gap = 0.0;   // (primal - dual) / primal
  double step = 0.0;           // gamma
  // Of the point that the pass looked at: for lsfw, stdfw and pg where the one before it ended, for apg where it took
  // off from; for block, which moves all the time, an estimate.
  double iterate_primal = 0.0;
  double iterate_dual = 0.0;  // for lsfw, stdfw and pg of the same point, for apg and block where the pass ended
};

// The same while it happens: the weights can be looked at too.
class Progress : public IterationRecord {
 public:
  // `weights` is called when they are asked for.
  Progress(const IterationRecord& record, std::function<std::vector<double>()> weights)
      : IterationRecord(record), weights_(std::move(weights)) {}
  // W after this pass (m x D), not certified; where kept_columns() names columns, on these. Computed when asked for,
  // and only while the observer is called.
  std::vector<double> weights() const { return weights_(); }

 private:
  std::function<std::vector<double>()> weights_;
};

}  // namespace topwolf
