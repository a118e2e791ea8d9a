// Everything a training run can be told. One default per option, whatever the front end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "topwolf/error.hpp"
#include "topwolf/loss.hpp"
#include "topwolf/matrix.hpp"

namespace topwolf {

// How the problem is solved (solvers.md); all end at the same optimum.
enum class SolverName {
  automatic,  // block, or lsfw where that does not fit into memory
  block,      // block ascent: every row set to its exact maximiser, and steps of all rows at once
  newton,     // Newton steps on the primal, for very many rows and few weights
  apg,        // accelerated projected gradient
  lsfw,       // Frank-Wolfe with exact line search
  stdfw,      // Frank-Wolfe with steps 2/(t + 1)
  pg,         // projected gradient with steps 1/t
};

// What a solver is by its name.
struct SolverTraits {
  SolverName id;          // the row's place
  std::string_view name;  // in options, files and reports
  bool starts;            // from an earlier dual; the others forget it in their first step
};
// The one table of solvers: names, options and what a run can begin with follow from it.
inline constexpr std::array solver_table{
    SolverTraits{SolverName::automatic, "auto", true}, SolverTraits{SolverName::block, "block", true},
    SolverTraits{SolverName::newton, "newton", true},  SolverTraits{SolverName::apg, "apg", true},
    SolverTraits{SolverName::lsfw, "lsfw", true},      SolverTraits{SolverName::stdfw, "stdfw", false},
    SolverTraits{SolverName::pg, "pg", false},
};
template <>
struct Names<SolverName> {
  static constexpr auto all = names_in(solver_table);
};
// Throws for a name without a row.
constexpr const SolverTraits& traits(SolverName name) {
  return solver_table.at(static_cast<std::size_t>(name));
}

// How the block solver holds the scores.
enum class ScoresName {
  automatic,  // whichever is expected to be faster, and fits into memory
  weights,    // computed from the weights, m x d numbers
  gram,       // kept, with the Gram matrix of the rows: n x m and n x n numbers
};
template <>
struct Names<ScoresName> {
  static constexpr std::array<std::string_view, 3> all{"auto", "weights", "gram"};
};

// Long jobs: their state goes to a file from time to time, and before they end without having converged. A job that is
// resumed ends with the same bits as one that was never stopped, on any number of threads. One that cannot be written
// is a warning: the job goes on, and the one before it stays.
struct Checkpoints {
  std::string path;        // "": none, or where resuming from it goes on
  double every_s = 600.0;  // how often
  std::string resume;      // a checkpoint of the same job to go on from; "": from the start
};

// What is minimised, how, and when to stop.
struct TrainOptions {
  LossSpec loss;                              // of a row
  double C = 1.0;                             // lambda = 1 / (C N)
  std::optional<double> lambda;               // given: C = 1 / (lambda N)
  SolverName solver = SolverName::automatic;  // by which method
  ScoresName scores = ScoresName::automatic;  // of the block solver
  std::optional<double> tolerance;       // stop when gap <= tolerance * primal; unset: 1e-3 unless absolute_gap is set
  std::optional<double> absolute_gap;    // stop when gap <= absolute_gap
  std::int64_t max_iterations = 100000;  // passes over the rows, at least 1
  std::optional<double> time_limit_s;    // from data ready; above 0
  // Asked many times a second, from the thread that trains; true ends the run: status interrupted.
  std::function<bool()> should_stop;
  double bias = 0.0;  // value of the constant feature; 0: none
  // The weights are regularised as those of rows less their mean, which the weights of the constant feature then make
  // up for: the model is one of rows as they are. Needs a bias. Another objective than without (ledger, C1). The
  // folds of a cross-validation share the mean of all rows.
  bool center = false;
  // Bytes that the process may take in all; none: what the system allows. Rows on disk are loaded where there is room
  // for them, and are otherwise read window by window, as large as the rest of this allows.
  std::optional<std::int64_t> memory;
  // What of `memory` the program itself has before it trains, besides its rows; by default that of the command line.
  std::int64_t program_bytes = 48'000'000;
  int threads = 0;  // 0: all cores the process may use
  // Who multiplies: "cpu", "cuda" or "cuda:1", the GPU of that number. The certificate is the same kind of proof.
  std::string device = "cpu";
  std::uint64_t seed = 0;   // of the solvers that draw random numbers; the same seed gives the same bits
  bool keep_dual = false;   // return the dual A as well
  SparseRows start;         // a dual to begin with (n x m), from a run on the same rows; without rows: none
  Checkpoints checkpoints;  // of long jobs
  // One sentence a call, one call at a time: checkpoints that cannot be written, rows and a C for which convergence
  // will be slow.
  Warn warn{};
};

// Where neither tolerance nor absolute_gap is set.
inline constexpr double default_tolerance = 1e-3;

// Names the field and its range. Throws Error{option}.
void check(const TrainOptions& options);

}  // namespace topwolf
