// --dry-run of train, sweep and cv: what the job would do and take, and nothing else.
#pragma once

#include "arguments.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {

// Prints it; returns the exit code: 0, or 6 where there is too little memory.
int print_plan(const Arguments& arguments, const Dataset& data, const Plan& plan);

}  // namespace topwolf::cli
