// The contract between the solvers and whoever has the rows: where arrays live and who multiplies. Solvers see weights
// W on the host, scalars, and duals that only the engine that made them can look into; every verb is a whole pass over
// the rows or over a batch of them, and what it says about rows comes back as sums, so that it can be kept by a device
// or by a shard of rows elsewhere. Results do not depend on the number of threads.
//
// tests/contract holds every engine to this; tests/support/toy_engine.hpp is the shortest one.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/state.hpp"
#include "engine/problem.hpp"

namespace topwolf {

// The dual A (n x m), or the vertices U: few non-zeros in every row.
class Dual {
 public:
  virtual ~Dual() = default;
};

// ---- What comes back: sums over the examples, weighted by omega

// What a pass moves towards (ledger, F1 and F4).
enum class Direction {
  vertex,    // the Frank-Wolfe vertex at s, or at s + smoothing alpha
  gradient,  // minus the gradient of the loss: the vertex, or the projection when smoothed
};

struct PassSums {
  double phi = 0.0;          // loss, or envelope, at s
  double c_u = 0.0;          // <c, u>, and T H(beta) with softmax (L10), here and in every sum below
  double c_alpha = 0.0;      // <c, alpha>; this and what follows only when smoothed
  double alpha_norm2 = 0.0;  // ||alpha||^2
  double slope = 0.0;        // <u - alpha, c - s - smoothing alpha>
  double distance2 = 0.0;    // ||u - alpha||^2
};

// Where an accelerated step starts: A_mu = A + mu (A - A_old), which need not be feasible (ledger, A1).
struct Extrapolation {
  const Dual& A;
  const Dual& A_old;
  double mu;
};

// alpha is a row of A_next.
struct AscentSums {
  double phi = 0.0;          // loss, or envelope, at the scores of A_mu
  double c_alpha = 0.0;      // <c, alpha>
  double alpha_norm2 = 0.0;  // ||alpha||^2
  double distance2 = 0.0;    // ||alpha - alpha_mu||^2
};

struct DualSums {
  double c_alpha = 0.0;      // <c, alpha>
  double alpha_norm2 = 0.0;  // ||alpha||^2
};

// A sum, and what rounding can have done to it (G1). Weights and losses may both be tiny: their products need the range
// of a long double.
struct LossSum {
  long double sum = 0.0L;       // loss; the true one is at most this and ...
  long double rounding = 0.0L;  // ... this more
  long double least = 0.0L;     // the true one is at least this, where AtRows asked for it
};

// What a certificate must know about an A whose rows were measured and put into Q (L9). A row can still miss Q by
// rounding: divided by 1 + `over`, it has a point of Q nearby, and the sums are bounds for that point.
struct InsideSums {
  long double c_alpha = 0.0L;      // <c, alpha>, not above that of the point
  long double alpha_norm2 = 0.0L;  // ||alpha||^2, not below that of the point
  long double terms = 0.0L;        // ||psi||, with the offset, times the sum of |alpha|
  long double moved = 0.0L;        // the same times how far the point may be
  long double flushed = 0.0L;      // 1 + the same for every entry, not weighted: what an underflow can grow to
  double over = 0.0;
  std::int64_t worst_row = 0;  // that missed Q by the most before it was put there, ...
  double worst_miss = 0.0;     // ... in units of sum(rho)
};

// q_i = omega_i max_j ||psi(x_i, j)||^2 / (lambda N), L6.
struct Curvature {
  double largest = 0.0, total = 0.0;  // of the q_i, not weighted again
  double lengths = 0.0;               // sum of omega_i (max_j ||psi(x_i, j)|| + Geometry::offset), ...
  double plain_lengths = 0.0;         // ... and without omega
};

// What solvers must know about psi, the joint feature map. For the Kronecker map W is (m x D).
struct Geometry {
  std::int64_t dimension = 0;  // of W
  std::int64_t terms = 0;      // that a number of W(A) sums, at most
  double epsilon = 0.0;        // of the numbers that passes multiply
  // The products <psi(x_i, j), psi(x_i, j')> make a matrix whose norm is at most this times max_j ||psi(x_i, j)||^2.
  double coupling = 1.0;
  double growth = 1.0;  // what underflows on the way to W(A) becomes at most so many times as large, ||psi|| apart
  // What is multiplied on the way to a certificate is longer than psi by at most this: rows that have a mean are not
  // less it there (C1).
  double offset = 0.0;
};

// Thrown out of a pass that was asked to stop. Whoever called it finds everything as it was before the pass.
struct Stopped {};

// ---- Exact ascent, some rows at a time (B1, L6)

struct BlockOptions {
  std::uint64_t seed = 0;
  std::int64_t block_rows = 0;  // 0: what suits the engine
  bool accelerate = true;       // steps on the face
};

// Visits the rows of a dual in random order, epoch by epoch, and keeps what that takes: scores that follow the dual as
// it changes, each row's share of the gap as last seen (G2), and which rows rest because theirs is next to nothing.
class BlockAscent {
 public:
  virtual ~BlockAscent() = default;

  // A new run, of which nobody has seen a share. The working scores become so many times what they were; 0: those of
  // A = 0.
  virtual void begin(const BlockOptions& options, double scores_times) = 0;
  // The working scores drift by rounding; here they become those of W = W(A), computed elsewhere in double.
  virtual void reset(const std::vector<double>& W, const Dual& A) = 0;

  // A step in all free entries of A at once (B1), worth its while every so many epochs; 0: never. Returns what D
  // gained. Whatever `pause` throws between two products leaves everything as it was.
  virtual std::int64_t epochs_per_face_step() const { return 0; }
  virtual double face_step(Dual& /*A*/, const std::function<void()>& /*pause*/) { return 0.0; }

