// One problem after the other on the same rows, from the smallest C, where the dual is found at once, to the largest.

#include <fmt/format.h>

#include "core/ieee.hpp"
#include "data/fingerprint.hpp"
#include "report/assessment.hpp"
#include "topwolf/evaluate.hpp"
#include "topwolf/select.hpp"
#include "train/checkpoint.hpp"
#include "train/grid.hpp"
#include "train/trainer.hpp"

namespace topwolf {
namespace {

void exchange(State& state, SweepPoint& point) {
  state("C", point.C);
  state("lambda", point.lambda);
  auto status = static_cast<std::int64_t>(point.status);
  state("status", status);
  if (status < 0 || status > static_cast<std::int64_t>(Status::interrupted)) state.refuse("status");
  point.status = static_cast<Status>(status);
  state("primal", point.certificate.primal);
  state("dual", point.certificate.dual);
  state("iterations", point.iterations);
  state("row_visits", point.row_visits);
  state("seconds", point.seconds);
  state("training_errors", point.training_errors);
  state("held_out_errors", point.held_out_errors);
}

class Sweep {
 public:
  // The method is chosen for the largest C, which is the hardest.
  Sweep(const Dataset& data, const SweepOptions& options, const SweepObserver& observer)
      : options_(options),
        observer_(observer),
        grid_(sorted_grid(options.C)),
        trainer_(data, options_at(grid_.back())) {}

  SweepResult run() {
    Checkpoint checkpoint(options_.train, identity());
    std::optional<State> resumed = checkpoint.resumed();
    if (resumed) restore(*resumed);
    if (resumed && observer_.resumed) observer_.resumed(result_.points);
    const Stopwatch clock(result_.seconds);
    const double before = result_.seconds;
    result_.places = usual_places(trainer_.data().classes.size());
    result_.choice = trainer_.method().choice;
    for (std::size_t p = result_.points.size(); p < grid_.size(); ++p) {
      TrainOptions options = options_at(grid_[p]);
      if (options.time_limit_s) *options.time_limit_s += before;
      FitHooks hooks;
      hooks.warm = true;
      hooks.observer = [&](const Progress& progress) { return !observer_.pass || observer_.pass(grid_[p], progress); };
      const State current = resumed ? resumed->part("run") : State();
      hooks.resume = resumed && resumed->has("run.iteration") ? &current : nullptr;
      if (checkpoint.wanted()) {
        hooks.between = [&](bool leaving) {
          if (leaving || checkpoint.due()) checkpoint.write(state(clock.seconds()));
        };
      }
      const double point_before = hooks.resume ? point_seconds_ : 0.0;
      const Stopwatch point_clock(point_before);
      point_clock_ = &point_clock;
      Fit fit = trainer_.fit(options, clock, hooks);
      finish(options, std::move(fit), point_clock.seconds());
      resumed.reset();
      const Status status = result_.points.back().status;
      if (status == Status::interrupted || status == Status::time_limit) result_.ended = status;
      if (result_.ended) break;
    }
    const auto left = grid_.begin() + static_cast<std::ptrdiff_t>(result_.points.size());
    result_.not_tried.assign(left, grid_.end());
    result_.seconds = clock.seconds();
    return std::move(result_);
  }

 private:
  // The warm start needs the dual of whoever ran before.
  TrainOptions options_at(double C) const {
    TrainOptions options = options_.train;
    options.C = C;
    options.lambda.reset();
    options.keep_dual = true;
    return options;
  }
  TrainOptions first_options() const { return options_at(grid_.front()); }

  Identity identity() {
    Identity out = identity_of("sweep", trainer_, first_options());
    if (out.empty()) return out;
    out.emplace_back("the loss", to_string(options_.train.loss));
    out.emplace_back("C", describe_grid(grid_));
    out.emplace_back("the fingerprint of the rows held out",
                     options_.held_out ? fingerprint(*options_.held_out) : "none");
    return out;
  }

  void finish(const TrainOptions& options, Fit fit, double seconds) {
    fit.seconds = seconds;
    SweepPoint point{fit, {}, {}};
    const Dataset& data = trainer_.data();
    point.training_errors = errors_of_ranks(fit.ranks, result_.places, data.weights);
    TrainResult trained = trainer_.result(options, std::move(fit));
    if (!options_.train.keep_dual) trained.dual = {};
    if (const Dataset* rows = options_.held_out) {
      const Predictor predictor(trained.model, Rows::normalized, options.threads);
      point.held_out_errors = top_k_errors(predictor, rows->X, rows->y, result_.places, options.threads, rows->weights);
    }
    result_.points.push_back(point);
    if (observer_.finished) observer_.finished(point, trained);
  }

  State state(double seconds) {
    State out;
    auto count = static_cast<std::int64_t>(result_.points.size());
    out("points", count);
    out("seconds", seconds);
    double point_seconds = point_clock_->seconds();
    out("point_seconds", point_seconds);
    for (std::size_t p = 0; p < result_.points.size(); ++p) {
      out.within(fmt::format("point{}", p), [&](State& part) { exchange(part, result_.points[p]); });
    }
    out.add("run", trainer_.state());
    return out;
  }

  void restore(State& state) {
    std::int64_t count = 0;
    state("points", count);
    if (count < 0 || count > static_cast<std::int64_t>(grid_.size())) state.refuse("points");
    state("seconds", result_.seconds);
    state("point_seconds", point_seconds_);
    for (std::int64_t p = 0; p < count; ++p) {
      SweepPoint& point = result_.points.emplace_back();
      state.within(fmt::format("point{}", p), [&](State& part) { exchange(part, point); });
    }
  }

  const SweepOptions& options_;
  const SweepObserver& observer_;
  const std::vector<double> grid_;
  Trainer trainer_;
  SweepResult result_;
  const Stopwatch* point_clock_ = nullptr;  // of the point that is being trained
  double point_seconds_ = 0.0;              // of the point in which the job was stopped
};

}  // namespace

SweepResult sweep(const Dataset& data, const SweepOptions& options, const SweepObserver& observer) {
  const IeeeArithmetic ieee;
  SweepOptions begun = options;
  begun.train = as_begun(options.train);
  return Sweep(data, begun, observer).run();
}

}  // namespace topwolf
