// Checks a model's certificate against its data and dual, by plain loops over the definitions: primal, feasibility,
// dual, gap. Shares no code with the solvers, and trusts no number of theirs, nor its own: rounding is counted.
#pragma once

#include <string>

#include "topwolf/dataset.hpp"
#include "topwolf/matrix.hpp"
#include "topwolf/model.hpp"

namespace topwolf {

// What was found.
struct Verification {
  double primal = 0.0;         // P at the model's weights is not above this
  double dual = 0.0;           // D at some point of the dual set, next to the dual given, is not below this
  double gap = 0.0;            // primal - dual
  double relative_gap = 0.0;   // gap / primal, 0 where the gap is not positive
  double infeasibility = 0.0;  // of the worst dual row, in units of sum(rho)
  bool holds = false;          // the dual is feasible and the model claims no more than was found
  std::string finding;         // one sentence
};

// What a claim may be off by, and a row of the dual: of sum(rho) for feasibility, of the primal for primal and dual.
inline constexpr double verification_tolerance = 1e-9;

// The features must be prepared as the model says. Throws Error{data} where data, model and dual do not fit together.
Verification verify(const Dataset& data, const Model& model, const SparseRows& dual);

}  // namespace topwolf
