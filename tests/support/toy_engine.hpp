// The shortest engine there can be: rows in double, plain loops, one thread. CONTRIBUTING explains it to whoever wants
// to add a backend.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/length.hpp"
#include "engine/factory.hpp"
#include "engine/host/engine.hpp"
#include "engine/host/row_pass.hpp"

namespace topwolf::testing {

using Weights = std::vector<double>;

// The rows, and their two products with weights W (m x D).
struct ToyRows {
  std::int64_t n, m, D;
  Weights x;  // (n x D), less the mean of the rows where there is one, the constant feature included

  explicit ToyRows(const Problem& problem, const SharedMean& mean) : n(problem.n), m(problem.m), D(problem.D()) {
    const auto& X = std::get<DenseView<double>>(problem.X);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t f = 0; f < X.cols; ++f) {
        x.push_back(X.data[i * X.stride + f] - (mean ? (*mean)[static_cast<std::size_t>(f)] : 0.0));
      }
      if (problem.bias.given()) x.push_back(problem.bias.value());
    }
  }
  double dot(std::int64_t i, const double* w) const {
    double sum = 0.0;
    for (std::int64_t f = 0; f < D; ++f) sum += x[static_cast<std::size_t>(i * D + f)] * w[f];
    return sum;
  }
  Weights lengths2() const {
    Weights out;
    for (std::int64_t i = 0; i < n; ++i) out.push_back(dot(i, x.data() + i * D));
    return out;
  }
  Weights scores(std::int64_t i, const Weights& W) const {
    Weights s;
    for (std::int64_t j = 0; j < m; ++j) s.push_back(dot(i, W.data() + j * D));
    return s;
  }
  // W += factor alpha x_i^T.
  void add(std::int64_t i, RowView alpha, double factor, Weights& W) const {
    for (const auto& [j, value] : alpha) {
      for (std::int64_t f = 0; f < D; ++f) {
        W[static_cast<std::size_t>(j * D + f)] += factor * value * x[static_cast<std::size_t>(i * D + f)];
      }
    }
  }
};

// The scores of one row at a time, for block ascent.
class ToyScores final : public BlockScores {
 public:
  ToyScores(const Problem& problem, const ToyRows& rows)
      : problem_(problem), rows_(rows), W_(static_cast<std::size_t>(rows.m * rows.D), 0.0) {}

  std::int64_t group_rows() const override { return 1; }
  void load(std::span<const std::int64_t> rows, std::int64_t, Weights& S, Weights& G) override {
    S = rows_.scores(rows[0], W_);
    G.assign(1, rows_.dot(rows[0], rows_.x.data() + rows[0] * rows_.D));
  }
  double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) override {
    rows_.add(rows[0], change[0], times * problem_.factor(rows[0]), W_);
    return 0.0;  // asked for only where several rows step at once
  }
  void reset(const Weights& W, const Dual&) override { W_ = W; }
  void scale(double factor) override {
    for (double& w : W_) w = factor == 0.0 ? 0.0 : factor * w;
  }
  void exchange(State& state) override { state("scores", W_, {rows_.m * rows_.D}); }

 private:
  const Problem& problem_;
  const ToyRows& rows_;
  Weights W_;
};

class ToyEngine final : public HostEngine {
 public:
  ToyEngine(const Problem& problem, ToyRows rows)
      : HostEngine(problem, geometry_of(problem, rows), rows.lengths2(), 1),
        rows_(std::move(rows)),
        as_they_are_(problem, nullptr) {}

  PassSums pass(const Weights& W, Direction direction, const Dual* A, Dual* U, Weights& W_U) override {
    PassSums sums;
    W_U = zero();
    for (std::int64_t i = 0; i < rows_.n; ++i) {
      stop_if_asked();
      Weights s = rows_.scores(i, W);
      pass_row(problem_, i, s.data(), direction, A ? on_host(*A)[i] : RowView(), space_, sums);
      rows_.add(i, space_.u, problem_.factor(i), W_U);
      if (U) on_host(*U).assign(i, space_.u);
    }
    return sums;
  }

  AscentSums ascend(const Weights& W, const Extrapolation& A_mu, double q, Dual& A_next, Weights& W_next) override {
    AscentSums sums;
    SparseRow next;
    W_next = zero();
    for (std::int64_t i = 0; i < rows_.n; ++i) {
      stop_if_asked();
      const Weights s = rows_.scores(i, W);
      ascend_row(problem_, i, s.data(), on_host(A_mu.A)[i], on_host(A_mu.A_old)[i], A_mu.mu, q, next, space_, sums);
      rows_.add(i, next, problem_.factor(i), W_next);
      on_host(A_next).assign(i, next);
    }
    return sums;
  }

  using Engine::loss_sum;
  LossSum loss_sum(const Weights& W, const AtRows& wanted) override {
    LossSum sums;
    if (wanted.ranks) wanted.ranks->clear();
    const double norm = std::sqrt(std::inner_product(W.begin(), W.end(), W.begin(), 0.0));
    for (std::int64_t i = 0; i < rows_.n; ++i) {
      const Weights s = as_they_are_.scores(i, W);  // W is a model's
      const double w = problem_.weight(i), far = reach(i) * norm, e = 1e-15 * static_cast<double>(rows_.n);
      const LossSum row = certified_row(problem_, i, s.data(), far, rows_.D, space_, wanted.least);
      add({w * row.sum, w * (row.rounding + e * row.sum), w * (1.0 - e) * row.least}, sums);
      if (wanted.ranks) wanted.ranks->push_back(rank(s.data(), rows_.m, problem_.label(i)));
      if (wanted.ascent) see_share(*wanted.ascent, i, s.data(), *wanted.A, space_);
    }
    return sums;
  }

  void weights_of(const Dual& A, Weights& W) override {
    W = zero();
    for (std::int64_t i = 0; i < rows_.n; ++i) rows_.add(i, on_host(A)[i], problem_.factor(i), W);
  }
  void round_weights(Weights&) const override {}  // double is what it multiplies

 protected:
  std::unique_ptr<BlockScores> make_block_scores() override { return std::make_unique<ToyScores>(problem_, rows_); }

 private:
  // Sums are over rows less their mean, each rounded once more.
  static Geometry geometry_of(const Problem& problem, const ToyRows& rows) {
    Geometry out{rows.m * rows.D, rows.n, std::numeric_limits<double>::epsilon()};
    if (problem.mean) out.offset = 3.0 * length(*problem.mean);
    return out;
  }
  Weights zero() const { return Weights(static_cast<std::size_t>(geometry().dimension), 0.0); }

  const ToyRows rows_, as_they_are_;
  RowSpace space_;
};

inline std::unique_ptr<Engine> make_toy_engine(const Problem& problem, const EngineOptions&) {
  return std::make_unique<ToyEngine>(problem, ToyRows(problem, problem.mean));
}

}  // namespace topwolf::testing
