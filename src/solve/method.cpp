#include "solve/method.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "solve/apg.hpp"
#include "solve/batch.hpp"
#include "solve/block.hpp"

namespace topwolf {
namespace {

// What either representation should cost, in nanoseconds. Weights mode multiplies d x m numbers a visit; Gram mode adds
// n numbers per changed class and visit, after n^2 d / 2 products once. The rates are rough figures for two cores.
struct Costs {
  double weights, gram;
};

Costs expected_costs(const Problem& problem) {
  constexpr double visits_per_row = 20.0, changed_classes = 8.0;
  constexpr double product = 1.0 / 60.0, sum = 1.0 / 4.0;
  constexpr double block = 32.0;  // the block's own inner products
  const auto n = static_cast<double>(problem.n), m = static_cast<double>(problem.m), d = static_cast<double>(problem.d);
  return {visits_per_row * n * d * (m + block) * product,
          0.5 * n * n * d * product + visits_per_row * n * n * changed_classes * sum};
}

bool choose_gram(const Problem& problem, ScoresName asked, std::string& why) {
  if (asked != ScoresName::automatic) {
    why = "as asked";
    return asked == ScoresName::gram;
  }
  if (problem.X.index() >= 2) {
    why = "sparse rows make cheap products";
    return false;
  }
  constexpr double memory_limit = 2e9;  // bytes
  const double gram_bytes = static_cast<double>(problem.n) * static_cast<double>(problem.n) * 4.0;
  if (gram_bytes > memory_limit) {
    why = fmt::format("the Gram matrix would take {:.1f} GB", gram_bytes / 1e9);
    return false;
  }
  const auto [weights, gram] = expected_costs(problem);
  why = fmt::format("expected to take {:.2g} s rather than {:.2g} s", std::min(weights, gram) / 1e9,
                    std::max(weights, gram) / 1e9);
  return gram < weights;
}

}  // namespace

Method make_method(const Problem& problem, const TrainOptions& options, Engine& engine, int threads) {
  Method method;
  if (options.solver == SolverName::automatic || options.solver == SolverName::block) {
    std::string why;
    const bool gram = choose_gram(problem, options.scores, why);
    method.scores = gram ? make_gram_scores(problem, threads) : make_weights_scores(problem, threads);
    BlockOptions block;
    block.seed = options.seed;
    method.solver = make_block_solver(problem, engine, *method.scores, block, threads);
    method.name = to_string(SolverName::block);
    method.choice = fmt::format("block ascent with scores from the {}: {}", gram ? "Gram matrix" : "weights", why);
    return method;
  }
  method.name = to_string(options.solver);
  method.choice = fmt::format("{}: as asked", method.name);
  if (options.solver == SolverName::apg) {
    method.solver = make_apg_solver(problem, engine, threads);
    return method;
  }
  BatchOptions batch = options.solver == SolverName::stdfw ? stdfw_options
                       : options.solver == SolverName::pg  ? pg_options
                                                           : lsfw_options;
  batch.keep_dual = options.keep_dual;
  batch.threads = threads;
  method.solver = make_batch_solver(problem, engine, batch);
  return method;
}

}  // namespace topwolf
