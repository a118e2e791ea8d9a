// Every loss at every C on every fold, C by C, or fold by fold in a race. A fold is the whole data with weight 0 for
// the rows it holds out, so that all of them share the rows and their Gram matrix. Fits are handed to workers one by
// one; between two fits of a chain, a loss on a fold, only its state is kept, so that the working memory is that of as
// many fits as there are workers. In Gram mode a state has n x m scores, otherwise twice the weights; there is one for
// each loss and fold.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "topwolf/select.hpp"
#include "train/chains.hpp"
#include "train/checkpoint.hpp"
#include "train/choice.hpp"
#include "train/fold_fits.hpp"
#include "train/grid.hpp"
#include "train/race.hpp"
#include "train/search_record.hpp"
#include "train/search_table.hpp"
#include "train/time_left.hpp"

namespace topwolf {
namespace {

class CrossValidation {
 public:
  // `asked`: before a search that goes on was told how it was begun.
  CrossValidation(const Dataset& data, const CvOptions& options, const TrainOptions& asked,
                  const std::function<bool(const CvProgress&)>& observer)
      : options_(options),
        asked_(asked),
        observer_(observer),
        grid_(sorted_grid(options.C)),
        threads_(resolve_threads(options.train.threads)),
        workers_(std::max(1, std::min(threads_, static_cast<int>(options.folds.size())))),
        rows_(data, hardest(data), workers_),
        table_(options.losses.size(), grid_.size(), options.folds.size()),
        chains_(table_.chains()),
        checkpoint_(options.train, identity()) {}

  CvResult run() {
    restore();
    clock_ = Stopwatch(before_);
    if (options_.train.time_limit_s) limit_ = before_ + *options_.train.time_limit_s;
    plan();
    rows_.prepare_shared();
    on_threads(workers_, [this] { work(); });
    if (error_) std::rethrow_exception(error_);
    CvResult out;
    collect(out);
    if (!out.complete && checkpoint_.wanted()) checkpoint_.write(state());
    if (options_.refit && out.fits > 0) refit(out);
    out.seconds = clock_.seconds();
    return out;
  }

 private:
  // By which memory is planned and the method chosen: the loss that takes most, at the largest C.
  TrainOptions hardest(const Dataset& data) const {
    const LossSpec& loss = largest_loss(options_, data.classes.size());  // refuses it where there is none
    TrainOptions options = options_at(grid_.size() - 1);
    options.loss = loss;
    return options;
  }

  // The warm start needs the dual of whoever ran before.
  TrainOptions options_at(std::size_t point) const {
    TrainOptions options = options_.train;
    options.loss = options_.losses[point / grid_.size()];
    options.C = grid_[point % grid_.size()];
    options.lambda.reset();
    options.keep_dual = true;
    if (limit_) options.time_limit_s = limit_;
    return options;
  }

  Identity identity() {
    check_search(options_, rows_.data());
    return search_identity(rows_, options_at(0), options_, grid_);
  }

  // ---- The fits

  void work() {
    try {
      while (const std::optional<std::size_t> place = take()) make(*place);
    } catch (...) {
      const std::lock_guard lock(guard_);
      if (!error_) error_ = std::current_exception();
      stop_ = true;
      changed_.notify_all();
    }
  }

  // The first fit that is needed and whose chain is not at work; none where there is nothing left to do.
  std::optional<std::size_t> take() {
    std::unique_lock lock(guard_);
    for (;; changed_.wait(lock)) {
      bool busy = false;
      if (stop_) return std::nullopt;
      for (const std::size_t place : needed_) {
        if (table_.made(place)) continue;
        Chain& chain = chains_[table_.chain_of(place)];
        busy |= chain.running;
        if (chain.running) continue;
        chains_.begin(chain, place);
        return place;
      }
      if (!busy) return std::nullopt;
    }
  }

  void make(std::size_t place) {
    const std::size_t point = table_.point_of(place);
    const Fold& fold = options_.folds[table_.fold_of(place)];
    Chain& chain = chains_[table_.chain_of(place)];
    TrainOptions options = options_at(point);
    options.should_stop = [this] { return stop_ || late() || asked_to_stop(); };
    const int threads = std::max(1, threads_ / workers_);
    const auto trainer = rows_.with_weights(weights_of(rows_.data(), fold), threads);
    FitHooks hooks;
    hooks.warm = table_.C_of(place) > 0;
    hooks.observer = [&](const Progress&) { return observe(place); };
    // A checkpoint has to be able to begin there again, until there is a later state.
    State start = checkpoint_.wanted() ? chain.state : std::exchange(chain.state, State());
    if (chain.begun) {
      hooks.resume = &start;
    } else if (hooks.warm) {
      trainer->restore(options_at(point - 1), std::move(start));
    }
    if (checkpoint_.wanted()) hooks.between = [&](bool leaving) { between(chain, *trainer, leaving); };
    const Fit fit = trainer->fit(options, clock_, hooks);
    const bool ended = fit.status == Status::interrupted || fit.status == Status::time_limit;
    const double error = ended ? 0.0 : judge(place, options, fit, threads);
    const bool last = ends_its_chain(place);
    State after = ended || last ? State() : trainer->state();
    const std::lock_guard lock(guard_);
    chain.running = false;
    if (ended && needed(place)) {
      end(late() ? Status::time_limit : fit.status);
    } else if (!ended) {
      chain.state = std::move(after);
      chain.begun = false;
      table_.errors[place] = error;
      table_.relative_gaps[place] = fit.certificate.relative_gap();
      table_.seconds[place] = fit.seconds;
      table_.iterations[place] = fit.iterations;
      plan();
    }
    if (chains_.collected()) checkpoint_.write(state());
    changed_.notify_all();
  }

