// Every loss at every C on every fold. A fold is the whole data with weight 0 for the rows it holds out, so that all of
// them share the rows and their Gram matrix; a worker takes one fold at a time through all of its fits.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/fail.hpp"
#include "core/hash.hpp"
#include "core/threads.hpp"
#include "data/subset.hpp"
#include "topwolf/evaluate.hpp"
#include "topwolf/select.hpp"
#include "train/checkpoint.hpp"
#include "train/grid.hpp"
#include "train/trainer.hpp"

namespace topwolf {
namespace {

// What a fold has found, point by point.
struct FoldResults {
  std::vector<double> errors, relative_gaps, seconds;
  std::vector<std::int64_t> iterations;

  std::size_t size() const { return errors.size(); }
  void exchange(State& state) {
    state("errors", errors);
    const auto count = static_cast<std::int64_t>(errors.size());
    state("relative_gaps", relative_gaps, {count});
    state("seconds", seconds, {count});
    state("iterations", iterations, {count});
  }
};

std::vector<double> weights_of(const Dataset& data, const Fold& fold) {
  std::vector<double> weights(data.y.size(), 0.0);
  for (const std::int64_t i : fold.training) {
    const auto at = static_cast<std::size_t>(i);
    weights.at(at) += data.weights.empty() ? 1.0 : data.weights[at];
  }
  return weights;
}

void check_folds(const std::vector<Fold>& folds, const Dataset& data) {
  const std::int64_t n = data.X.rows();
  if (folds.size() < 2) fail(ErrorKind::option, "there must be at least 2 folds, not {}", folds.size());
  for (const Fold& fold : folds) {
    if (fold.training.empty() || fold.held_out.empty()) {
      fail(ErrorKind::data, "every fold needs rows for training and rows that are held out");
    }
    for (const auto* rows : {&fold.training, &fold.held_out}) {
      const auto [low, high] = std::minmax_element(rows->begin(), rows->end());
      if (*low < 0 || *high >= n) {
        fail(ErrorKind::data, "a fold names row {}, outside 0 .. {}", *low < 0 ? *low : *high, n - 1);
      }
      const bool weighs = data.weights.empty() || std::any_of(rows->begin(), rows->end(), [&](std::int64_t i) {
                            return data.weights[static_cast<std::size_t>(i)] > 0.0;
                          });
      if (!weighs) fail(ErrorKind::data, "a fold has only rows of weight 0 to train on or to hold out");
    }
  }
}

class CrossValidation {
 public:
  CrossValidation(const Dataset& data, const CvOptions& options, const std::function<bool(const CvProgress&)>& observer)
      : options_(options),
        observer_(observer),
        grid_(sorted_grid(options.C)),
        threads_(resolve_threads(options.train.threads)),
        workers_(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads_), options.folds.size()))),
        rows_(data, options_at(0), workers_),
        results_(options.folds.size()),
        deposits_(options.folds.size()),
        rounds_(options.folds.size(), 0),
        running_(options.folds.size(), false),
        checkpoint_(options.train.checkpoints, identity()) {}

  CvResult run() {
    restore();
    clock_ = Stopwatch(before_);
    rows_.make_shared();
    on_threads(workers_, [this] { work(); });
    if (error_) std::rethrow_exception(error_);
    // A stop that came with the last pass of a fold ended no fit.
    const bool all = std::all_of(results_.begin(), results_.end(),
                                 [&](const FoldResults& fold) { return fold.size() == point_count(); });
    if (!all && !ended_) ended_ = Status::interrupted;
    CvResult out;
    out.ended = ended_;
    if (!ended_) {
      collect(out);
      if (options_.refit) refit(out);
    }
    if (out.ended && checkpoint_.wanted()) checkpoint_.write(state());
    out.seconds = clock_.seconds();
    return out;
  }

 private:
  std::size_t point_count() const { return options_.losses.size() * grid_.size(); }
  std::int64_t total() const {
    return static_cast<std::int64_t>(point_count() * options_.folds.size()) + (options_.refit ? 1 : 0);
  }

  // Point by point: loss by loss, C ascending. The warm start needs the dual of whoever ran before.
  TrainOptions options_at(std::size_t point) const {
    if (options_.losses.empty()) fail(ErrorKind::option, "there is no loss to try");
    TrainOptions options = options_.train;
    options.loss = options_.losses[point / grid_.size()];
    options.C = grid_[point % grid_.size()];
    options.lambda.reset();
    options.keep_dual = true;
    return options;
  }

  Identity identity() {
    check_folds(options_.folds, rows_.data());
    for (std::size_t l = 0; l < options_.losses.size(); ++l) {
      resolve_loss(options_.losses[l], rows_.data().classes.size());
    }
    if (!options_.judge && options_.metric != Metric::cost && place() >= rows_.data().classes.size()) {
      fail(ErrorKind::data, "the {} error of {} classes is always 0; take a smaller k", to_string(options_.metric),
           rows_.data().classes.size());
    }
    Identity out = identity_of("cv", rows_, options_at(0));
    if (out.empty()) return out;
    std::vector<std::string> losses;
    for (const LossSpec& loss : options_.losses) losses.push_back(to_string(loss));
    out.emplace_back("the loss", fmt::format("{}", fmt::join(losses, ", ")));
    out.emplace_back("C", describe_grid(grid_));
    out.emplace_back("the number of folds", fmt::format("{}", options_.folds.size()));
    Hasher folds;
    for (const Fold& fold : options_.folds) {
      folds.add(fold.training.data(), fold.training.size() * sizeof(std::int64_t));
      folds.add(fold.held_out.data(), fold.held_out.size() * sizeof(std::int64_t));
    }
    out.emplace_back("the fingerprint of the folds", folds.hex());
    out.emplace_back("the metric", std::string(to_string(options_.metric)));
    out.emplace_back("the rule", options_.one_standard_error ? "one standard error" : "best");
    return out;
  }

  // ---- The folds

  void work() {
    try {
      for (std::size_t f = next_fold_++; f < options_.folds.size() && !stop_; f = next_fold_++) run_fold(f);
    } catch (...) {
      const std::lock_guard lock(guard_);
      if (!error_) error_ = std::current_exception();
      stop_ = true;
    }
  }

  void run_fold(std::size_t f) {
    FoldResults& results = results_[f];
    if (results.size() == point_count()) return;
    {
      const std::lock_guard lock(guard_);
      running_[f] = true;
      rounds_[f] = round_;
    }
    const auto trainer =
        rows_.with_weights(weights_of(rows_.data(), options_.folds[f]), std::max(1, threads_ / workers_));
    // Asked to stop between two fits, it begins the next one: what that starts from is in no checkpoint but its own.
    while (results.size() < point_count() && !left_[f]) fit_point(f, *trainer);
    const std::lock_guard lock(guard_);
    running_[f] = false;
    deposits_[f] = fold_state(f, nullptr);
    complete_round();
  }

  void fit_point(std::size_t f, Trainer& trainer) {
    const std::size_t point = results_[f].size();
    TrainOptions options = options_at(point);
    if (options.time_limit_s) *options.time_limit_s += before_;
    FitHooks hooks;
    hooks.warm = point % grid_.size() != 0;
    hooks.observer = [&](const Progress&) { return observe(); };
    const State resumed = deposits_[f].part("run");
    if (resume_[f]) hooks.resume = &resumed;
    resume_[f] = false;
    if (checkpoint_.wanted()) hooks.between = [&](bool leaving) { between(f, trainer, leaving); };
    const Fit fit = trainer.fit(options, clock_, hooks);
    if (fit.run.status == Status::interrupted || fit.run.status == Status::time_limit) {
      const std::lock_guard lock(guard_);
      if (!ended_) ended_ = fit.run.status;
      stop_ = true;
      left_[f] = true;
      return;
    }
    const double error = judge(f, options, fit);
    const std::lock_guard lock(guard_);
    results_[f].errors.push_back(error);
    results_[f].relative_gaps.push_back(fit.run.certificate.relative_gap());
    results_[f].seconds.push_back(fit.seconds);
    results_[f].iterations.push_back(fit.run.iterations);
  }

  // Of the rows that the fold holds out. The pass that certified the weights has ranked the classes of all rows.
  double judge(std::size_t f, const TrainOptions& options, const Fit& fit) {
    const Dataset& data = rows_.data();
    if (options_.judge) {
      const std::lock_guard lock(guard_);
      return options_.judge(f, options.loss, rows_.class_weights(fit.W));
    }
    if (options_.metric == Metric::cost) {
      const Dataset held_out = subset(data, options_.folds[f].held_out);
      Model probe;
      probe.d = data.X.cols();
      probe.bias = options.bias;
      probe.W = rows_.class_weights(fit.W);
      probe.precision = data.X.precision();
      probe.classes = data.classes;
      probe.loss = options.loss;
      return mean_cost(probe, held_out.X, held_out.y, std::max(1, threads_ / workers_), held_out.weights,
                       held_out.margins);
    }
    std::vector<std::int32_t> ranks;
    std::vector<double> weights;
    for (const std::int64_t i : options_.folds[f].held_out) {
      const auto at = static_cast<std::size_t>(i);
      ranks.push_back(fit.ranks[at]);
      if (!data.weights.empty()) weights.push_back(data.weights[at]);
    }
    return errors_of_ranks(ranks, {place()}, weights)[0];
  }

  // The k of the metric.
  std::int64_t place() const {
    constexpr std::array<std::int64_t, 4> places{1, 3, 5, 10};
    return places[static_cast<std::size_t>(options_.metric)];
  }

  bool observe() {
    if (stop_) return false;
    if (!observer_) return true;
    const std::lock_guard lock(guard_);
    if (!observer_(progress())) stop_ = true;
    return !stop_;
  }

  // A fit that is still to come takes what it took in the other folds, or else as long as the longest so far.
  CvProgress progress() const {
    CvProgress out;
    out.total = total();
    out.seconds = clock_.seconds();
    double longest = 0.0, left = 0.0, spent = 0.0;
    for (const FoldResults& fold : results_) {
      out.finished += static_cast<std::int64_t>(fold.size());
      for (const double seconds : fold.seconds) longest = std::max(longest, seconds), spent += seconds;
    }
    if (out.finished == 0) return out;
    for (std::size_t p = 0; p < point_count(); ++p) {
      double sum = 0.0, known = 0.0;
      for (const FoldResults& fold : results_) {
        if (p < fold.size()) sum += fold.seconds[p], known += 1.0;
      }
      left += (static_cast<double>(results_.size()) - known) * (known > 0.0 ? sum / known : longest);
    }
    const double current = std::max(0.0, workers_ * (out.seconds - before_) - spent);  // in fits that are going on
    out.seconds_left = (std::max(0.0, left - current) + (options_.refit ? longest : 0.0)) / workers_;
    return out;
  }

  // ---- The choice

  void collect(CvResult& out) const {
    for (std::size_t p = 0; p < point_count(); ++p) {
      CvPoint point;
      const TrainOptions options = options_at(p);
      point.loss = options.loss;
      point.C = options.C;
      for (const FoldResults& fold : results_) {
        point.errors.push_back(fold.errors[p]);
        point.relative_gaps.push_back(fold.relative_gaps[p]);
        point.seconds.push_back(fold.seconds[p]);
        point.iterations.push_back(fold.iterations[p]);
      }
      const auto count = static_cast<double>(point.errors.size());
      point.mean = std::accumulate(point.errors.begin(), point.errors.end(), 0.0) / count;
      double squares = 0.0;
      for (const double error : point.errors) squares += (error - point.mean) * (error - point.mean);
      point.standard_error = std::sqrt(squares / (count - 1.0) / count);
      out.points.push_back(std::move(point));
    }
    constexpr double rounding = 1e-12;  // of a mean: equal errors may add up to different numbers
    for (std::size_t p = 1; p < out.points.size(); ++p) {
      const double best = out.points[out.best].mean, mean = out.points[p].mean;
      if (mean < best - rounding || (std::isnan(best) && !std::isnan(mean))) out.best = p;
    }
    const std::size_t place = out.best % grid_.size(), first = out.best - place;
    out.at_edge = grid_.size() > 1 && (place == 0 || place + 1 == grid_.size());
    out.chosen = out.best;
    if (!options_.one_standard_error) return;
    const double bound = out.points[out.best].mean + out.points[out.best].standard_error;
    for (out.chosen = first; out.chosen < out.best && !(out.points[out.chosen].mean <= bound);) ++out.chosen;
  }

  void refit(CvResult& out) {
    TrainOptions options = options_at(out.chosen);
    options.keep_dual = options_.train.keep_dual;
    if (options.time_limit_s) *options.time_limit_s += before_;
    FitHooks hooks;
    hooks.observer = [&](const Progress&) { return observe(); };
    const State resumed = refit_.value_or(State());
    if (refit_) hooks.resume = &resumed;
    if (checkpoint_.wanted()) {
      hooks.between = [&](bool leaving) {
        if (!leaving && !checkpoint_.due()) return;
        refit_ = rows_.state();
        checkpoint_.write(state());
      };
    }
    Fit fit = rows_.fit(options, clock_, hooks);
    const Status status = fit.run.status;
    if (status == Status::interrupted || status == Status::time_limit) out.ended = status;
    out.refitted = rows_.result(options, std::move(fit));
    out.refitted->model.search = search_json(out);
  }

  std::string search_json(const CvResult& out) const {
    nlohmann::ordered_json search;
    search["metric"] = options_.judge ? std::string("given") : std::string(to_string(options_.metric));
    search["folds"] = options_.folds.size();
    search["rule"] = options_.one_standard_error ? "one-standard-error" : "best";
    for (const CvPoint& point : out.points) {
      search["points"].push_back({{"loss", to_string(point.loss)},
                                  {"C", point.C},
                                  {"mean", point.mean},
                                  {"standard_error", point.standard_error},
                                  {"errors", point.errors}});
    }
    search["chosen"] = out.chosen;
    return search.dump();
  }

  // ---- Checkpoints

  // Each fold leaves its state when it comes by; whoever is the last of a round writes the file.
  void between(std::size_t f, Trainer& trainer, bool leaving) {
    const std::lock_guard lock(guard_);
    if (checkpoint_.due() && !collecting_) {
      collecting_ = true;
      ++round_;
    }
    if (!leaving && rounds_[f] == round_) return;
    const State run = trainer.state();
    deposits_[f] = fold_state(f, &run);
    rounds_[f] = round_;
    complete_round();
  }

  void complete_round() {
    if (!collecting_) return;
    for (std::size_t f = 0; f < running_.size(); ++f) {
      if (running_[f] && rounds_[f] != round_) return;
    }
    collecting_ = false;
    checkpoint_.write(state());
  }

  State fold_state(std::size_t f, const State* run) {
    State out;
    results_[f].exchange(out);
    if (run) {
      out.add("run", *run);
    } else if (left_[f]) {  // what it deposited on leaving
      out.add("run", deposits_[f].part("run"));
    }
    return out;
  }

  State state() {
    State out;
    double seconds = clock_.seconds();
    out("seconds", seconds);
    for (std::size_t f = 0; f < deposits_.size(); ++f) out.add(fmt::format("fold{}", f), deposits_[f]);
    if (refit_) out.add("refit", *refit_);
    return out;
  }

  void restore() {
    resume_.assign(options_.folds.size(), false);
    left_.assign(options_.folds.size(), false);
    std::optional<State> state = checkpoint_.resumed();
    if (!state) return;
    (*state)("seconds", before_);
    for (std::size_t f = 0; f < deposits_.size(); ++f) {
      deposits_[f] = state->part(fmt::format("fold{}", f));
      if (!deposits_[f].has("errors")) continue;
      results_[f].exchange(deposits_[f]);
      if (results_[f].size() > point_count()) deposits_[f].refuse("errors");
      resume_[f] = deposits_[f].has("run.iteration");
    }
    if (state->has("refit.iteration")) refit_ = state->part("refit");
  }

  const CvOptions& options_;
  const std::function<bool(const CvProgress&)>& observer_;
  const std::vector<double> grid_;
  const int threads_, workers_;
  Trainer rows_;

  std::mutex guard_;  // of everything below
  std::vector<FoldResults> results_;
  std::atomic<std::size_t> next_fold_{0};
  std::atomic<bool> stop_{false};
  std::optional<Status> ended_;
  std::exception_ptr error_;
  double before_ = 0.0;  // seconds before this sitting
  Stopwatch clock_;

  std::vector<State> deposits_;       // of the folds
  std::vector<std::int64_t> rounds_;  // in which each fold has deposited
  std::vector<char> running_, resume_, left_;
  std::int64_t round_ = 0;
  bool collecting_ = false;
  std::optional<State> refit_;
  Checkpoint checkpoint_;
};

}  // namespace

std::string_view to_string(Metric metric) {
  constexpr std::array<std::string_view, 5> names{"top1", "top3", "top5", "top10", "cost"};
  return names[static_cast<std::size_t>(metric)];
}

CvResult cross_validate(const Dataset& data, const CvOptions& options,
                        const std::function<bool(const CvProgress&)>& observer) {
  return CrossValidation(data, options, observer).run();
}

}  // namespace topwolf
