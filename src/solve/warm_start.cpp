#include "solve/warm_start.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "solve/objective.hpp"

namespace topwolf {
namespace {

// Q depends on the family, rho and y alone: rows of a run that had the same come back as they were.
DualRows project_rows(const Problem& problem, const SparseRows& earlier, int threads) {
  constexpr std::int64_t piece = 256;
  DualRows A(static_cast<std::size_t>(problem.n));
  parallel_for((problem.n + piece - 1) / piece, threads, [&](std::int64_t part) {
    RowScratch scratch;
    std::vector<double> a(static_cast<std::size_t>(problem.m), 0.0);
    for (std::int64_t i = part * piece; i < std::min(problem.n, (part + 1) * piece); ++i) {
      const auto begin = static_cast<std::size_t>(earlier.row_begin[static_cast<std::size_t>(i)]);
      const auto end = static_cast<std::size_t>(earlier.row_begin[static_cast<std::size_t>(i) + 1]);
      if (begin == end || !(problem.weight(i) > 0.0)) continue;
      for (std::size_t e = begin; e < end; ++e) a[static_cast<std::size_t>(earlier.column[e])] = earlier.values[e];
      project(problem.loss, a.data(), problem.m, problem.label(i), A[static_cast<std::size_t>(i)], scratch);
      for (std::size_t e = begin; e < end; ++e) a[static_cast<std::size_t>(earlier.column[e])] = 0.0;
    }
  });
  return A;
}

// D3. t A is feasible for t in [0, 1] because 0 is; this t maximises D(t A).
double best_scale(const Problem& problem, const DualRows& A, const std::vector<double>& W) {
  const DualSums sums = dual_sums(problem, A);
  const double curvature = problem.lambda * problem.N * squared_norm(W) + problem.loss.smoothing * sums.alpha_norm2;
  return curvature > 0.0 ? std::clamp(sums.c_alpha / curvature, 0.0, 1.0) : 1.0;
}

double scale_best(const Problem& problem, Engine& engine, DualRows& A) {
  std::vector<double> W;
  engine.weights_of(A, W);
  const double t = best_scale(problem, A, W);
  for (SparseRow& alpha : A) {
    for (Entry& entry : alpha) entry.value *= t;
  }
  return t;
}

}  // namespace

Start warm_start(const Problem& problem, Engine& engine, const SparseRows& earlier, int threads) {
  Start start{project_rows(problem, earlier, threads)};
  scale_best(problem, engine, start.A);
  return start;
}

Start continue_from(const Problem& problem, Engine& engine, DualRows A, double earlier_lambda) {
  Start start{std::move(A)};
  const double t = scale_best(problem, engine, start.A);
  start.scores_times = t * earlier_lambda / problem.lambda;
  return start;
}

}  // namespace topwolf
