// Small problems, dense and sparse, and P, D and W(A) from their definitions by naive double loops.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/rng.hpp"
#include "engine/factory.hpp"
#include "support/golden.hpp"
#include "support/plain.hpp"
#include "support/plain_projection.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf::testing {

using plain::Vector;

// A dual as the tests see it: one sparse row per example.
using DualRows = std::vector<SparseRow>;

inline DualRows dual_rows(const SparseRows& rows) {
  DualRows out(static_cast<std::size_t>(rows.rows()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (auto e = static_cast<std::size_t>(rows.row_begin[i]); e < static_cast<std::size_t>(rows.row_begin[i + 1]);
         ++e) {
      out[i].push_back({rows.column[e], rows.values[e]});
    }
  }
  return out;
}

// X in double, and the same values stored in any way that holds them.
struct Samples {
  std::int64_t n = 0, d = 0, m = 0;
  Vector X;  // (n x d)
  std::vector<std::int32_t> y;
  Vector omega;  // n; empty: all 1

  double weight(std::int64_t i) const { return omega.empty() ? 1.0 : omega[static_cast<std::size_t>(i)]; }
  double N() const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) sum += weight(i);
    return sum;
  }
};

enum class Storage { dense32, dense64, csr32, csr64, half, bhalf };  // the last two: float16 and bfloat16
// Those that hold what random_samples() gives.
inline constexpr Storage all_storages[] = {Storage::dense32, Storage::dense64, Storage::csr32, Storage::csr64};

template <class T>
FeatureStore dense_store(const Samples& samples) {
  return DenseStore<T>{std::vector<T>(samples.X.begin(), samples.X.end()), samples.n, samples.d};
}

template <class T>
FeatureStore csr_store(const Samples& samples) {
  CsrStore<T> store{{0}, {}, {}, samples.n, samples.d};
  for (std::int64_t i = 0; i < samples.n; ++i) {
    for (std::int64_t f = 0; f < samples.d; ++f) {
      const double x = samples.X[static_cast<std::size_t>(i * samples.d + f)];
      if (x == 0.0) continue;
      store.column.push_back(static_cast<std::int32_t>(f));
      store.values.push_back(static_cast<T>(x));
    }
    store.row_begin.push_back(static_cast<std::int64_t>(store.column.size()));
  }
  return store;
}

inline Dataset dataset_of(const Samples& samples, Storage storage) {
  Dataset data;
  switch (storage) {
    case Storage::dense32:
      data.X = Features(dense_store<float>(samples));
      break;
    case Storage::dense64:
      data.X = Features(dense_store<double>(samples));
      break;
    case Storage::csr32:
      data.X = Features(csr_store<float>(samples));
      break;
    case Storage::csr64:
      data.X = Features(csr_store<double>(samples));
      break;
    case Storage::half:
      data.X = Features(dense_store<Float16>(samples));
      break;
    case Storage::bhalf:
      data.X = Features(dense_store<BFloat16>(samples));
      break;
  }
  data.y = samples.y;
  data.weights = samples.omega;
  for (std::int64_t j = 0; j < samples.m; ++j) data.classes.names.push_back(std::to_string(j));
  return data;
}

// Values are float32 numbers, a third of them zero, so that all storages hold the same problem; one row is all zero.
inline Samples random_samples(std::int64_t n, std::int64_t d, std::int64_t m, std::uint64_t seed) {
  Rng rng(seed);
  Samples samples{n, d, m, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    samples.y.push_back(
        static_cast<std::int32_t>(i < m ? i : static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(m)))));
    for (std::int64_t f = 0; f < d; ++f) {
      const double x = rng.normal() + (f % m == samples.y.back() ? 1.0 : 0.0);
      samples.X.push_back(rng.uniform() < 0.33 || i == n - 1 ? 0.0 : static_cast<double>(static_cast<float>(x)));
    }
  }
  return samples;
}

// The same rounded to what the storage holds.
inline Samples stored_samples(Samples samples, Storage storage) {
  for (double& x : samples.X) {
    if (storage == Storage::half) x = static_cast<double>(static_cast<float>(Float16(x)));
    if (storage == Storage::bhalf) x = static_cast<double>(static_cast<float>(BFloat16(x)));
  }
  return samples;
}

inline Samples golden_samples(bool weighted) {
  const auto& problem = golden().at("problem");
  Samples samples;
  for (const auto& row : problem.at("X")) {
    for (const auto& x : row) samples.X.push_back(x.get<double>());
    samples.d = static_cast<std::int64_t>(row.size());
  }
  samples.y = problem.at("y").get<std::vector<std::int32_t>>();
  samples.n = static_cast<std::int64_t>(samples.y.size());
  samples.m = static_cast<std::int64_t>(problem.at("cost").size());
  if (weighted) samples.omega = problem.at("weights").get<Vector>();
  return samples;
}

inline Vector golden_costs() {
  Vector out;
  for (const auto& row : golden().at("problem").at("cost")) {
    for (const auto& value : row) out.push_back(value.get<double>());
  }
  return out;
}

