// Training in one call. The work is the trainer's, which can be asked more than once.

#include "topwolf/train.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "data/fingerprint.hpp"
#include "data/rows.hpp"
#include "train/checkpoint.hpp"
#include "train/trainer.hpp"

namespace topwolf {

namespace {

Identity train_identity(Trainer& trainer, const TrainOptions& options) {
  Identity identity = identity_of("train", trainer, options);
  identity.emplace_back("the loss", to_string(options.loss));
  identity.emplace_back(options.lambda ? "lambda" : "C", fmt::format("{}", options.lambda.value_or(options.C)));
  return identity;
}

// Rows so long, for this C, that convergence will be slow; empty where they are not.
Sentence conditioning(const Trainer& trainer, const TrainOptions& options) {
  constexpr double slow = 50.0;
  if (trainer.method().solver == SolverName::newton) return {};
  const Dataset& data = trainer.data();
  const auto classes2 = squared_lengths(data.class_features.view(), 0.0, 1);
  const double longest = classes2.empty() ? 1.0 : *std::max_element(classes2.begin(), classes2.end());
  const double condition = longest * trainer.condition(options);
  if (!(condition > slow) || !std::isfinite(condition)) return {};
  return say(
      "C times the mean squared row length{} is {:.3g}; above about {} convergence is slow: rows of unit length ({}) "
      "or "
      "a smaller C help",
      classes2.empty() ? "" : " and the largest of the class features", condition, slow, Field{"normalize", "unit"});
}

// A run whose state goes to a file, or comes from one. Seconds are counted on; the time limit is for this sitting.
Fit checkpointed_fit(Trainer& trainer, TrainOptions options, const Observer& observer) {
  Checkpoint checkpoint(options, train_identity(trainer, options));
  std::optional<State> resumed = checkpoint.resumed();
  double before = 0.0;
  if (resumed) (*resumed)("seconds", before);
  if (options.time_limit_s) *options.time_limit_s += before;
  const Stopwatch clock(before);
  FitHooks hooks;
  hooks.observer = observer;
  hooks.resume = resumed ? &*resumed : nullptr;
  hooks.between = [&](bool leaving) {
    if (!leaving && !checkpoint.due()) return;
    State state = trainer.state();
    double seconds = clock.seconds();
    state("seconds", seconds);
    checkpoint.write(state);
  };
  Fit fit = trainer.fit(options, clock, hooks);
  fit.seconds = clock.seconds();
  return fit;
}

}  // namespace

TrainResult train(const Dataset& data, const TrainOptions& asked, const Observer& observer) {
  const IeeeArithmetic ieee;
  const Stopwatch clock;
  const TrainOptions options = as_begun(asked);
  Trainer trainer(data, options);
  if (options.warn) {
    if (const Sentence slow = conditioning(trainer, options); !slow.empty()) options.warn(slow);
  }
  const bool checkpointed = !options.checkpoints.path.empty() || !options.checkpoints.resume.empty();
  Fit fit;
  if (checkpointed) {
    fit = checkpointed_fit(trainer, options, observer);
  } else {
    fit = trainer.fit(options, clock, {observer});
    fit.seconds = clock.seconds();
  }
  return trainer.result(options, std::move(fit));
}

PrimalRange objective_range(const Dataset& data, const TrainOptions& options, const std::vector<double>& W) {
  const IeeeArithmetic ieee;
  return Trainer(data, options).primal(options, W);
}

double objective(const Dataset& data, const TrainOptions& options, const std::vector<double>& W) {
  return objective_range(data, options, W).most;
}

}  // namespace topwolf
