// What a training run claims, judged in long double by code that shares nothing with it: P of the weights as stored, D
// of the dual as returned, and whether that lies in its set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "support/exact_projection.hpp"
#include "support/oracles.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::testing {

class Referee {
 public:
  using Real = long double;
  using Row = std::vector<Real>;

  // mean: of a model of centred rows; empty: none.
  Referee(const Dataset& data, const LossSpec& spec, const Loss& loss, double lambda, double bias,
          const std::vector<double>& mean = {})
      : data_(data),
        spec_(spec),
        loss_(known_as(loss)),
        groups_(groups_of(loss)),
        lambda_(lambda),
        n_(data.X.rows()),
        m_(data.classes.size()) {
    for (std::int64_t i = 0; i < n_; ++i) N_ += omega(i);
    X_ = dense(data.X);
    if (data.class_features.rows() > 0) phi_ = dense(data.class_features);
    if (data.margins.given()) delta_ = dense(data.margins.values, data.margins.other);
    for (Row& row : X_) {
      if (bias != 0.0) row.push_back(bias);
    }
    mean_.assign(mean.begin(), mean.end());
    if (!mean.empty()) mean_.push_back(0.0L);
  }

  // W (m x D), or V (p x D) with class features, for rows as they are: the weights that are regularised are those that
  // have the same scores on rows less their mean.
  Real primal(const std::vector<double>& W) const {
    const std::size_t D = X_[0].size();
    Real norm2 = 0.0L, losses = 0.0L;
    for (std::size_t row = 0; row < W.size(); row += D) {
      Real at_mean = 0.0L;
      for (std::size_t f = 0; f < mean_.size(); ++f) at_mean += mean_[f] * W[row + f];
      for (std::size_t f = 0; f < D; ++f) {
        const bool constant = f + 1 == D && !mean_.empty();
        const Real w = W[row + f] + (constant ? at_mean / X_[0][f] : 0.0L);
        norm2 += w * w;
      }
    }
    const std::vector<Row> of_class = lift(W);
    for (std::int64_t i = 0; i < n_; ++i) {
      if (omega(i) > 0.0L) losses += omega(i) * loss_of(i, of_class);
    }
    return 0.5L * lambda_ * norm2 + losses / N_;
  }

  Real dual(const SparseRows& A) const {
    const std::size_t D = X_[0].size();
    std::vector<Row> W(static_cast<std::size_t>(m_), Row(D, 0.0L));  // lambda N W(A)
    Real linear = 0.0L;
    for (std::int64_t i = 0; i < n_; ++i) {
      linear += omega(i) * entropy(A, i);
      for_row(A, i, [&](std::int64_t j, Real alpha) {
        linear -= omega(i) * (margin(i, j) * alpha + 0.5L * loss_.smoothing * alpha * alpha);
        for (std::size_t f = 0; f < D; ++f) {
          const Real x = X_[at(i)][f] - (mean_.empty() ? 0.0L : mean_[f]);
          W[static_cast<std::size_t>(j)][f] += omega(i) * alpha * x;
        }
      });
    }
    Real norm2 = 0.0L;
    for (std::size_t f = 0; f < D; ++f) {
      if (phi_.empty()) {
        for (const Row& row : W) norm2 += row[f] * row[f];
        continue;
      }
      for (std::size_t c = 0; c < phi_[0].size(); ++c) {
        Real sum = 0.0L;
        for (std::int64_t j = 0; j < m_; ++j) sum += phi_[at(j)][c] * W[at(j)][f];
        norm2 += sum * sum;
      }
    }
    return linear / N_ - 0.5L * (norm2 / N_) / (static_cast<Real>(lambda_) * N_);
  }

