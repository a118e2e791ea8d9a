#include "solve/footprint.hpp"

#include <algorithm>
#include <cmath>

#include "data/rows.hpp"
#include "engine/cpu/cpu_engine.hpp"
#include "engine/cpu/scorer.hpp"
#include "engine/host/newton_matrix.hpp"

namespace topwolf {
namespace {

constexpr double wide = sizeof(double);

// An example's entries of A: a few more than a direction has.
double entries_of(const Workload& work) {
  return std::min(work.m, std::max(5.0, work.entries + 1.0));
}

// One dual: where each row lies, and its entries, for which there is room in powers of two.
double dual_bytes(const Workload& work, double entries) {
  constexpr double row = 16.0, entry = sizeof(Entry);
  return work.n * (row + entry * std::exp2(std::ceil(std::log2(std::max(4.0, entries)))));
}

// What every engine has: lengths and ranks of the rows, and the scores of a panel for each thread, in both precisions.
double engine_bytes(const Workload& work) {
  constexpr double row = 32.0;
  const double panel = static_cast<double>(panel_rows(static_cast<std::int64_t>(work.m)));
  return row * work.n + work.threads * panel * work.m * (work.number + 3.0 * wide);
}

// The rows of a batch that are widened: all, where they are stored as something narrower than what is computed with.
double widened_rows(const Workload& work) {
  if (work.stored_number >= work.number) return 0.0;
  return static_cast<double>(most_rows_of_batch(static_cast<std::int64_t>(work.n), static_cast<std::int64_t>(work.m)));
}

// Block ascent keeps W(A), the best W and the one that is being certified, whose scores need it once more; in the
// precision of the rows the working weights or scores, and those of a step on the face; with windows, whose steps on
// the face plan_windows() counts, the weights once more while they move to the next one, and an order for every visit.
double block_bytes(const Workload& work, bool gram) {
  constexpr double row = 64.0;                    // of the order and the rests
  const double entry = work.faces ? 100.0 : 0.0;  // of a step on the face
  const double rows =
      dual_bytes(work, entries_of(work)) + work.n * (row + (work.windows ? row : entry * entries_of(work)));
  const double W = work.m * work.D, V = work.class_columns * work.D;
  if (V > 0.0) return rows + wide * (3.0 * V + 5.0 * W) + work.number * (gram ? work.m * work.n : W);
  // The Gram matrices of the rows of each class, where they take less than that of all.
  const double packed = work.n * work.n * std::min(1.0, 4.0 / work.m);
  return rows + 4.0 * wide * W +
         work.number * (gram ? work.m * work.n + packed : 2.0 * W + widened_rows(work) * work.D);
}

// A matrix over all weights, the sums of a block of rows that go into it, and what they are summed from: as it is
// found, row by row, and sorted.
double newton_bytes(const Workload& work) {
  constexpr double entry = 64.0;
  const double pairs = 0.5 * work.m * (work.m + 1.0);
  const double entries = std::min(work.n * pairs, newton_entries_at_a_time + pairs);
  return wide * work.D * work.D * (work.m * work.m + pairs) + entry * entries;
}

// Each W is held by whoever is named in batch.cpp, apg.cpp and newton.cpp, then twice while it is certified. The duals
// of newton may have entries for all classes while its smoothing is large.
double batch_bytes(const Workload& work, SolverName solver) {
  const bool newton = solver == SolverName::newton, three = newton || solver == SolverName::apg;
  const double held = three ? 6.0 : 4.0, duals = three ? 3.0 : work.holds_dual ? 2.0 : 0.0;
  const double W = work.m * work.D, V = work.class_columns * work.D;
  const double weights = V > 0.0 ? wide * ((held + 1.0) * V + 3.0 * W) : wide * (held + 2.0) * W;
  const double dual = dual_bytes(work, newton ? work.m : entries_of(work));
  return weights + work.number * W + duals * dual + (newton ? newton_bytes(work) : 0.0);
}

}  // namespace

Workload workload_of(const Problem& problem, std::int64_t stored, const TrainOptions& options,
                     std::int64_t class_columns, int threads, int workers, std::int64_t fits) {
  Workload work{};
  work.n = static_cast<double>(problem.n);
  work.m = static_cast<double>(problem.m);
  work.D = static_cast<double>(problem.D());
  work.sparse = is_sparse(problem.X);
  work.stored_number =
      std::visit([]<class View>(const View&) { return static_cast<double>(sizeof(typename View::Value)); }, problem.X);
  work.number = working_precision(stored_precision(problem.X)) == Precision::float32 ? sizeof(float) : sizeof(double);
  work.stored = static_cast<double>(stored);
  work.class_columns = static_cast<double>(class_columns);
  work.entries = static_cast<double>(problem.loss.entries(problem.m));
  work.program = static_cast<double>(options.program_bytes);
  work.faces = !problem.loss.entropic() && !problem.loss.oracle;
  work.holds_dual = options.keep_dual || problem.loss.smoothing > 0.0;
  work.by_oracle = problem.loss.oracle != nullptr;
  work.threads = threads;
  work.workers = workers;
  work.fits = fits;
  return work;
}

double rows_bytes(const Workload& work) {
  return work.stored * (work.stored_number + (work.sparse ? sizeof(std::int32_t) : 0.0)) +
         (work.sparse ? sizeof(std::int64_t) * work.n : 0.0);
}

double standing_bytes(const Workload& work) {
  constexpr double row = 2.0 * sizeof(std::int32_t) + 2.0 * wide;
  return work.program + row * work.n;
}

namespace {

// A pass sums the weights of a window apart.
double window_bytes(const Workload& work) {
  return work.windows ? 2.0 * wide * work.m * work.D : 0.0;
}

}  // namespace

double training_bytes(const Workload& work, SolverName solver, bool gram) {
  const bool block = solver == SolverName::block;
  const double each =
      engine_bytes(work) + window_bytes(work) + (block ? block_bytes(work, gram) : batch_bytes(work, solver));
  return work.workers * each + (gram ? work.number * work.n * work.n : 0.0);
}

namespace {

constexpr double visits_per_row = 20.0;

double passes_of(SolverName solver) {
  switch (solver) {
    case SolverName::automatic:
    case SolverName::block:
      return visits_per_row;
    case SolverName::newton:
      return 15.0;
    case SolverName::apg:
      return 200.0;
    case SolverName::lsfw:
      return 1000.0;
    case SolverName::stdfw:
    case SolverName::pg:
      break;
  }
  return 5000.0;
}

}  // namespace

WindowPlan plan_windows(const Workload& work, SolverName solver, double memory) {
  Workload alone = work;
  alone.workers = alone.threads = 1;
  const double left = memory - standing_bytes(work) - training_bytes(alone, solver, false);
  const double row = std::max(1.0, rows_bytes(work) / std::max(1.0, work.n));
  // While a pass is at work a window's rows have duals of their own, up to three; or one, and a step on the face.
  const double duals = 3.0 * dual_bytes(work, entries_of(work)) / std::max(1.0, work.n) + 32.0,
               face = 100.0 * entries_of(work);
  WindowPlan out;
  out.bytes = std::max(0.0, 0.5 * left * row / (row + std::max(duals, face)));
  constexpr double disk = 1e9, most_visits = 4.0;  // bytes a second
  const Effort effort = expected_effort(alone, SolverName::block, false);
  const double visit = effort.seconds / (effort.passes * std::max(1.0, work.n));
  if (solver == SolverName::block) {
    out.visits = static_cast<std::int64_t>(std::clamp(std::round(row / disk / visit), 1.0, most_visits));
  }
  return out;
}

// The rates are those that bench/scores measured, steps on the face included; `product` is that of caltech101 at C = 1
// and 10.
Effort expected_effort(const Workload& work, SolverName solver, bool gram) {
  constexpr double visit = 1.2e-6, product = 5e-11, sparse_product = 2.3e-10;
  constexpr double block = 32.0;                     // weights mode: d (m + block) products a visit
  constexpr double sum = 1.6e-9, gathered = 3.9e-8;  // Gram mode: n sums for every changed class, m scores
  constexpr double gram_product = 1.2e-11;           // and n^2 d / 2 products once
  const double n = work.n, m = work.m, d = work.stored / std::max(1.0, n);
  if (solver == SolverName::block && gram) {
    return {visits_per_row, visits_per_row * n * (n * sum + m * gathered) + 0.5 * n * n * d * gram_product};
  }
  const double row = work.sparse ? visit + d * m * sparse_product : visit + d * (m + block) * product;
  const double passes = passes_of(solver);
  return {passes, passes * n * row};
}

}  // namespace topwolf
