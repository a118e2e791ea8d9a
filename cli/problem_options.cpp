#include "problem_options.hpp"

#include "core/fail.hpp"

namespace topwolf::cli {

LossSpec loss_of(const Arguments& arguments) {
  return loss_of(arguments, arguments.text("loss"));
}

LossSpec loss_of(const Arguments& arguments, const std::string& name) {
  LossSpec loss = arguments.has("loss") ? parse_loss(name) : LossSpec{};
  if (const auto k = arguments.integer("k", 1, largest)) {
    if (loss.k) fail(ErrorKind::option, "k is given twice, by --loss {} and by -k; give it once", name);
    loss.k = k;
  }
  loss.rho = arguments.reals("rho");
  loss.smoothing = arguments.real("smoothing").value_or(0.0);
  loss.temperature = arguments.real("temperature");
  // What no number of classes would make right is refused before the data is read.
  LossSpec wish = loss;
  if (wish.k) wish.k = 1;
  resolve_loss(wish, static_cast<std::int64_t>(wish.rho.size()) + 2);
  return loss;
}

void set_regularisation(const Arguments& arguments, TrainOptions& options) {
  if (arguments.has("lambda") && arguments.has("C"))
    fail(ErrorKind::option, "--lambda and --C say the same thing in two ways; give one of them");
  if (const auto C = arguments.real("C")) {
    options.C = *C;
    options.lambda.reset();
  }
  if (const auto lambda = arguments.real("lambda")) options.lambda = lambda;
}

std::uint64_t seed_of(const Arguments& arguments) {
  return static_cast<std::uint64_t>(arguments.integer("seed", 0, largest).value_or(0));
}

}  // namespace topwolf::cli
