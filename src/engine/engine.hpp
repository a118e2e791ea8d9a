// Where the arrays live and who multiplies: the few coarse verbs a solver needs, each a whole pass over the rows.
// The results do not depend on the number of threads.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/state.hpp"
#include "engine/problem.hpp"

namespace topwolf {

// The dual A (n x m) or the vertices U, one sparse row per example.
using DualRows = std::vector<SparseRow>;

// n rows over m classes, or none.
void exchange(State& state, std::string_view name, DualRows& A, std::int64_t n, std::int64_t m);

// What a pass moves towards (docs/maths.md, F1 and F4).
enum class Direction {
  vertex,    // the Frank-Wolfe vertex at s, or at s + smoothing alpha
  gradient,  // minus the gradient of the loss: the vertex, or the projection when smoothed
};

// Sums over the examples, weighted by omega.
struct PassSums {
  double phi = 0.0;          // loss, or envelope, at s
  double c_u = 0.0;          // <c, u>
  double c_alpha = 0.0;      // <c, alpha>; this and what follows only where A is given
  double alpha_norm2 = 0.0;  // ||alpha||^2
  double slope = 0.0;        // <u - alpha, c - s - smoothing alpha>
  double distance2 = 0.0;    // ||u - alpha||^2
};

// Where an accelerated step starts: V = A + mu (A - A_old), which need not be feasible (docs/maths.md, A1).
struct Extrapolation {
  const DualRows& A;
  const DualRows& A_old;
  double mu;
};

// Sums over the examples, weighted by omega; alpha is a row of A_next.
struct AscentSums {
  double phi = 0.0;          // loss, or envelope, at the scores of V
  double c_alpha = 0.0;      // <c, alpha>
  double alpha_norm2 = 0.0;  // ||alpha||^2
  double distance2 = 0.0;    // ||alpha - v||^2
};

// A sum over the examples, weighted by omega, and what rounding can have done to it (docs/maths.md, G1).
struct LossSum {
  double sum = 0.0;       // loss; the true one is at most this and ...
  double rounding = 0.0;  // ... this more
};

// What solvers must know about psi, the joint feature map. For the Kronecker map W is (m x D) and ||psi|| = ||x||.
struct Geometry {
  std::int64_t dimension = 0;    // of W
  std::int64_t terms = 0;        // that a number of W(A) sums, at most
  double epsilon = 0.0;          // of the numbers that passes multiply
  std::vector<double> lengths2;  // max_j ||psi(x_i, j)||^2 of every example
  // The products <psi(x_i, j), psi(x_i, j')> make a matrix whose norm is at most this times lengths2.
  double coupling = 1.0;
};

// Thrown out of a pass that was asked to stop. Whoever called it finds everything as it was before the pass.
struct Stopped {};

class Engine {
 public:
  explicit Engine(Geometry geometry) : geometry_(std::move(geometry)) {}
  virtual ~Engine() = default;

  const Geometry& geometry() const { return geometry_; }

  // Who is asked, many times within a pass, whether to stop; none: nobody.
  virtual void set_should_stop(std::function<bool()> should_stop) { should_stop_ = std::move(should_stop); }
  void stop_if_asked() const {
    if (should_stop_ && should_stop_()) throw Stopped{};
  }

  // One pass at W: scores, directions u_i, W(U) into W_U, sums. A is needed with smoothing; U, where
  // given, receives the directions.
  virtual PassSums pass(const std::vector<double>& W, Direction direction, const DualRows* A, DualRows* U,
                        std::vector<double>& W_U) = 0;

  // A1. One projected gradient step of length 1 / (q + smoothing) from V, at W = W(V): A_next, W(A_next) into W_next,
  // sums.
  virtual AscentSums ascend(const std::vector<double>& W, const Extrapolation& V, double q, DualRows& A_next,
                            std::vector<double>& W_next) = 0;

  // What a pass at W in double can say besides the loss, where it is asked for.
  struct AtRows {
    const DualRows* A = nullptr;
    std::vector<double>* shares = nullptr;       // each example's share of the gap (G2), with A
    std::vector<std::int32_t>* ranks = nullptr;  // how many classes come before each example's own
  };
  // sum_i omega_i Phi(s_i) (the envelope when smoothed) with scores in double. Rows of weight 0 have ranks too. Not a
  // number where a score overflows.
  virtual LossSum loss_sum(const std::vector<double>& W, const AtRows& wanted) = 0;
  LossSum loss_sum(const std::vector<double>& W) { return loss_sum(W, AtRows{}); }

  // W(A) = sum_i omega_i sum_j alpha_ij psi(x_i, j) / (lambda N), D2, in double.
  virtual void weights_of(const DualRows& A, std::vector<double>& W) = 0;

  // W rounded to the precision in which the engine multiplies and a model stores it.
  virtual void round_weights(std::vector<double>& W) const = 0;

 private:
  const Geometry geometry_;
  std::function<bool()> should_stop_;
};

// The problem must outlive the engine; its lambda, loss and margins may change meanwhile.
std::unique_ptr<Engine> make_cpu_engine(const Problem& problem, int threads);

}  // namespace topwolf
