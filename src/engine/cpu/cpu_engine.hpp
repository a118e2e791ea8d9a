// The engines on this machine's cores, by the map psi that they are for, and the block scores that they are made with.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "engine/cpu/class_map.hpp"
#include "engine/engine.hpp"
#include "engine/host/block_scores.hpp"
#include "topwolf/joint.hpp"

namespace topwolf {

// ---- Block scores from the features, in one of two representations. Weights: W is kept, a block's scores are a
// product. Gram: all scores and X X^T are kept, a block's scores are read.

// G = X X^T (n x n), constant feature included and less the mean, in the precision that is computed with. Depends on
// the rows alone, so that many problems can share it.
struct Gram {
  std::variant<std::vector<float>, std::vector<double>> values;
};
// It may take long: whatever `pause`, called now and then, throws ends it.
using Pause = std::function<void()>;
std::shared_ptr<const Gram> make_gram(const Problem& problem, int threads, const Pause& pause = {});

// Of the n rows of a problem with m classes, how many step at once at most in weights mode: so few that an epoch is
// many batches and their scores stay in a cache.
std::int64_t most_rows_of_batch(std::int64_t n, std::int64_t m);

// Where a problem's rows are some of many: how many there are, and the lengths of all. How many step at once, and
// whether they are copied less their mean, follows from these.
struct AmongRows {
  std::int64_t n = 0;
  const std::vector<double>& lengths2;
};

// The problem and the rows' squared lengths must outlive the scores.
std::unique_ptr<BlockScores> make_weights_scores(const Problem& problem, const std::vector<double>& lengths2,
                                                 int threads, const AmongRows& all);
inline std::unique_ptr<BlockScores> make_weights_scores(const Problem& problem, const std::vector<double>& lengths2,
                                                        int threads) {
  return make_weights_scores(problem, lengths2, threads, {problem.n, lengths2});
}
// Without a Gram matrix they make their own, when they are first asked for scores.
std::unique_ptr<BlockScores> make_gram_scores(const Problem& problem, std::shared_ptr<const Gram> gram, int threads,
                                              Pause pause);

// ---- Engines

// Whether block ascent has its scores from a Gram matrix, and from which; null: from one of its own.
struct GramChoice {
  bool wanted = false;
  std::shared_ptr<const Gram> shared{};
};

// psi(x, j) = e_j (x) x. lengths2: ||x_i||^2 of the rows, here and below.
std::unique_ptr<Engine> make_cpu_engine(const Problem& problem, const GramChoice& gram, SharedLengths lengths2,
                                        int threads);

// psi(x, j) = phi_j (x) x: the plain engine with phi around it, so that W stands for V (p x D) in all verbs.
std::unique_ptr<Engine> make_class_engine(const Problem& problem, std::shared_ptr<const ClassMap> map,
                                          const GramChoice& gram, SharedLengths lengths2, int threads);

// Any psi. Throws Error{data} where one of its vectors is not finite or too long to be squared.
std::unique_ptr<Engine> make_joint_engine(const Problem& problem, const JointMap& psi, int threads);

}  // namespace topwolf
