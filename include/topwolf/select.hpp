// Choosing C and the loss: sweeps over C and cross-validation. Every fit starts from the one before it and comes with
// its certificate; the Gram matrix, where there is one, is made once for all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topwolf/train.hpp"

namespace topwolf {

// `count` values from `first` to `last`, each the same number of times the one before.
std::vector<double> log_spaced(double first, double last, std::int64_t count);

// ---- Rows that are held out

// Row numbers, from 0.
struct Fold {
  std::vector<std::int64_t> training;  // that are trained on
  std::vector<std::int64_t> held_out;  // that it is judged by
};

// Each class is dealt out evenly, in an order drawn from the seed. The rows of a class that has fewer rows than there
// are folds stay in training, in every fold.
std::vector<Fold> stratified_folds(const std::vector<std::int32_t>& y, std::int64_t m, std::int64_t folds,
                                   std::uint64_t seed);

// A share of every class, in (0, 1); a class keeps at least one row for training.
Fold stratified_split(const std::vector<std::int32_t>& y, std::int64_t m, double share, std::uint64_t seed);

// ---- Sweep

// Which values are tried, and on what they are judged.
struct SweepOptions {
  TrainOptions train;                 // its C and lambda are not used
  std::vector<double> C;              // in any order; they are tried from the smallest
  const Dataset* held_out = nullptr;  // rows of the same classes (y = -1: another class), never trained on
};

// One C.
struct SweepPoint : Outcome {
  std::vector<double> training_errors;  // at the places of the result
  std::vector<double> held_out_errors;  // the same; empty where nothing is held out
};

// All of them.
struct SweepResult {
  std::vector<std::int64_t> places;  // the k of the errors
  std::vector<SweepPoint> points;    // C ascending; where the sweep was ended, the last one did not come to its end
  std::optional<Status> ended;       // interrupted or time_limit, where the sweep was ended
  std::vector<double> not_tried;     // the C that were left then
  std::string choice;                // of the solver, a sentence
  double seconds = 0.0;              // of the whole sweep
};

// Called while the sweep goes on; what is not set is not called.
struct SweepObserver {
  std::function<bool(double C, const Progress&)> pass{};                  // false: end the sweep
  std::function<void(const SweepPoint&, const TrainResult&)> finished{};  // one point, with its model
  std::function<void(const std::vector<SweepPoint>&)> resumed{};          // the points that a checkpoint has finished
};

// The time limit and the checkpoints are the whole sweep's. A resumed sweep calls `resumed` before it trains anything,
// and does not call `finished` again for those points.
SweepResult sweep(const Dataset& data, const SweepOptions& options, const SweepObserver& observer = {});

// ---- Cross-validation

// One error of a metric.
struct MetricTerm {
  std::int64_t k = 1;   // the share of rows whose class is not among the k best; 0: the mean cost of the best class
  double weight = 1.0;  // of the weights of all terms
  // The same numbers.
  bool operator==(const MetricTerm&) const = default;
};

// What held-out rows are judged by, and what is minimised: errors, each with its weight. Weights add up to 1.
struct Metric {
  std::vector<MetricTerm> terms{{1, 1.0}};  // at least one, each error once
  // Whether the cost is one of them, by the cost matrix or the margins.
  bool costs() const;
  // The largest k; 0 where there is only the cost.
  std::int64_t largest_k() const;
  // The same terms in the same order.
  bool operator==(const Metric&) const = default;
};

// "top1", "top7", "cost", "0.7*top1+0.3*top5"; names without a weight weigh 1, and weights are scaled to add up to 1.
// Throws Error{option}.
Metric parse_metric(std::string_view text);

// The same as text.
std::string to_string(const Metric& metric);

// ---- Probe: a sweep that chooses

// Which values of C are tried, and on what rows by which errors one is chosen.
struct ProbeOptions {
  TrainOptions train;                 // its C and lambda are not used
  std::vector<double> C;              // in any order; they are tried from the smallest
  const Dataset* held_out = nullptr;  // rows of the same classes (y = -1: another class), never trained on; needed
  Metric metric;                      // what is minimised on them: top-k errors
  bool refit = false;                 // on the rows held out as well, which then tell nothing any more
};

// A path, and the model that was chosen.
struct ProbeResult {
  SweepResult path;            // with held-out errors at its places
  std::vector<double> errors;  // of the points, by the metric
  std::size_t best = 0;        // of equals the smallest C
  bool at_edge = false;        // it is the first or last of several, and all were tried
  bool refitted = false;       // the fit is one to all rows
  TrainResult fit;             // at the best C, with its certificate
  double seconds = 0.0;        // of path and refit
};

// A linear probe of features that somebody else made: the path over C, each fit starting from the one before it and
// certified, then the choice, and a fit to all rows if asked for. The time limit is for all of it, half of it being
// kept for the refit. Where the path is ended, the best of the points so far is taken, the last one as far as it came.
// There are no checkpoints.
ProbeResult probe(const Dataset& data, const ProbeOptions& options, const SweepObserver& observer = {});

// A loss that is worth trying, and why.
struct LossCandidate {
  LossSpec loss;            // with its k
  std::string_view reason;  // a sentence's part
};

// What to try for a metric and m classes where no loss is given: max_hinge, weighted_usunier and softmax, and usunier
// and top_k with 2 and 4 times the largest k of the metric, as far as the classes allow and each once. Costs are for
// the caller to add.
std::vector<LossCandidate> loss_candidates(const Metric& metric, std::int64_t m);

// Which losses and values of C are tried, on which folds, and by what rule one is chosen.
struct CvOptions {
  TrainOptions train;               // its loss, C and lambda are not used
  std::vector<LossSpec> losses;     // at least one
  std::vector<double> C;            // in any order
  std::vector<Fold> folds;          // at least two
  Metric metric;                    // what is minimised
  bool one_standard_error = false;  // the smallest C that is within one standard error of the best, for its loss
  bool race = false;                // fold by fold, the better half of the points staying: for many losses
  bool refit = true;                // on all rows
  // What is minimised instead of the metric, at weights (m x D) for one fold, or on kept_columns(); one call at a time.
  std::function<double(std::size_t fold, const LossSpec& loss, const std::vector<double>& W)> judge{};
};

// One loss at one C.
struct CvPoint {
  LossSpec loss;                         // with its k and rho
  double C = 0.0;                        // of this point
  std::vector<double> errors;            // of the folds; NaN where there was no fit
  std::vector<double> relative_gaps;     // of the folds; the same
  std::vector<std::int64_t> iterations;  // of the folds; 0 where there was no fit
  std::vector<double> seconds;           // of the folds; 0 where there was no fit
  std::size_t tried = 0;                 // how many folds had a fit
  bool dropped = false;         // out of the race, or no longer able to win, before its other folds had their turn
  bool competes = false;        // it was tried on as many folds as any, and so could be chosen
  double mean = 0.0;            // of the errors that the choice goes by; NaN where there are none
  double standard_error = 0.0;  // of the mean; NaN where there are fewer than two errors
};

// All points, and the one that was chosen.
struct CvResult {
  std::vector<CvPoint> points;          // loss by loss, C ascending
  std::size_t fits = 0;                 // how many are in the points; 0: nothing is chosen
  std::size_t wanted = 0;               // how many a complete search has, as far as can be told
  std::size_t best = 0;                 // the lowest mean of those tried on the most folds; of equals the first
  std::size_t chosen = 0;               // by the rule
  bool at_edge = false;                 // the best C is the first or last of several, and all were tried
  bool complete = false;                // everything was tried that could be the best
  double seconds = 0.0;                 // of the search and the fit to all rows
  std::optional<Status> ended;          // interrupted or time_limit, where the search or the fit to all rows was ended
  std::optional<TrainResult> refitted;  // the chosen one, trained on all rows; none where it was not asked for
};

// How far a cross-validation is.
struct CvProgress {
  std::int64_t finished = 0;           // fits, the last one on all rows included; ...
  std::int64_t total = 0;              // ... in all, without those that were dropped
  double seconds = 0.0;                // since it began
  std::optional<double> seconds_left;  // as far as the fits so far tell; none before they tell anything
  bool refitting = false;              // the folds are done with
  std::optional<Status> ended;         // why the search was ended, where it was, while the best is fitted to all rows
};

// All folds of the smallest C come first, then those of the next, each fit starting from the one before it in its fold.
// Fits run side by side, with as many threads in all as the options allow. A point that has made more errors on some
// folds than the best one on all is not tried on the others, unless a fit needs it to start from; the choice is the
// same, whatever the number of threads. With a judge, and by the rule of one standard error, nothing is dropped.
//
// In a race everything is tried on the first fold, C by C; the better half of the points goes on to the next fold, and
// so on, down to four, with the smaller C that their fits start from. That costs about as much as two to three folds
// of everything; the choice may be another than without, but not for another number of threads. Where it is ended, only
// the folds count on which all that were left in the race have been tried.
//
// The observer is called after every pass, one call at a time. False ends the search, and the best point so far is
// trained on all rows; false while that goes on ends it too. A time limit ends the search early enough for that fit, as
// far as can be told, but never before half of the time is gone.
CvResult cross_validate(const Dataset& data, const CvOptions& options,
                        const std::function<bool(const CvProgress&)>& observer = {});

}  // namespace topwolf
