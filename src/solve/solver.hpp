// A solver is state, a step and a certificate. It owns no clock, prints nothing and does not decide when to stop.
#pragma once

#include <vector>

#include "engine/engine.hpp"
#include "topwolf/result.hpp"

namespace topwolf {

// What one step saw, in the precision of the pass.
struct Pass {
  Certificate estimate;  // what certify() would find, as far as the solver can tell
  double primal;         // at the point visited
  double dual;
  double gamma;  // 0: there is nowhere to go
};

class Solver {
 public:
  virtual ~Solver() = default;
  // Begins at a feasible A instead of 0; only before the first step. The methods whose first step forgets where they
  // were (StdFW, PG) refuse.
  virtual void start(DualRows A) = 0;
  virtual Pass step() = 0;
  // In double, at the point that weights() returns from then on.
  virtual Certificate certify() = 0;
  virtual const std::vector<double>& weights() const = 0;  // (m x D)
  // W where the solver is now (m x D), for somebody who wants to look; nothing changes by it.
  virtual std::vector<double> current_weights() = 0;
  // A whose dual value the certificate names; empty unless asked to keep it.
  virtual const DualRows& dual() const = 0;
  // How many times an example has been visited.
  virtual std::int64_t row_visits() const = 0;
};

}  // namespace topwolf
