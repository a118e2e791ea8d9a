// From options to what the solvers run on, whatever psi is.
#pragma once

#include "engine/engine.hpp"
#include "engine/problem.hpp"
#include "solve/driver.hpp"
#include "topwolf/options.hpp"

namespace topwolf {

// lambda, the loss and the cost matrix of the options. The problem keeps a pointer to the cost matrix.
void set_loss(const TrainOptions& options, const Margins& margins, Problem& problem);

StopRule stop_rule(const TrainOptions& options);

SparseRows to_sparse_rows(const DualRows& A);

}  // namespace topwolf
