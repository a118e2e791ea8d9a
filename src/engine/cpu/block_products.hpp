// Block scores from the features. Two representations behind one interface. Weights: W is kept, a block's scores are a
// product. Gram: all scores and X X^T are kept, a block's scores are read.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "engine/host/block_scores.hpp"

namespace topwolf {

// G = X X^T (n x n), constant feature included, in the precision of the features. Depends on the rows alone, so that
// many problems can share it.
struct Gram {
  std::variant<std::vector<float>, std::vector<double>> values;
};
// It may take long: whatever `pause`, called now and then, throws ends it.
using Pause = std::function<void()>;
std::shared_ptr<const Gram> make_gram(const Problem& problem, int threads, const Pause& pause = {});

// The problem and the rows' squared lengths must outlive the scores.
std::unique_ptr<BlockScores> make_weights_scores(const Problem& problem, const std::vector<double>& lengths2,
                                                 int threads);
// Without a Gram matrix they make their own, when they are first asked for scores.
std::unique_ptr<BlockScores> make_gram_scores(const Problem& problem, std::shared_ptr<const Gram> gram, int threads,
                                              Pause pause);

}  // namespace topwolf
