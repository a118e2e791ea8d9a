// The best weights that were certified: rounded as a model stores them, their primal in double (G1).
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "solve/objective.hpp"

namespace topwolf {

class CertifiedWeights {
 public:
  CertifiedWeights(const Problem& problem, Engine& engine) : problem_(problem), engine_(engine) {}

  // Certifies W and keeps it if it is the best so far; with A also the shares of the gap (G2) at W.
  void offer(std::vector<double> W, const DualRows* A = nullptr, std::vector<double>* shares = nullptr) {
    engine_.round_weights(W);
    std::vector<std::int32_t> ranks;
    const double primal = primal_value(problem_, squared_norm(W), engine_.loss_sum(W, {A, shares, &ranks}));
    if (!W_.empty() && !(primal < primal_ || std::isnan(primal_))) return;
    primal_ = primal;
    W_ = std::move(W);
    ranks_ = std::move(ranks);
  }

  void exchange(State& state) {
    state("certified_weights", W_, {0, engine_.geometry().dimension});
    state("certified_primal", primal_);
    state("certified_ranks", ranks_, {0, problem_.n});
  }

  const std::vector<double>& weights() const { return W_; }  // empty until something was offered
  double primal() const { return primal_; }
  const std::vector<std::int32_t>& ranks() const { return ranks_; }  // of the examples' own classes at these weights

 private:
  const Problem& problem_;
  Engine& engine_;
  std::vector<double> W_;
  double primal_ = 0.0;
  std::vector<std::int32_t> ranks_;
};

}  // namespace topwolf
