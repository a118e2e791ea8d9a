#include "solve/method.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/memory.hpp"
#include "solve/apg.hpp"
#include "solve/batch.hpp"
#include "solve/block.hpp"

namespace topwolf {
namespace {

// What either representation should cost, in seconds. The rates are those that bench/scores measured with two threads,
// steps on the face included.
struct Costs {
  double weights, gram;
};

Costs expected_costs(const Problem& problem) {
  constexpr double visits_per_row = 20.0;
  constexpr double visit = 1.2e-6, product = 4.6e-11;     // weights mode: d (m + block) products a visit
  constexpr double sum = 1.6e-9, gathered = 3.9e-8;       // Gram mode: n sums for every changed class, m scores
  constexpr double gram_product = 1.2e-11, block = 32.0;  // and n^2 d / 2 products once
  const auto n = static_cast<double>(problem.n), m = static_cast<double>(problem.m), d = static_cast<double>(problem.d);
  return {visits_per_row * n * (visit + d * (m + block) * product),
          visits_per_row * n * (n * sum + m * gathered) + 0.5 * n * n * d * gram_product};
}

// What block ascent keeps: A and the vectors of a step on the face, some 100 bytes an entry, and six copies of W while
// it certifies. An example has about twice K entries and a few.
double block_bytes(const Problem& problem) {
  const double entries = 8.0 + 2.0 * static_cast<double>(problem.loss.K());
  constexpr double entry = 100.0, copies = 6.0;
  return entry * entries * static_cast<double>(problem.n) +
         copies * 8.0 * static_cast<double>(problem.m) * static_cast<double>(problem.D());
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
  const double bytes = problem.X.index() % 2 == 0 ? 4.0 : 8.0;
  // The matrix, as much again for its parts in a step on the face, and the scores.
  const double gram_bytes = static_cast<double>(problem.n) * static_cast<double>(2 * problem.n + problem.m) * bytes;
  if (gram_bytes > 0.25 * physical_memory()) {
    why = fmt::format("the Gram matrix would take {:.1f} GB", gram_bytes / 1e9);
    return false;
  }
  const auto [weights, gram] = expected_costs(problem);
  why = fmt::format("expected to take {:.2g} s rather than {:.2g} s", std::min(weights, gram), std::max(weights, gram));
  return gram < weights;
}

}  // namespace

Method make_method(const Problem& problem, const TrainOptions& options, Engine& engine, int threads) {
  Method method;
  const bool too_large = options.solver == SolverName::automatic && options.scores == ScoresName::automatic &&
                         block_bytes(problem) > 0.8 * physical_memory();
  if (options.solver == SolverName::block || (options.solver == SolverName::automatic && !too_large)) {
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
  method.name = to_string(options.solver == SolverName::automatic ? SolverName::lsfw : options.solver);
  method.choice = too_large
                      ? fmt::format("{}: block ascent would take {:.1f} GB", method.name, block_bytes(problem) / 1e9)
                      : fmt::format("{}: as asked", method.name);
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
