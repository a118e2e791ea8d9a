// From options to what the solvers run on, whatever psi is.
#pragma once

#include <memory>

#include "engine/problem.hpp"
#include "topwolf/options.hpp"

namespace topwolf {

// lambda of the options, for the weights that the problem has.
void set_lambda(const TrainOptions& options, Problem& problem);
// The loss and its cost matrix, which is not copied: the problem holds on to the wish.
void set_loss(std::shared_ptr<const LossSpec> asked, const Margins& margins, Problem& problem);
// The loss with k and rho as they were used.
LossSpec resolved_spec(const LossSpec& asked, const Loss& loss);

}  // namespace topwolf
