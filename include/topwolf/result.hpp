// What a run says about itself: why it stopped, and a certificate of how far from the optimum it can be.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "topwolf/loss.hpp"

namespace topwolf {

enum class Status { converged, iteration_limit, time_limit, stalled, interrupted };
template <>
struct Names<Status> {
  static constexpr std::array<std::string_view, 5> all{"converged", "iteration_limit", "time_limit", "stalled",
                                                       "interrupted"};
};

// Computed in double at the returned point: the optimum lies in [dual, primal].
struct Certificate {
  double primal = 0.0;
  double dual = 0.0;
  double gap() const { return primal - dual; }
  double relative_gap() const { return gap() <= 0.0 ? 0.0 : gap() / primal; }
  bool operator==(const Certificate&) const = default;
};

// How a fit ended, and what it was about.
struct Outcome {
  Status status = Status::converged;
  Certificate certificate;
  std::int64_t iterations = 0;
  std::int64_t row_visits = 0;
  Loss loss;  // as resolved for m classes
  double lambda = 0.0;
  double C = 0.0;
  double seconds = 0.0;  // from data ready through the final certificate
};

// One line of progress: what a pass saw, in the precision of the pass (a certificate comes only at the end).
struct IterationRecord {
  std::int64_t iteration = 0;
  double seconds = 0.0;
  double primal = 0.0;        // lowest so far; block: a guess at the present one, from when the rows were last seen
  double dual = 0.0;          // highest so far
  double relative_gap = 0.0;  // (primal - dual) / primal
  double step = 0.0;          // gamma
  // Of the point that the pass looked at: for lsfw, stdfw and pg where the one before it ended, for apg where it took
  // off from; for block, which moves all the time, an estimate.
  double iterate_primal = 0.0;
  double iterate_dual = 0.0;  // for lsfw, stdfw and pg of the same point, for apg and block where the pass ended
};

// The same while it happens: the weights can be looked at too.
class Progress : public IterationRecord {
 public:
  Progress(const IterationRecord& record, std::function<std::vector<double>()> weights)
      : IterationRecord(record), weights_(std::move(weights)) {}
  // W after this pass (m x D), not certified; where kept_columns() names columns, on these. Computed when asked for,
  // and only while the observer is called.
  std::vector<double> weights() const { return weights_(); }

 private:
  std::function<std::vector<double>()> weights_;
};

}  // namespace topwolf
