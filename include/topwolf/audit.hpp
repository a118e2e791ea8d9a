// How far from the optimum a model is that somebody already has, whoever trained it.
#pragma once

#include "topwolf/dataset.hpp"
#include "topwolf/model.hpp"
#include "topwolf/options.hpp"
#include "topwolf/result.hpp"
#include "topwolf/train.hpp"

namespace topwolf {

// How far a model is from the optimum, as bounds that hold whatever rounding did.
struct AuditResult {
  double primal = 0.0;        // P at the model's weights as they are is at most this, ...
  double least_primal = 0.0;  // ... and at least this: far apart only where scores cancel
  Certificate optimum;        // it lies between the dual and the lowest primal seen, the model's included
  double least_excess = 0.0;  // P / optimum - 1 is at least this
  double most_excess = 0.0;   // and at most this; infinite where the dual is not above 0
  TrainResult training;       // the run that bracketed the optimum; converged: to the tolerance
};

// What audit_options() asks for.
inline constexpr double default_audit_tolerance = 1e-4;

// The model's own problem: its loss, its lambda where it has one, its bias, whether its rows were centred; and the
// tolerance above.
TrainOptions audit_options(const Model& model);

// The features must be prepared as the model says. Classes are matched by label: one of the model's may have no rows,
// but each of the data's must be the model's. Features beyond the model's weigh 0. Where options.bias is not the
// model's, the intercepts stay what they are.
AuditResult audit(const Dataset& data, const Model& model, const TrainOptions& options, const Observer& observer = {});

}  // namespace topwolf