// View of a data set as a problem; the data set must outlive it.
inline Problem problem_of(const Dataset& data, const Loss& loss, double lambda, double bias = 0.0,
                          const Vector* cost = nullptr) {
  Problem problem;
  problem.X = data.X.view();
  problem.y = data.y;
  problem.omega = data.weights;
  problem.n = data.X.rows();
  problem.d = data.X.cols();
  problem.m = data.classes.size();
  problem.N = 0.0;
  for (std::int64_t i = 0; i < problem.n; ++i) problem.N += problem.weight(i);
  problem.bias = bias;
  problem.lambda = lambda;
  problem.loss = loss;
  if (cost) problem.cost = std::make_shared<const Vector>(*cost);
  return problem;
}

// The problem in the plainest words.
class PlainProblem {
 public:
  PlainProblem(const Samples& samples, const Loss& loss, double lambda, double bias = 0.0, const Vector* cost = nullptr)
      : samples_(samples), loss_(loss), lambda_(lambda), bias_(bias), cost_(cost) {}

  std::int64_t D() const { return samples_.d + (bias_ != 0.0 ? 1 : 0); }
  double x(std::int64_t i, std::int64_t f) const {
    return f == samples_.d ? bias_ : samples_.X[static_cast<std::size_t>(i * samples_.d + f)];
  }

  Vector margins(std::int64_t i) const {
    const auto y = static_cast<std::size_t>(samples_.y[static_cast<std::size_t>(i)]);
    const auto m = static_cast<std::size_t>(samples_.m);
    if (!cost_) return loss_.entropic() ? Vector(m, 0.0) : plain::unit_margins(m, y);
    return Vector(cost_->begin() + static_cast<std::ptrdiff_t>(y * m),
                  cost_->begin() + static_cast<std::ptrdiff_t>((y + 1) * m));
  }

  Vector scores(const Vector& W, std::int64_t i) const {
    Vector s(static_cast<std::size_t>(samples_.m), 0.0);
    for (std::int64_t j = 0; j < samples_.m; ++j) {
      for (std::int64_t f = 0; f < D(); ++f)
        s[static_cast<std::size_t>(j)] += W[static_cast<std::size_t>(j * D() + f)] * x(i, f);
    }
    return s;
  }

  double loss_sum(const Vector& W) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      const auto y = static_cast<std::size_t>(samples_.y[static_cast<std::size_t>(i)]);
      const Vector s = scores(W, i), delta = margins(i);
      sum += samples_.weight(i) *
             (loss_.smoothing > 0.0 ? plain::envelope(loss_, delta, s, y) : plain::value(loss_, delta, s, y));
    }
    return sum;
  }

  double primal(const Vector& W) const { return 0.5 * lambda_ * plain::dot(W, W) + loss_sum(W) / samples_.N(); }

  Vector weights_of(const DualRows& A) const {
    Vector W(static_cast<std::size_t>(samples_.m * D()), 0.0);
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      for (const auto& [j, value] : A[static_cast<std::size_t>(i)]) {
        for (std::int64_t f = 0; f < D(); ++f) {
          W[static_cast<std::size_t>(j * D() + f)] += samples_.weight(i) * value * x(i, f) / (lambda_ * samples_.N());
        }
      }
    }
    return W;
  }

  double dual(const DualRows& A) const {
    const Vector W = weights_of(A);
    double sum = 0.0;
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      const Vector delta = margins(i), alpha = plain::dense(A[static_cast<std::size_t>(i)], samples_.m);
      const auto y = static_cast<std::size_t>(samples_.y[static_cast<std::size_t>(i)]);
      sum += samples_.weight(i) *
             (plain::worth(loss_, delta, alpha, y) - 0.5 * loss_.smoothing * plain::dot(alpha, alpha));
    }
    return -0.5 * lambda_ * plain::dot(W, W) + sum / samples_.N();
  }

  double infeasibility(const DualRows& A) const {
    double worst = 0.0;
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      const auto y = static_cast<std::size_t>(samples_.y[static_cast<std::size_t>(i)]);
      worst = std::max(worst, plain::infeasibility(loss_, plain::dense(A[static_cast<std::size_t>(i)], samples_.m), y));
    }
    return worst;
  }

 private:
  const Samples& samples_;
  Loss loss_;
  double lambda_, bias_;
  const Vector* cost_;
};

// Calls check(problem, optimum) for each of the 60 golden optima.
template <class Check>
void for_golden_optima(const Check& check) {
  const Vector cost = golden_costs();
  int checked = 0;
  for (const auto& entry : golden().at("optimum")) {
    SCOPED_TRACE(entry.dump());
    const Samples samples = golden_samples(entry.at("weighted").get<bool>());
    const Dataset data = dataset_of(samples, Storage::dense64);
    const Loss loss = resolve_loss(spec_of(entry, golden().at("problem")), samples.m);
    const bool costs = entry.at("cost_sensitive").get<bool>();
    check(problem_of(data, loss, entry.at("lam").get<double>(), 0.0, costs ? &cost : nullptr),
          entry.at("objective").get<double>());
    ++checked;
  }
  EXPECT_EQ(checked, 60);
}

}  // namespace topwolf::testing
