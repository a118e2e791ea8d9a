#include "topwolf/plan.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "kernels/kernels.hpp"
#include "train/fold_fits.hpp"
#include "train/grid.hpp"
#include "train/race.hpp"
#include "train/trainer.hpp"

namespace topwolf {
namespace {

Plan plan_of(const Dataset& data, const TrainOptions& options, int workers, std::int64_t fits) {
  const Trainer trainer(data, options, workers, fits);
  const Method& method = trainer.method();
  const Workload& work = trainer.work();
  Plan out;
  out.solver = method.name;
  out.choice = method.choice;
  out.stored = static_cast<std::int64_t>(work.stored);
  out.sparse = work.sparse;
  out.features = trainer.columns().empty() ? data.X.cols() : static_cast<std::int64_t>(trainer.columns().size());
  out.fits = fits;
  out.workers = workers;
  out.threads = work.threads;
  constexpr double index = sizeof(std::int32_t), begin = sizeof(std::int64_t);
  out.data_bytes =
      work.stored * (work.stored_number + (work.sparse ? index : 0.0)) + (work.sparse ? begin * work.n : 0.0);
  out.training_bytes = method.bytes;
  out.available_bytes = method.memory.available;
  out.bound = method.memory.bound;
  out.remedy = method.remedy;
  const Effort effort = expected_effort(work, method.solver, method.gram);
  out.passes = std::min(effort.passes, static_cast<double>(options.max_iterations));
  out.seconds = static_cast<double>(fits) / workers * effort.seconds * out.passes / effort.passes;
  if (options.time_limit_s) out.seconds = std::min(out.seconds, *options.time_limit_s);
  return out;
}

}  // namespace

Plan plan(const Dataset& data, const TrainOptions& options) {
  return plan_of(data, options, 1, 1);
}

Plan plan(const Dataset& data, const SweepOptions& options) {
  TrainOptions hardest = options.train;
  hardest.C = sorted_grid(options.C).back();
  hardest.lambda.reset();
  hardest.keep_dual = true;
  return plan_of(data, hardest, 1, static_cast<std::int64_t>(options.C.size()));
}

Plan plan(const Dataset& data, const CvOptions& options) {
  check_search(options, data);
  TrainOptions hardest = options.train;
  hardest.loss = largest_loss(options, data.classes.size());
  hardest.C = sorted_grid(options.C).back();
  hardest.lambda.reset();
  hardest.keep_dual = true;
  const auto folds = static_cast<int>(options.folds.size());
  const SearchTable table(options.losses.size(), options.C.size(), options.folds.size());
  const std::size_t searched = options.race ? race(table).needed.size() + race(table).later.size() : table.size();
  const auto fits = static_cast<std::int64_t>(searched) + (options.refit ? 1 : 0);
  return plan_of(data, hardest, std::max(1, std::min(resolve_threads(options.train.threads), folds)), fits);
}

std::string_view instruction_set() {
  return kernels().name;
}

}  // namespace topwolf
