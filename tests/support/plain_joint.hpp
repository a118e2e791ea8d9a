// The problem with any psi in the plainest words: psi is a dense tensor, and P, D and w(A) are sums over it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/rng.hpp"
#include "support/plain.hpp"
#include "support/plain_problem.hpp"

namespace topwolf::testing {

struct PlainJoint {
  std::int64_t n = 0, m = 0, P = 0;
  Vector psi;    // (n x m x P)
  Vector delta;  // (n x m) margins, 0 for the own class
  std::vector<std::int32_t> y;
  Vector omega;  // n
  Loss loss;
  double lambda = 0.0;

  double N() const {
    double sum = 0.0;
    for (const double w : omega) sum += w;
    return sum;
  }
  double at(std::int64_t i, std::int64_t j, std::int64_t c) const {
    return psi[static_cast<std::size_t>((i * m + j) * P + c)];
  }
  Vector margins(std::int64_t i) const { return {delta.begin() + i * m, delta.begin() + (i + 1) * m}; }

  Vector scores(const Vector& w, std::int64_t i) const {
    Vector s(static_cast<std::size_t>(m), 0.0);
    for (std::int64_t j = 0; j < m; ++j) {
      for (std::int64_t c = 0; c < P; ++c)
        s[static_cast<std::size_t>(j)] += at(i, j, c) * w[static_cast<std::size_t>(c)];
    }
    return s;
  }

  double loss_at(const Vector& d, const Vector& s, std::size_t label) const {
    return loss.smoothing > 0.0 ? plain::envelope(loss, d, s, label) : plain::value(loss, d, s, label);
  }

  double loss_sum(const Vector& w) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto label = static_cast<std::size_t>(y[static_cast<std::size_t>(i)]);
      const Vector s = scores(w, i), d = margins(i);
      sum += omega[static_cast<std::size_t>(i)] * loss_at(d, s, label);
    }
    return sum;
  }
  double primal(const Vector& w) const { return 0.5 * lambda * plain::dot(w, w) + loss_sum(w) / N(); }

  Vector weights_of(const SparseRows& A) const {
    Vector w(static_cast<std::size_t>(P), 0.0);
    for_entries(A, [&](std::int64_t i, std::int64_t j, double alpha) {
      for (std::int64_t c = 0; c < P; ++c) {
        w[static_cast<std::size_t>(c)] += omega[static_cast<std::size_t>(i)] * alpha * at(i, j, c) / (lambda * N());
      }
    });
    return w;
  }

  double dual(const SparseRows& A) const {
    const Vector w = weights_of(A);
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Vector alpha = row(A, i);
      const auto label = static_cast<std::size_t>(y[static_cast<std::size_t>(i)]);
      sum += omega[static_cast<std::size_t>(i)] *
             (plain::worth(loss, margins(i), alpha, label) - 0.5 * loss.smoothing * plain::dot(alpha, alpha));
    }
    return -0.5 * lambda * plain::dot(w, w) + sum / N();
  }

  double infeasibility(const SparseRows& A) const {
    double worst = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto label = static_cast<std::size_t>(y[static_cast<std::size_t>(i)]);
      worst = std::max(worst, plain::infeasibility(loss, row(A, i), label));
    }
    return worst;
  }

  // The verbs of the concept, so that it can be trained on.
  std::int64_t examples() const { return n; }
  std::int64_t classes() const { return m; }
  std::int64_t dimension() const { return P; }
  void scores(std::int64_t i, std::span<const double> w, std::span<double> s) const {
    const Vector found = scores(Vector(w.begin(), w.end()), i);
    std::copy(found.begin(), found.end(), s.begin());
  }
  void accumulate(std::int64_t i, std::span<const Entry> alpha, std::span<double> sum) const {
    for (const auto& [j, value] : alpha) {
      for (std::int64_t c = 0; c < P; ++c) sum[static_cast<std::size_t>(c)] += value * at(i, j, c);
    }
  }

 private:
  Vector row(const SparseRows& A, std::int64_t i) const {
    Vector alpha(static_cast<std::size_t>(m), 0.0);
    for (auto e = A.row_begin[static_cast<std::size_t>(i)]; e < A.row_begin[static_cast<std::size_t>(i) + 1]; ++e) {
      alpha[static_cast<std::size_t>(A.column[static_cast<std::size_t>(e)])] = A.values[static_cast<std::size_t>(e)];
    }
    return alpha;
  }
  template <class Body>
  void for_entries(const SparseRows& A, const Body& body) const {
    for (std::int64_t i = 0; i < n; ++i) {
      for (auto e = A.row_begin[static_cast<std::size_t>(i)]; e < A.row_begin[static_cast<std::size_t>(i) + 1]; ++e) {
        body(i, A.column[static_cast<std::size_t>(e)], A.values[static_cast<std::size_t>(e)]);
      }
    }
  }
};

// psi(x, j) = phi_j (x) x, with a constant feature where there is a bias; phi (m x p).
inline PlainJoint plain_class_features(const Samples& samples, const Vector& phi, double bias = 0.0) {
  const std::int64_t p = static_cast<std::int64_t>(phi.size()) / samples.m, D = samples.d + (bias != 0.0 ? 1 : 0);
  PlainJoint out{samples.n, samples.m, p * D, {}, {}, samples.y, {}, {}, 0.0};
  for (std::int64_t i = 0; i < samples.n; ++i) {
    out.omega.push_back(samples.weight(i));
    for (std::int64_t j = 0; j < samples.m; ++j) {
      out.delta.push_back(samples.y[static_cast<std::size_t>(i)] == j ? 0.0 : 1.0);
      for (std::int64_t c = 0; c < p; ++c) {
        for (std::int64_t f = 0; f < D; ++f) {
          const double x = f == samples.d ? bias : samples.X[static_cast<std::size_t>(i * samples.d + f)];
          out.psi.push_back(phi[static_cast<std::size_t>(j * p + c)] * x);
        }
      }
    }
  }
  return out;
}

inline Vector identity(std::int64_t m) {
  Vector phi(static_cast<std::size_t>(m * m), 0.0);
  for (std::int64_t j = 0; j < m; ++j) phi[static_cast<std::size_t>(j * m + j)] = 1.0;
  return phi;
}

// Some zeros, so that a sparse store has something to leave out.
inline Vector random_phi(std::int64_t m, std::int64_t p, std::uint64_t seed) {
  Rng rng(seed);
  Vector phi;
  for (std::int64_t e = 0; e < m * p; ++e) phi.push_back(rng.uniform() < 0.3 ? 0.0 : rng.normal());
  return phi;
}

// A matrix (rows x cols) as features in float64; sparse: without its zeros.
inline Features features_of(const Vector& values, std::int64_t rows, bool sparse) {
  const std::int64_t cols = static_cast<std::int64_t>(values.size()) / rows;
  if (!sparse) return Features(FeatureStore(DenseStore<double>{values, rows, cols}));
  CsrStore<double> store{{0}, {}, {}, rows, cols};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const double value = values[static_cast<std::size_t>(r * cols + c)];
      if (value == 0.0) continue;
      store.column.push_back(static_cast<std::int32_t>(c));
      store.values.push_back(value);
    }
    store.row_begin.push_back(static_cast<std::int64_t>(store.column.size()));
  }
  return Features(FeatureStore(std::move(store)));
}

}  // namespace topwolf::testing