  // Chooses the rows of an epoch. Epochs are counted from 1.
  struct Epoch {
    std::int64_t rows = 0, resting = 0;
  };
  virtual Epoch begin_epoch(std::int64_t epoch) = 0;
  // Steps in the next rows of the epoch.
  struct Step {
    std::int64_t rows = 0;  // 0: the epoch is over
    double gain = 0.0;      // of D
    bool moved = false;
  };
  virtual Step step(Dual& A) = 0;

  // The gap as far as the shares tell; infinite before everybody was seen.
  virtual double gap() const = 0;
  // Nobody rests in the next epoch.
  virtual void wake() = 0;

  virtual void exchange(State& state) = 0;
};

// ---- Newton steps in W (N1)

// At W, where the loss is smoothed by `extra` more than the problem says; softmax needs none, and has none.
struct NewtonSums {
  double phi = 0.0;       // loss, or envelope, as the problem has it
  double smoothed = 0.0;  // with the extra smoothing
  double c_u = 0.0;       // <c, u>, u being minus the gradient of the latter
  double u_norm2 = 0.0;   // ||u||^2
};

// What an engine can say whose problem has few weights: matrices over all of them are dense.
class NewtonRows {
 public:
  virtual ~NewtonRows() = default;
  // One pass at W: scores, gradients u_i into U, W(U) into W_U, sums.
  virtual NewtonSums look(const std::vector<double>& W, double extra, Dual& U, std::vector<double>& W_U) = 0;
  // H (dimension x dimension, row by row) becomes minus the derivative of W(U) by W, as long as every u_i stays on its
  // face: its lower triangle, and what lies in the same m x m blocks. `smoothing` is that of U, in all.
  virtual void derivative(const Dual& U, double smoothing, std::vector<double>& H) = 0;
};

// ---- The engine

// Where the problem has a mean, W and psi are those of rows less it (C1), but in loss_sum, which a certificate rests
// on: its weights are those that a model stores, for rows as they are.
class Engine {
 public:
  Engine(const Problem& problem, const Geometry& geometry) : problem_(problem), geometry_(geometry) {}
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Problem& problem() const { return problem_; }
  const Geometry& geometry() const { return geometry_; }
  // The same rows and labels with another lambda, loss, margins or example weights.
  virtual void set_problem(const Problem& problem) { problem_ = problem; }

  // Who is asked, many times within a pass, whether to stop; none: nobody.
  virtual void set_should_stop(std::function<bool()> should_stop) { should_stop_ = std::move(should_stop); }
  void stop_if_asked() const {
    if (should_stop_ && should_stop_()) throw Stopped{};
  }

  // One pass at W: scores, directions u_i, W(U) into W_U, sums. A is needed with smoothing; U, where given, receives
  // the directions.
  virtual PassSums pass(const std::vector<double>& W, Direction direction, const Dual* A, Dual* U,
                        std::vector<double>& W_U) = 0;

  // A1. One projected gradient step of length 1 / (q + smoothing) from A_mu, at W = W(A_mu): A_next, W(A_next) into
  // W_next, sums.
  virtual AscentSums ascend(const std::vector<double>& W, const Extrapolation& A_mu, double q, Dual& A_next,
                            std::vector<double>& W_next) = 0;

  // What a pass at W in double can say besides the loss, where it is asked for.
  struct AtRows {
    const Dual* A = nullptr;
    BlockAscent* ascent = nullptr;               // of this engine: sees the shares of the gap (G2) at W and A
    std::vector<std::int32_t>* ranks = nullptr;  // how many classes come before each example's own; also of weight 0
    bool least = false;                          // LossSum::least, too
  };
  // sum_i omega_i Phi(s_i) (the envelope when smoothed) with scores in double, at the weights of a model. Not a number
  // where a score overflows.
  virtual LossSum loss_sum(const std::vector<double>& W, const AtRows& wanted) = 0;
  LossSum loss_sum(const std::vector<double>& W) { return loss_sum(W, AtRows{}); }
  // The same at W = 0, without the scores; not rounded down.
  virtual long double loss_sum_at_zero() = 0;

  // W(A) = sum_i omega_i sum_j alpha_ij psi(x_i, j) / (lambda N), D2, in double.
  virtual void weights_of(const Dual& A, std::vector<double>& W) = 0;

  // W rounded to the precision in which the engine multiplies and a model stores it.
  virtual void round_weights(std::vector<double>& W) const = 0;

  virtual Curvature curvature() = 0;

  // The one ascent that the engine has room for; its working scores outlive a run, so that the next can begin with
  // them.
  virtual BlockAscent& block_ascent() = 0;

  // Null where there are none: classes that share weights, or a psi of one's own.
  virtual NewtonRows* newton() { return nullptr; }

  // ---- Duals

  virtual std::unique_ptr<Dual> make_dual() = 0;                           // A = 0
  virtual void mix(double of_U, const Dual& U, double of_A, Dual& A) = 0;  // A becomes of_U U + of_A A
  virtual void scale(double t, Dual& A) = 0;                               // A becomes t A
  virtual DualSums sums(const Dual& A) = 0;
  virtual InsideSums put_inside(Dual& A) = 0;                 // L9
  virtual void project(const SparseRows& rows, Dual& A) = 0;  // A becomes the nearest point of Q (L5)
  virtual SparseRows rows_of(const Dual& A) = 0;
  virtual void exchange(State& state, std::string_view name, Dual& A) = 0;

 protected:
  Problem problem_;

 private:
  const Geometry geometry_;
  std::function<bool()> should_stop_;
};

}  // namespace topwolf
