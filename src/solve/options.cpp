// Checks of the training options.

#include "topwolf/options.hpp"

#include <cmath>

#include "core/fail.hpp"
#include "core/threads.hpp"

namespace topwolf {
namespace {

void check_positive(const char* name, double value) {
  if (!std::isfinite(value) || value <= 0.0) {
    fail(ErrorKind::option, "{} is {}, but it must be finite and above 0", Field{name}, value);
  }
}

void check_not_negative(const char* name, double value) {
  if (!std::isfinite(value) || value < 0.0) {
    fail(ErrorKind::option, "{} is {}, but it must be finite and at least 0", Field{name}, value);
  }
}

}  // namespace

void check(const TrainOptions& options) {
  check_positive("C", options.C);
  if (options.lambda) check_positive("lambda", *options.lambda);
  if (options.tolerance) check_not_negative("tolerance", *options.tolerance);
  if (options.absolute_gap) check_not_negative("absolute_gap", *options.absolute_gap);
  if (options.time_limit_s) check_positive("time_limit_s", *options.time_limit_s);
  check_not_negative("bias", options.bias);
  if (options.center && options.bias == 0.0) {
    fail(ErrorKind::option,
         "{} is asked for with {} 0, but what the mean of the rows is worth is kept in the weights of a constant "
         "feature: give it a value, such as 1",
         Field{"center"}, Field{"bias"});
  }
  if (options.memory && *options.memory < 1) {
    fail(ErrorKind::option, "{} is {}, but it must be a number of bytes above 0", Field{"memory"}, *options.memory);
  }
  check_positive("every_s", options.checkpoints.every_s);
  if (options.max_iterations < 1) {
    fail(ErrorKind::option, "{} is {}, but it must be at least 1", Field{"max_iterations"}, options.max_iterations);
  }
  const bool block = options.solver == SolverName::automatic || options.solver == SolverName::block;
  if (options.scores != ScoresName::automatic && !block) {
    fail(ErrorKind::option, "{} belongs to the block solver, but {} is {}", Field{"scores"}, Field{"solver"},
         to_string(options.solver));
  }
  resolve_threads(options.threads);
}

}  // namespace topwolf