  // The largest of all rows, in units of sum(rho).
  double infeasibility(const SparseRows& A) const {
    double worst = 0.0;
    for (std::int64_t i = 0; i < n_; ++i) {
      exact::Vector beta;
      exact::Rational sum = 0;
      for_row(A, i, [&](std::int64_t j, Real alpha) {
        sum += exact::Rational(static_cast<double>(alpha));
        if (j != data_.y[at(i)]) beta.push_back(-exact::Rational(static_cast<double>(alpha)));
      });
      if (groups_) worst = std::max(worst, group_miss(A, i));
      beta.resize(static_cast<std::size_t>(m_ - 1), 0);
      if (!groups_) worst = std::max(worst, exact::infeasibility(loss_, beta).get_d());
      worst = std::max(worst, std::abs(sum.get_d()) / loss_.rho_sum());
    }
    return worst;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  Real omega(std::int64_t i) const { return data_.weights.empty() ? 1.0L : data_.weights[at(i)]; }

  static std::vector<Row> dense(const Features& features, double other = 0.0) {
    std::vector<Row> rows(at(features.rows()), Row(at(features.cols()), features.sparse() ? other : 0.0));
    std::visit(
        [&](const auto& view) {
          for (std::int64_t i = 0; i < view.rows; ++i) {
            if constexpr (requires { view.row_begin; }) {
              for (auto e = view.row_begin[i]; e < view.row_begin[i + 1]; ++e)
                rows[at(i)][at(view.column[e])] = view.value[e];
            } else {
              for (std::int64_t f = 0; f < view.cols; ++f) rows[at(i)][at(f)] = view.data[i * view.stride + f];
            }
          }
        },
        features.view());
    return rows;
  }

  template <class Body>
  static void for_row(const SparseRows& A, std::int64_t i, const Body& body) {
    for (std::int64_t e = A.row_begin[at(i)]; e < A.row_begin[at(i) + 1]; ++e) body(A.column[at(e)], A.values[at(e)]);
  }

  Real margin(std::int64_t i, std::int64_t j) const {
    const std::int64_t y = data_.y[at(i)];
    if (j == y) return 0.0L;
    if (!delta_.empty()) return delta_[at(i)][at(j)];
    if (spec_.cost_matrix.empty() && spec_.name == LossName::softmax) return 0.0L;
    return spec_.cost_matrix.empty() ? 1.0L : spec_.cost_matrix[at(y * m_ + j)];
  }

  std::vector<Row> lift(const std::vector<double>& W) const {
    const std::size_t D = X_[0].size();
    std::vector<Row> out(at(m_), Row(D, 0.0L));
    for (std::int64_t j = 0; j < m_; ++j) {
      for (std::size_t f = 0; f < D; ++f) {
        if (phi_.empty()) out[at(j)][f] = W[at(j) * D + f];
        for (std::size_t c = 0; !phi_.empty() && c < phi_[0].size(); ++c)
          out[at(j)][f] += phi_[at(j)][c] * W[c * D + f];
      }
    }
    return out;
  }

  Real loss_of(std::int64_t i, const std::vector<Row>& W) const {
    const std::int64_t y = data_.y[at(i)];
    Row z;
    for (std::int64_t j = 0; j < m_; ++j) {
      if (j == y) continue;
      Real sum = margin(i, j);
      for (std::size_t f = 0; f < X_[at(i)].size(); ++f) sum += X_[at(i)][f] * (W[at(j)][f] - W[at(y)][f]);
      z.push_back(sum);
    }
    if (spec_.name == LossName::softmax) return log_sum(z);
    if (groups_) return group_loss(z, y);
    return loss_.smoothing > 0.0 ? envelope(z) : plain(z);
  }

  // Every group's largest violation, or the envelope.
  Real group_loss(const Row& others, std::int64_t y) const {
    Row z = others;
    z.insert(z.begin() + y, 0.0L);
    if (loss_.smoothing > 0.0) return group_envelope(*groups_, z, at(y), loss_.smoothing);
    Row worst(groups_->weight().size(), 0.0L);
    for (std::size_t j = 0; j < z.size(); ++j) worst[groups_->group()[j]] = std::max(worst[groups_->group()[j]], z[j]);
    Real sum = 0.0L;
    for (std::size_t g = 0; g < worst.size(); ++g) sum += groups_->weight()[g] * worst[g];
    return sum;
  }

  double group_miss(const SparseRows& A, std::int64_t i) const {
    std::vector<exact::Rational> sum(groups_->weight().size(), 0);
    double worst = 0.0;
    for_row(A, i, [&](std::int64_t j, Real alpha) {
      if (j == data_.y[at(i)]) return;
      worst = std::max(worst, static_cast<double>(alpha));
      sum[groups_->group()[at(j)]] -= exact::Rational(static_cast<double>(alpha));
    });
    for (std::size_t g = 0; g < sum.size(); ++g) {
      worst = std::max(worst, exact::Rational(sum[g] - exact::Rational(groups_->weight()[g])).get_d());
    }
    return worst / groups_->reach();
  }

  // T log(1 + sum of e^(z_j / T)), from the largest on.
  Real log_sum(const Row& z) const {
    const Real T = spec_.temperature.value_or(1.0), top = std::max(0.0L, *std::max_element(z.begin(), z.end()));
    Real rest = 0.0L;
    bool own = top > 0.0L, met = false;  // whether z_y = 0 is among the rest, and whether the largest was met
    for (const Real x : z) {
      if (own && x == top && !met) {
        met = true;
      } else {
        rest += std::exp((x - top) / T);
      }
    }
    if (own) rest += std::exp(-top / T);
    return top + T * std::log1p(rest);
  }

  // T H(beta), of the beta that the entries besides y give.
  Real entropy(const SparseRows& A, std::int64_t i) const {
    if (spec_.name != LossName::softmax) return 0.0L;
    Real sum = 0.0L, total = 0.0L;
    for_row(A, i, [&](std::int64_t j, Real alpha) {
      if (j == data_.y[at(i)] || !(alpha < 0.0L)) return;
      sum -= alpha;
      total += alpha * std::log(-alpha);
    });
    if (sum < 1.0L) total -= (1.0L - sum) * std::log1p(-sum);
    return spec_.temperature.value_or(1.0) * total;
  }

  Real plain(Row z) const {
    z.push_back(0.0L);
    std::sort(z.begin(), z.end(), std::greater<>());
    Real total = 0.0L;
    for (std::size_t r = 0; r < loss_.rho.size(); ++r) {
      total += loss_.rho[r] * (loss_.family == Family::usunier ? std::max(0.0L, z[r]) : z[r]);
    }
    return std::max(0.0L, total);
  }

  // The maximiser is exact, and a maximum is all the same not above its value at a point of the set.
  Real envelope(const Row& z) const {
    exact::Vector b;
    for (const Real x : z) {
      const Real key = x / loss_.smoothing;
      const auto high = static_cast<double>(key);
      b.push_back(exact::Rational(high) + exact::Rational(static_cast<double>(key - high)));
    }
    const exact::Vector beta = exact::project(loss_, b);
    Real linear = 0.0L, norm2 = 0.0L, sum = 0.0L;
    for (std::size_t j = 0; j < z.size(); ++j) {
      const double high = beta[j].get_d();
      const Real value = static_cast<Real>(high) + exact::Rational(beta[j] - exact::Rational(high)).get_d();
      linear += value * z[j];
      norm2 += value * value;
      sum += value;
    }
    return linear - 0.5L * loss_.smoothing * (norm2 + sum * sum);
  }

  const Dataset& data_;
  const LossSpec spec_;
  const Loss loss_;
  const GroupHinge* const groups_;  // null: a family's loss
  const double lambda_;
  const std::int64_t n_, m_;
  Real N_ = 0.0L;
  std::vector<Row> X_, phi_, delta_;
  Row mean_;  // with a 0 for the constant feature, or empty
};

}  // namespace topwolf::testing
