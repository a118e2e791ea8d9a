// The optimum of softmax problems, against Newton's method on the primal in plain loops.

#include <gtest/gtest.h>

#include <cmath>

#include "solve/method.hpp"
#include "solve/solvers.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::PlainProblem;
using testing::Samples;

// Solves H x = g by elimination; H is positive definite.
Vector eliminate(std::vector<Vector> H, Vector g) {
  const std::size_t size = g.size();
  for (std::size_t k = 0; k < size; ++k) {
    for (std::size_t r = k + 1; r < size; ++r) {
      const double factor = H[r][k] / H[k][k];
      for (std::size_t c = k; c < size; ++c) H[r][c] -= factor * H[k][c];
      g[r] -= factor * g[k];
    }
  }
  for (std::size_t k = size; k-- > 0;) {
    for (std::size_t c = k + 1; c < size; ++c) g[k] -= H[k][c] * g[c];
    g[k] /= H[k][k];
  }
  return g;
}

// The lowest P, from W = 0 by Newton steps that are halved until P falls.
double plain_optimum(const PlainProblem& plain, const Samples& samples, const Loss& loss, double lambda) {
  const std::int64_t m = samples.m, D = plain.D();
  const auto at = [D](std::int64_t j, std::int64_t f) { return static_cast<std::size_t>(j * D + f); };
  const auto size = static_cast<std::size_t>(m * D);
  Vector W(size, 0.0);
  double value = plain.primal(W);
  for (int step = 0; step < 60; ++step) {
    Vector g(size);
    std::vector<Vector> H(size, Vector(size, 0.0));
    for (std::size_t e = 0; e < size; ++e) g[e] = -lambda * W[e], H[e][e] = lambda;
    for (std::int64_t i = 0; i < samples.n; ++i) {
      const std::int64_t y = samples.y[static_cast<std::size_t>(i)];
      const Vector s = plain.scores(W, i), delta = plain.margins(i);
      Vector p;
      double sum = 0.0;
      for (std::int64_t j = 0; j < m; ++j) {
        const auto c = static_cast<std::size_t>(j);
        p.push_back(std::exp((delta[c] + s[c] - s[static_cast<std::size_t>(y)]) / loss.temperature));
        sum += p.back();
      }
      const double share = samples.weight(i) / samples.N();
      for (std::int64_t a = 0; a < m; ++a) {
        const double p_a = p[static_cast<std::size_t>(a)] / sum;
        for (std::int64_t f = 0; f < D; ++f) {
          g[at(a, f)] -= share * (p_a - (a == y ? 1.0 : 0.0)) * plain.x(i, f);
          for (std::int64_t b = 0; b < m; ++b) {
            const double p_b = p[static_cast<std::size_t>(b)] / sum;
            for (std::int64_t h = 0; h < D; ++h) {
              H[at(a, f)][at(b, h)] +=
                  share * ((a == b ? p_a : 0.0) - p_a * p_b) / loss.temperature * plain.x(i, f) * plain.x(i, h);
            }
          }
        }
      }
    }
    const Vector direction = eliminate(H, g);
    double t = 1.0;
    for (; t > 1e-9; t *= 0.5) {
      Vector next = W;
      for (std::size_t e = 0; e < size; ++e) next[e] += t * direction[e];
      const double there = plain.primal(next);
      if (!(there < value)) continue;
      W = next;
      value = there;
      break;
    }
    if (t <= 1e-9) break;
  }
  return value;
}

TEST(Softmax, EverySolverEndsAtTheOptimumOfNewtonsMethodInPlainLoops) {
  for (const bool weighted : {false, true}) {
    for (const bool costs : {false, true}) {
      for (const double T : {0.2, 1.0, 5.0}) {
        for (const double lambda : {0.3, 0.01}) {
          SCOPED_TRACE(::testing::Message()
                       << "weights " << weighted << " costs " << costs << " T " << T << " lambda " << lambda);
          const Samples samples = testing::golden_samples(weighted);
          const Dataset data = testing::dataset_of(samples, testing::Storage::dense64);
          const Vector cost = testing::golden_costs();
          Loss loss;
          loss.temperature = T;
          const double optimum =
              plain_optimum({samples, loss, lambda, 0.5, costs ? &cost : nullptr}, samples, loss, lambda);
          const Problem problem = testing::problem_of(data, loss, lambda, 0.5, costs ? &cost : nullptr);
          for (const SolverName name : {SolverName::block, SolverName::newton, SolverName::apg, SolverName::lsfw}) {
            const auto engine = make_engine(problem, {.threads = 1});
            const auto solver = make_solver(name, {}, *engine, {}, 1);
            const int steps = name == SolverName::newton ? 15 : name == SolverName::block ? 4000 : 400;
            for (int t = 0; t < steps; ++t) solver->step();
            const Certificate found = solver->certify();
            const double tolerance = name == SolverName::lsfw ? 1e-2 : name == SolverName::apg ? 1e-3 : 1e-8;
            EXPECT_NEAR(found.primal, optimum, tolerance * optimum) << to_string(name);
            EXPECT_GE(found.primal, optimum * (1.0 - 1e-12)) << to_string(name);
            EXPECT_LE(found.dual, optimum * (1.0 + 1e-12)) << to_string(name);
            EXPECT_NEAR(found.dual, optimum, (name == SolverName::lsfw ? 1.0 : tolerance) * optimum) << to_string(name);
          }
        }
      }
    }
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
