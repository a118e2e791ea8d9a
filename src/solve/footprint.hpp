// What a method takes: memory at its peak, and a guess at passes and seconds. The only place where either is estimated;
// tests/cli/test_memory.py compares the memory with what is measured.
#pragma once

#include "engine/problem.hpp"
#include "topwolf/options.hpp"

namespace topwolf {

// What is to be solved, as far as it matters here. Counts are doubles, because their products are large.
struct Workload {
  double n, m, D;
  double stored;         // values of X
  double stored_number;  // bytes of one of them
  double number;         // bytes of what is computed with
  double class_columns;  // of the class features; 0: none
  double entries;        // of a direction of the loss, at most
  double condition;      // C times the mean squared row length, by which block's epochs grow; 0: not known yet
  double program;        // bytes that it has before it trains
  bool sparse;
  bool faces;              // the dual set has some that block can step along; softmax keeps A away from them
  bool windows;            // the rows are on disk, and come by in windows
  bool holds_dual;         // whatever the method: A is asked for, or smoothing needs it
  int threads;             // of one job
  int workers;             // jobs at the same time, on the same rows
  std::int64_t fits;       // one after the other in all
  bool by_oracle = false;  // the loss
};

// stored: values of X, which the problem need not have in memory.
Workload workload_of(const Problem& problem, std::int64_t stored, const TrainOptions& options,
                     std::int64_t class_columns, int threads, int workers, std::int64_t fits);

// Bytes of the rows, were they in memory.
double rows_bytes(const Workload& work);

// Bytes at the peak, besides the rows themselves or the window that is there. `gram`: block, from the Gram matrix.
double training_bytes(const Workload& work, SolverName solver, bool gram);

// What a job takes before it begins: the program, and labels and weights of the rows.
double standing_bytes(const Workload& work);

// Rows that are on disk, where the process may take so many bytes: how much of the rows is in memory at a time, and how
// often its rows are visited meanwhile. Does not depend on the number of threads. Half of what is left is for the
// window; what is on its way to the next one has the rest, with what each thread wants. 0 bytes: nothing is left.
struct WindowPlan {
  double bytes = 0.0;
  std::int64_t visits = 1;
};
WindowPlan plan_windows(const Workload& work, SolverName solver, double memory);

// Of one fit to the usual tolerance. Guesses: how hard a problem is shows only when it is solved.
struct Effort {
  double passes, seconds;
};
Effort expected_effort(const Workload& work, SolverName solver, bool gram);

}  // namespace topwolf
