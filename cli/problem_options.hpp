// The options that say which problem is solved, shared by train and audit.
#pragma once

#include "arguments.hpp"
#include "topwolf/options.hpp"

namespace topwolf::cli {

// All but the cost matrix, whose size the classes decide. What no number of classes would make right is refused.
LossSpec loss_of(const Arguments& arguments);
// The same for one of several losses, by its name.
LossSpec loss_of(const Arguments& arguments, const std::string& name);

// -c or --lambda, whichever is given, in place of what the options hold.
void set_regularisation(const Arguments& arguments, TrainOptions& options);

std::uint64_t seed_of(const Arguments& arguments);

}  // namespace topwolf::cli