  double judge(std::size_t place, const TrainOptions& options, const Fit& fit, int threads) {
    const std::size_t f = table_.fold_of(place);
    if (!options_.judge) return held_out_error(options_.metric, rows_, options_.folds[f], options, fit, threads);
    const std::lock_guard one_call_at_a_time(judging_);
    return options_.judge(f, options.loss, rows_.class_weights(fit.W));
  }

  // What is to be done after another fit. A judge's errors may be below 0, and one standard error of a point that is
  // not there yet may reach any other: then everything is needed.
  void look_ahead() {
    if (options_.race) {
      race_ = race(table_);
      needed_ = race_.needed;
    } else {
      needed_ = needed_fits(table_, !options_.judge && !options_.one_standard_error);
    }
  }

  // The same, and how long it will take.
  void plan() {
    look_ahead();
    expected_ = expected_seconds(table_, grid_);
    refit_s_ = 0.0;
    if (limit_) deadline_ = *limit_;
    const bool any = std::any_of(table_.iterations.begin(), table_.iterations.end(),
                                 [](std::int64_t iterations) { return iterations > 0; });
    if (!options_.refit || !any) return;
    double training = 0.0;
    for (const Fold& fold : options_.folds) training += static_cast<double>(fold.training.size());
    const double rows = static_cast<double>(rows_.data().X.rows()) * static_cast<double>(table_.folds);
    refit_s_ = refit_seconds(table_, choose(counted(table_), options_.one_standard_error).chosen, rows / training);
    if (!limit_) return;
    // An estimate: a tenth of the limit at least, so that a busy machine leaves something, and half of it at most.
    const double whole = *options_.train.time_limit_s;
    deadline_ = *limit_ - std::clamp(refit_s_, 0.1 * whole, 0.5 * whole);
  }

  // ---- Who looks on

  void end(Status why) {
    if (!stop_) ended_ = why;
    stop_ = true;
  }

  bool late() const { return clock_.seconds() >= deadline_; }
  bool asked_to_stop() const { return options_.train.should_stop && options_.train.should_stop(); }

  // A fit that others have made needless in the meantime ends too.
  bool observe(std::size_t place) {
    if (stop_) return false;
    const std::lock_guard lock(guard_);
    if (late()) end(Status::time_limit);
    if (observer_ && !observer_(progress())) end(Status::interrupted);
    return !stop_ && needed(place);
  }

  bool needed(std::size_t place) const { return std::find(needed_.begin(), needed_.end(), place) != needed_.end(); }

  // No fit will start from it.
  bool ends_its_chain(std::size_t place) {
    const std::lock_guard lock(guard_);
    return table_.C_of(place) + 1 == table_.Cs || !needed(place + table_.folds);
  }

  CvProgress progress() const {
    CvProgress out;
    out.seconds = clock_.seconds();
    out.total = static_cast<std::int64_t>(needed_.size() + race_.later.size()) + (options_.refit ? 1 : 0);
    double left = 0.0;
    for (const std::size_t place : needed_) {
      const Chain& chain = chains_[table_.chain_of(place)];
      if (table_.made(place)) {
        ++out.finished;
      } else if (expected_) {
        const double expected = (*expected_)[table_.point_of(place)];
        const bool running = chain.running && chain.place == place;
        left += running ? std::max(0.0, expected - chain.since.seconds()) : expected;
      }
    }
    if (!expected_) return out;
    for (const std::size_t place : race_.later) left += (*expected_)[table_.point_of(place)];
    out.seconds_left = left / workers_ + refit_s_;
    if (limit_) out.seconds_left = std::min(*out.seconds_left, std::max(0.0, *limit_ - out.seconds));
    return out;
  }

  // ---- The choice

  void collect(CvResult& out) {
    out.complete = std::all_of(needed_.begin(), needed_.end(), [&](std::size_t place) { return table_.made(place); });
    if (!out.complete) out.ended = ended_;
    out.wanted = needed_.size() + race_.later.size();
    const SearchTable kept = out.complete ? of_those_needed() : table_, by = counted(kept);
    out.points = points_of(kept, by, awaited(), options_.losses, grid_);
    for (const CvPoint& point : out.points) out.fits += point.tried;
    if (out.fits == 0) return;
    const Choice choice = choose(by, options_.one_standard_error);
    for (std::size_t p = 0; p < out.points.size(); ++p) out.points[p].competes = choice.competes[p] != 0;
    out.best = choice.best;
    out.chosen = choice.chosen;
    const std::size_t at = out.best % grid_.size();
    out.at_edge = out.complete && grid_.size() > 1 && (at == 0 || at + 1 == grid_.size());
  }

