// What engines share whose rows and duals are in the memory of this process: everything that needs no scores, and block
// ascent from the scores of a few rows at a time.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "engine/engine.hpp"
#include "engine/host/block_ascent.hpp"
#include "engine/host/dual.hpp"
#include "engine/host/row_pass.hpp"

namespace topwolf {

class HostEngine : public Engine, public NewtonRows {
 public:
  // lengths2: max_j ||psi(x_i, j)||^2 of every example. Many engines on the same rows can share them.
  HostEngine(const Problem& problem, const Geometry& geometry, SharedLengths lengths2, int threads);
  HostEngine(const Problem& problem, const Geometry& geometry, std::vector<double> lengths2, int threads)
      : HostEngine(problem, geometry, share(std::move(lengths2)), threads) {}

  using Engine::loss_sum;
  long double loss_sum_at_zero() override;
  Curvature curvature() override;
  BlockAscent& block_ascent() override;

  // Where its rows are some of those of an engine whose ascent sees their shares: which one is the first.
  void set_first_row(std::int64_t first) { first_row_ = first; }

  // N1, where classes have weights of their own, and the loss has faces. By the other verbs, in two passes: an engine
  // that knows a row's scores makes do with one.
  NewtonRows* newton() override { return shares_weights() || problem_.loss.oracle ? nullptr : this; }
  NewtonSums look(const std::vector<double>& W, double extra, Dual& U, std::vector<double>& W_U) override;
  void derivative(const Dual& U, double smoothing, std::vector<double>& H) override;

  std::unique_ptr<Dual> make_dual() override { return std::make_unique<HostDual>(problem_.n); }
  void mix(double of_U, const Dual& U, double of_A, Dual& A) override;
  void scale(double t, Dual& A) override;
  DualSums sums(const Dual& A) override;
  InsideSums put_inside(Dual& A) override {
    bool changed = false;
    return put_rows_inside(topwolf::on_host(A), changed);
  }
  void project(const SparseRows& rows, Dual& A) override;
  SparseRows rows_of(const Dual& A) override;
  void exchange(State& state, std::string_view name, Dual& A) override {
    topwolf::exchange(state, name, on_host(A), problem_.m);
  }

 protected:
  // `changed`: whether a row was not there before.
  InsideSums put_rows_inside(HostDual& A, bool& changed);

  // Asked for by block_ascent(), unless that is another.
  virtual std::unique_ptr<BlockScores> make_block_scores();
  // Whether psi is another than the Kronecker map of the problem's rows.
  virtual bool shares_weights() const { return false; }

  // G2: the ascent sees the share of example i at scores s.
  void see_share(BlockAscent& ascent, std::int64_t i, const double* s, const Dual& A, RowSpace& space) const;

  const std::vector<double>& lengths2() const { return *lengths2_; }
  double length2(std::int64_t i) const { return (*lengths2_)[static_cast<std::size_t>(i)]; }
  // No vector that is multiplied for example i is longer.
  double reach(std::int64_t i) const { return std::sqrt(length2(i)) + geometry().offset; }
  int threads() const { return threads_; }

 private:
  bool put_row_inside(std::int64_t i, HostDual& A, RowSpace& space, InsideSums& out) const;

  // body(i, space) for all rows, on all threads.
  template <class Body>
  void for_rows(const Body& body) const;

  const SharedLengths lengths2_;
  const int threads_;
  std::int64_t first_row_ = 0;
  std::unique_ptr<HostBlockAscent> ascent_;
};

}  // namespace topwolf
