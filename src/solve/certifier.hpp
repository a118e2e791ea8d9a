// The one place where a certificate is made (G1): the primal of weights as a model stores them, rounded up, and the
// dual of rows that were measured and put into Q, rounded down. It begins with W = 0, so that the best weights are
// never worse than none.
#pragma once

#include <vector>

#include "solve/objective.hpp"
#include "topwolf/result.hpp"

namespace topwolf {

class Certifier {
 public:
  // Throws Error{data} where not even W = 0 has an objective that is a number.
  explicit Certifier(Engine& engine);

  // Certifies W, as a model stores it, and keeps it if it is the best so far. What else is wanted of the rows at W is
  // told as well.
  void offer_weights(std::vector<double> W, const Engine::AtRows& wanted = {});

  // Puts every row of A into Q; W becomes W(A), in double. Returns a number that D(A) is not below, or minus infinity.
  double certify_dual(Dual& A, std::vector<double>& W);

  // The best weights against this dual. A dual above the primal is a defect and thrown as one: Error{internal}.
  Certificate certificate(double dual) const;

  void exchange(State& state);

  const std::vector<double>& weights() const { return W_; }
  double primal() const { return primal_; }
  const std::vector<std::int32_t>& ranks() const { return ranks_; }  // of the examples' own classes at these weights

 private:
  void keep_if_better(std::vector<double>& W, Engine::AtRows wanted);

  Engine& engine_;
  std::vector<double> W_;
  double primal_ = 0.0;
  std::vector<std::int32_t> ranks_;
  bool nothing_better_ = true;  // than W = 0, so far
  std::int64_t worst_row_ = 0;  // that missed Q by the most
  double worst_miss_ = 0.0;
};

}  // namespace topwolf
