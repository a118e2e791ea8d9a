// Accelerated projected gradient on the dual (A1): all examples step at once from an extrapolated point, and each is
// projected exactly onto its dual set. One pass over the rows per step, whether the step is taken or refused.
#pragma once

#include <memory>

#include "solve/solver.hpp"

namespace topwolf {

std::unique_ptr<Solver> make_apg_solver(Engine& engine, Start from, int threads);

}  // namespace topwolf
