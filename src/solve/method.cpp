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

bool choose_gram(const Problem& problem, ScoresName asked, int workers, std::string& why) {
  if (asked != ScoresName::automatic) {
    why = "as asked";
    return asked == ScoresName::gram;
  }
  if (problem.X.index() >= 2) {
    why = "sparse rows make cheap products";
    return false;
  }
  const double bytes = problem.X.index() % 2 == 0 ? 4.0 : 8.0;
  // The matrix, and for each worker as much again for its parts in a step on the face, and the scores.
  const double n = static_cast<double>(problem.n), m = static_cast<double>(problem.m);
  const double gram_bytes = n * (n + workers * (n + m)) * bytes;
  if (gram_bytes > 0.25 * physical_memory()) {
    why = fmt::format("the Gram matrix would take {:.1f} GB", gram_bytes / 1e9);
    return false;
  }
  const auto [weights, gram] = expected_costs(problem);
  why = fmt::format("expected to take {:.2g} s rather than {:.2g} s", std::min(weights, gram), std::max(weights, gram));
  return gram < weights;
}

}  // namespace

Method choose_method(const Problem& problem, const TrainOptions& options, int workers) {
  Method method;
  const double need = workers * block_bytes(problem);
  const bool too_large = options.solver == SolverName::automatic && options.scores == ScoresName::automatic &&
                         need > 0.8 * physical_memory();
  method.solver = options.solver != SolverName::automatic ? options.solver
                  : too_large                             ? SolverName::lsfw
                                                          : SolverName::block;
  method.name = to_string(method.solver);
  if (method.solver == SolverName::block) {
    std::string why;
    method.gram = choose_gram(problem, options.scores, workers, why);
    method.choice =
        fmt::format("block ascent with scores from the {}: {}", method.gram ? "Gram matrix" : "weights", why);
  } else {
    method.choice = too_large ? fmt::format("{}: block ascent would take {:.1f} GB", method.name, need / 1e9)
                              : fmt::format("{}: as asked", method.name);
  }
  return method;
}

std::unique_ptr<Solver> make_solver(const Method& method, const Problem& problem, const TrainOptions& options,
                                    Engine& engine, BlockScores* scores, int threads) {
  if (method.solver == SolverName::block) {
    BlockOptions block;
    block.seed = options.seed;
    return make_block_solver(problem, engine, *scores, block, threads);
  }
  if (method.solver == SolverName::apg) return make_apg_solver(problem, engine, threads);
  BatchOptions batch = method.solver == SolverName::stdfw ? stdfw_options
                       : method.solver == SolverName::pg  ? pg_options
                                                          : lsfw_options;
  batch.keep_dual = options.keep_dual;
  batch.threads = threads;
  return make_batch_solver(problem, engine, batch);
}

}  // namespace topwolf