  // Several workers begin fits of a point before the others tell that it cannot win. What is in the table must not
  // depend on who was first.
  SearchTable of_those_needed() const {
    SearchTable kept = table_;
    for (std::size_t place = 0; place < kept.size(); ++place) {
      if (!needed(place)) kept.forget(place);
    }
    return kept;
  }

  // What a choice can go by. In the middle of a round of a race a few points have been tried on a fold more than the
  // others: those that came first, not those that are best.
  SearchTable counted(const SearchTable& made) const {
    SearchTable kept = made;
    if (!options_.race || race_.rounds == 0) return kept;
    for (std::size_t place = 0; place < kept.size(); ++place) {
      if (kept.fold_of(place) >= race_.rounds) kept.forget(place);
    }
    return kept;
  }

  // By point, whether it would have been tried on more folds.
  std::vector<char> awaited() const {
    if (options_.race) return race_.running;
    std::vector<char> out(table_.points(), 0);
    for (const std::size_t place : needed_) {
      if (!table_.made(place)) out[table_.point_of(place)] = 1;
    }
    return out;
  }

  // Of the point that was chosen. Only if the search is complete will a resumed job choose it again: then its state
  // goes to the checkpoint too.
  // The bits are those of a fit that knows no search.
  void refit(CvResult& out) {
    TrainOptions options = options_at(out.chosen);
    options.keep_dual = options_.train.keep_dual;
    TrainOptions choice = options;
    choice.solver = asked_.solver;  // a search that goes on has that of its fits
    choice.scores = asked_.scores;
    rows_.choose(choice);
    CvProgress progress = this->progress();
    progress.refitting = true;
    progress.ended = out.ended;
    if (out.ended == Status::interrupted) options.should_stop = nullptr;  // that was for the search
    progress.seconds_left.reset();
    FitHooks hooks;
    hooks.observer = [&](const Progress& pass) {
      progress.seconds = pass.seconds;
      return !observer_ || observer_(progress);
    };
    const State resumed = refit_.value_or(State());
    if (out.complete && refit_) hooks.resume = &resumed;
    if (out.complete && checkpoint_.wanted()) {
      hooks.between = [&](bool leaving) {
        if (!leaving && !checkpoint_.due()) return;
        refit_ = rows_.state();
        checkpoint_.write(state());
      };
    }
    Fit fit = rows_.fit(options, clock_, hooks);
    const Status status = fit.status;
    if (!out.ended && (status == Status::interrupted || status == Status::time_limit)) out.ended = status;
    out.refitted = rows_.result(options, std::move(fit));
    out.refitted->model.provenance.search = search_json(options_, out);
  }

  // ---- Checkpoints

  // Each chain at work leaves its state when it comes by; whoever is the last of a round writes the file.
  void between(Chain& chain, Trainer& trainer, bool leaving) {
    const std::lock_guard lock(guard_);
    if (checkpoint_.due()) chains_.ask();
    if (!leaving && !chains_.asks(chain)) return;
    chains_.leave(chain, trainer.state());
    if (chains_.collected()) checkpoint_.write(state());
  }

  State state() {
    State out;
    double seconds = clock_.seconds();
    out("seconds", seconds);
    table_.exchange(out);
    chains_.exchange(out);
    if (refit_) out.add("refit", *refit_);
    return out;
  }

  void restore() {
    std::optional<State> state = checkpoint_.resumed();
    if (!state) return;
    (*state)("seconds", before_);
    table_.exchange(*state);
    chains_.exchange(*state);
    look_ahead();
    chains_.check(table_, needed_, *state);
    if (state->has("refit.iteration")) refit_ = state->part("refit");
  }

  const CvOptions& options_;
  const TrainOptions& asked_;
  const std::function<bool(const CvProgress&)>& observer_;
  const std::vector<double> grid_;
  const int threads_, workers_;
  std::optional<double> limit_;  // on the clock
  Trainer rows_;

  std::mutex guard_;  // of everything below
  std::condition_variable changed_;
  SearchTable table_;
  Chains chains_;
  std::vector<std::size_t> needed_;
  Race race_;                                                              // where there is one
  std::optional<std::vector<double>> expected_;                            // seconds of a fit of each point
  double refit_s_ = 0.0;                                                   // of what would be chosen now
  std::atomic<double> deadline_{std::numeric_limits<double>::infinity()};  // of the search, on the clock
  std::atomic<bool> stop_{false};
  std::optional<Status> ended_;  // why it stops
  std::exception_ptr error_;
  double before_ = 0.0;  // seconds before this sitting
  Stopwatch clock_;

  std::mutex judging_;
  std::optional<State> refit_;
  Checkpoint checkpoint_;
};

}  // namespace

CvResult cross_validate(const Dataset& data, const CvOptions& options,
                        const std::function<bool(const CvProgress&)>& observer) {
  const IeeeArithmetic ieee;
  CvOptions begun = options;
  begun.train = as_begun(options.train);
  return CrossValidation(data, begun, options.train, observer).run();
}

}  // namespace topwolf
