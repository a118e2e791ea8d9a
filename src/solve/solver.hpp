// A solver is state, a step and a certificate. It owns no clock, prints nothing and does not decide when to stop.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/state.hpp"
#include "engine/engine.hpp"
#include "topwolf/result.hpp"

namespace topwolf {

// What one step saw, in the precision of the pass.
struct Pass {
  Certificate estimate;  // what certify() would find, as far as the solver can tell
  double primal;         // at the point visited
  double dual;
  double gamma;  // 0: there is nowhere to go
  // The primal is no value at any W, only what the examples seemed to lack when they were last seen: the next guess may
  // be higher.
  bool guessed = false;
};

// Where a solver begins.
struct Start {
  std::unique_ptr<Dual> A{};  // feasible; null: at A = 0
  // The engine's working scores are those of A divided by this, left by a solver before; 0: they are to be computed.
  double scores_times = 0.0;
};

class Solver {
 public:
  virtual ~Solver() = default;
  // Throws Stopped where it was asked to stop on the way; the next step goes on from there, to the same bits.
  virtual Pass step() = 0;
  // Who is asked, many times within a step.
  virtual void set_should_stop(std::function<bool()> should_stop) = 0;
  // In double, at the point that weights() returns from then on.
  virtual Certificate certify() = 0;
  virtual const std::vector<double>& weights() const = 0;  // (m x D), of a model (C1)
  // At those weights, how many classes come before each example's own; also for examples of weight 0.
  virtual const std::vector<std::int32_t>& ranks() const = 0;
  // W where the solver is now (m x D), of rows less their mean where they have one, for somebody who wants to look;
  // nothing changes by it.
  virtual std::vector<double> current_weights() = 0;
  // A whose dual value the certificate names; null unless asked to keep it.
  virtual const Dual* dual() const = 0;
  // The same for whoever comes next; this solver is done.
  virtual std::unique_ptr<Dual> take_dual() = 0;
  // Rows of the dual have become 0 elsewhere than in a step (a shard was lost): goes on from there. Only for those that
  // hold nothing else which depends on the dual.
  virtual void recover() {}
  // How many times an example has been visited.
  virtual std::int64_t row_visits() const = 0;
  // Everything that the steps to come depend on, the working scores included.
  virtual void exchange(State& state) = 0;
};

}  // namespace topwolf
