// From options to what the solvers run on, whatever psi is.
#pragma once

#include "engine/problem.hpp"
#include "topwolf/options.hpp"

namespace topwolf {

// lambda, the loss and the cost matrix of the options.
void set_loss(const TrainOptions& options, const Margins& margins, Problem& problem);

}  // namespace topwolf
