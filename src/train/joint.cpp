// Training with any psi: a trainer whose engine asks psi.

#include "topwolf/joint.hpp"

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "train/trainer.hpp"

namespace topwolf {
namespace {

void check_asked(const TrainOptions& options) {
  if (options.bias != 0.0)
    fail(ErrorKind::option, "{} is {}, but psi has its own constant features", Field{"bias"}, options.bias);
  if (options.center)
    fail(ErrorKind::option, "{} is asked for, but with a psi of one's own there are no rows to take a mean of",
         Field{"center"});
  if (options.scores != ScoresName::automatic) {
    fail(ErrorKind::option, "{} is {}, but with a psi of one's own scores come from psi", Field{"scores"},
         to_string(options.scores));
  }
  if (!options.checkpoints.path.empty() || !options.checkpoints.resume.empty()) {
    fail(ErrorKind::option, "{} are asked for, but a psi of one's own cannot be compared with the one before",
         Field{"checkpoints"});
  }
}

}  // namespace

JointResult train_joint(const JointMap& psi, const JointLabels& labels, const TrainOptions& options,
                        const Observer& observer) {
  const IeeeArithmetic ieee;
  const Stopwatch clock;
  check_asked(options);
  Trainer trainer(psi, labels, options);
  FitHooks hooks;
  hooks.observer = observer;
  Fit fit = trainer.fit(options, clock, hooks);
  JointResult out;
  static_cast<Outcome&>(out) = fit;
  out.w = std::move(fit.W);
  out.ranks = std::move(fit.ranks);
  out.choice = trainer.method().choice;
  if (options.keep_dual) out.dual = trainer.dual();
  out.seconds = clock.seconds();
  return out;
}

std::vector<double> joint_scores(const JointMap& psi, const std::vector<double>& w, int threads) {
  const IeeeArithmetic ieee;
  if (static_cast<std::int64_t>(w.size()) != psi.dimension()) {
    fail(ErrorKind::data, "there are {} weights, but psi has {} dimensions", w.size(), psi.dimension());
  }
  const auto m = static_cast<std::size_t>(psi.classes());
  std::vector<double> S(static_cast<std::size_t>(psi.examples()) * m);
  parallel_for(psi.examples(), resolve_threads(threads), [&](std::int64_t i) {
    psi.scores(i, w, {S.data() + static_cast<std::size_t>(i) * m, m});
  });
  return S;
}

}  // namespace topwolf
