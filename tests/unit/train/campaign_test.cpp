// The certificate campaign: random problems over every loss, solver, storage, precision, smoothing, costs, margins,
// weights, bias, centring, normalisation, class features and taxonomies, at scales of features from 1e-20 to 1e20 and C
// from 1e-12 to 1e12, stopped anywhere. What is reported must not be better than what is true, verify must confirm it,
// and a forgery of it must not be confirmed. TOPWOLF_CAMPAIGN is how many.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "core/rng.hpp"
#include "support/referee.hpp"
#include "topwolf/topwolf.hpp"
#include "topwolf/verify.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using testing::Referee;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

double power(Rng& rng, double low, double high) {
  return std::pow(10.0, low + (high - low) * rng.uniform());
}

// How far the powers of ten of what is drawn reach: far, and now and then to the end of what is allowed.
struct Reach {
  double features = 20, rows = 60, rho = 6, smoothing = 2, phi = 3, costs = 20, weights = 30, C = 12;
};
constexpr Reach wild_reach{130, 140, 100, 100, 60, 280, 99, 150};

struct Trial {
  Reach reach;
  Dataset data;
  TrainOptions options;
  std::string words;
};

// Rows of one scale, or a mixture with rows that are noise, zero, or all the same; and at times all of them far from 0.
std::vector<double> random_features(Rng& rng, std::int64_t n, std::int64_t d, const std::vector<std::int32_t>& y,
                                    bool single, const Reach& reach, std::string& words) {
  const double most = single ? std::min(reach.features, 20.0) : reach.features;
  const double scale = rng.uniform() < 0.3 ? 1.0 : power(rng, -most, most);
  const int mixture = static_cast<int>(rng.below(5));
  std::vector<double> offset(at(d), 0.0);
  if (rng.uniform() < 0.3) {
    const double far = power(rng, -2, 8);
    for (double& x : offset) x = rng.uniform() < 0.3 ? 0.0 : far * rng.normal();
    words += fmt::format(" offset {:.3g}", far);
  }
  words += fmt::format(" scale {:.3g} mixture {}", scale, mixture);
  std::vector<double> X;
  for (std::int64_t i = 0; i < n; ++i) {
    double size = scale;
    if (mixture == 1 && rng.uniform() < 0.3) size = scale * 1e-17;
    if (mixture == 2 && rng.uniform() < 0.3) size = 0.0;
    if (mixture == 3) size = single ? power(rng, -18, 18) : power(rng, -reach.rows, reach.rows);
    const bool copy = mixture == 4 && i > 0 && rng.uniform() < 0.5;
    for (std::int64_t f = 0; f < d; ++f) {
      const double x = rng.normal() + (f % 3 == y[at(i)] % 3 ? 1.0 : 0.0) + offset[at(f)];
      X.push_back(copy ? X[at((i - 1) * d + f)] : rng.uniform() < 0.3 ? 0.0 : size * x);
    }
  }
  return X;
}

template <class T>
FeatureStore store(const std::vector<double>& X, std::int64_t n, std::int64_t d, bool sparse) {
  if (!sparse) return DenseStore<T>{std::vector<T>(X.begin(), X.end()), n, d};
  CsrStore<T> csr{{0}, {}, {}, n, d};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t f = 0; f < d; ++f) {
      if (X[at(i * d + f)] == 0.0) continue;
      csr.column.push_back(static_cast<std::int32_t>(f));
      csr.values.push_back(static_cast<T>(X[at(i * d + f)]));
    }
    csr.row_begin.push_back(static_cast<std::int64_t>(csr.column.size()));
  }
  return csr;
}

// Rounded to what it holds, and cut off where float16 ends: larger numbers would be refused.
template <class Half>
FeatureStore half_store(const std::vector<double>& X, std::int64_t n, std::int64_t d) {
  constexpr double most = std::is_same_v<Half, Float16> ? 65504.0 : 1e38;
  DenseStore<Half> out{{}, n, d};
  for (const double x : X) out.values.push_back(Half(std::clamp(x, -most, most)));
  return out;
}

LossSpec random_loss(Rng& rng, std::int64_t m, const Reach& reach, std::string& words) {
  LossSpec loss;
  loss.name = static_cast<LossName>(rng.below(5));
  if (loss.name == LossName::top_k || loss.name == LossName::usunier)
    loss.k = 1 + static_cast<std::int64_t>(rng.below(at(m - 1)));
  if (loss.name == LossName::weighted_top_k || loss.name == LossName::weighted_usunier) {
    const double scale = rng.uniform() < 0.7 ? 1.0 : power(rng, -reach.rho, reach.rho);
    for (std::uint64_t r = 0; r < 1 + rng.below(at(m - 1)); ++r) loss.rho.push_back(scale * (0.05 + rng.uniform()));
    std::sort(loss.rho.begin(), loss.rho.end(), std::greater<>());
    if (loss.rho.size() > at(m - 1)) loss.rho.resize(at(m - 1));
  }
  if (rng.uniform() < 0.4) loss.smoothing = power(rng, -11, reach.smoothing);
  words += " " + to_string(loss);
  return loss;
}

// A family's loss that is known by its oracle alone, or a hinge over groups.
void add_oracle(Rng& rng, std::int64_t m, Trial& trial) {
  const double smoothing = rng.uniform() < 0.4 ? power(rng, -9, trial.reach.smoothing) : 0.0;
  const double scale = rng.uniform() < 0.7 ? 1.0 : power(rng, -3, 3);
  std::shared_ptr<const LossOracle> oracle;
  if (rng.uniform() < 0.5) {
    std::vector<std::size_t> group;
    for (std::int64_t j = 0; j < m; ++j) group.push_back(rng.below(3));
    oracle = std::make_shared<testing::GroupHinge>(group, std::vector<double>{scale, 0.3 * scale, 0.05 * scale});
  } else {
    Loss known{rng.uniform() < 0.5 ? Family::top_k : Family::usunier, {}};
    known.rho.assign(1 + rng.below(at(m - 1)), scale);
    for (double& weight : known.rho) weight *= 1.0 - 0.05 * static_cast<double>(&weight - known.rho.data()) / 40.0;
    oracle = std::make_shared<testing::KnownOracle>(known);
  }
  trial.options.loss = loss_by_oracle(oracle);
  trial.options.loss.smoothing = smoothing;
  trial.words += " instead: " + to_string(trial.options.loss);
}

// A random tree as class features and costs: a few kinds, each the parent of some classes.
void add_structure(Rng& rng, std::int64_t m, Trial& trial) {
  const std::int64_t p = 1 + static_cast<std::int64_t>(rng.below(6));
  const bool tree = rng.uniform() < 0.5;
  const double scale = tree ? 1.0 : power(rng, -trial.reach.phi, trial.reach.phi);
  const std::int64_t cols = tree ? m + p : p;
  std::vector<double> phi(at(m * cols), 0.0);
  std::vector<std::uint64_t> kind;
  for (std::int64_t j = 0; j < m; ++j) {
    kind.push_back(rng.below(at(p)));
    for (std::int64_t c = 0; c < p && !tree; ++c) phi[at(j * cols + c)] = scale * rng.normal();
    if (tree) phi[at(j * cols + j)] = 1.0, phi[at(j * cols + m) + kind.back()] = 1.0;
  }
  trial.data.class_features = Features(store<double>(phi, m, cols, rng.uniform() < 0.5));
  trial.words += tree ? " taxonomy" : " class features";
  if (!tree || trial.data.margins.given()) return;
  for (std::int64_t a = 0; a < m; ++a) {
    for (std::int64_t b = 0; b < m; ++b)
      trial.options.loss.cost_matrix.push_back(a == b ? 0.0 : kind[at(a)] == kind[at(b)] ? 1.0 : 2.0);
  }
}

void add_costs(Rng& rng, std::int64_t n, std::int64_t m, Trial& trial) {
  const double scale = rng.uniform() < 0.5 ? 1.0 : power(rng, -trial.reach.costs, trial.reach.costs);
  const auto cost = [&] { return rng.uniform() < 0.2 ? 0.0 : scale * rng.uniform(); };
  if (rng.uniform() < 0.5) {
    for (std::int64_t a = 0; a < m * m; ++a) trial.options.loss.cost_matrix.push_back(a % (m + 1) == 0 ? 0.0 : cost());
    trial.words += fmt::format(" costs {:.3g}", scale);
    return;
  }
  const bool sparse = rng.uniform() < 0.5;
  std::vector<double> delta;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < m; ++j) delta.push_back(j == trial.data.y[at(i)] ? 0.0 : cost());
  }
  trial.data.margins = {Features(store<double>(delta, n, m, sparse)), scale};
  trial.words += fmt::format(" margins {:.3g}", scale);
}

Trial random_trial(std::uint64_t seed) {
  Rng rng(seed);
  Trial trial;
  if (rng.uniform() < 0.25) trial.reach = wild_reach;
  const Reach& reach = trial.reach;
  const std::int64_t n = 1 + static_cast<std::int64_t>(rng.below(24)), d = 1 + static_cast<std::int64_t>(rng.below(9));
  const std::int64_t m = 2 + static_cast<std::int64_t>(rng.below(rng.uniform() < 0.1 ? 40 : 7));
  trial.words = fmt::format("seed {}: {} x {}, {} classes", seed, n, d, m);
  for (std::int64_t j = 0; j < m; ++j) trial.data.classes.names.push_back(std::to_string(j));
  for (std::int64_t i = 0; i < n; ++i) trial.data.y.push_back(static_cast<std::int32_t>(rng.below(at(m))));
  const bool single = rng.uniform() < 0.5, sparse = rng.uniform() < 0.5;
  const auto X = random_features(rng, n, d, trial.data.y, single, reach, trial.words);
  FeatureStore rows = single ? store<float>(X, n, d, sparse) : store<double>(X, n, d, sparse);
  // Of what would be float32: drawn apart, so that all other problems stay what they were.
  const std::uint64_t storage = single && !sparse ? Rng(seed ^ 0x16).below(4) : 2;
  if (storage == 0) rows = half_store<Float16>(X, n, d);
  if (storage == 1) rows = half_store<BFloat16>(X, n, d);
  if (rng.uniform() < 0.2) {
    const auto kind = rng.uniform() < 0.5 ? NormalizeKind::unit : NormalizeKind::maxabs;
    trial.data.normalization = fit_normalization(kind, rows);
    apply_normalization(trial.data.normalization, rows);
    trial.words += " normalised";
  }
  trial.data.X = Features(std::move(rows));
  trial.words += fmt::format(" {} {}", sparse ? "csr" : "dense", to_string(trial.data.X.precision()));
  if (rng.uniform() < 0.3) {
    const double scale = rng.uniform() < 0.5 ? 1.0 : power(rng, -reach.weights, reach.weights);
    for (std::int64_t i = 0; i < n; ++i) {
      trial.data.weights.push_back(i > 0 && rng.uniform() < 0.2 ? (rng.uniform() < 0.5 ? 0.0 : 1e-308)
                                                                : scale * (0.1 + rng.uniform()));
    }
    trial.words += fmt::format(" weights {:.3g}", scale);
  }
  TrainOptions& options = trial.options;
  options.loss = random_loss(rng, m, reach, trial.words);
  // Drawn apart, for the same reason.
  if (Rng apart(seed ^ 0x50f7); apart.below(5) == 0) {
    options.loss = {};
    options.loss.name = LossName::softmax;
    if (apart.uniform() < 0.6) options.loss.temperature = power(apart, -5.5, 5.5);
    trial.words += " instead: " + to_string(options.loss);
  }
  if (Rng apart(seed ^ 0x0ac1e); apart.below(5) == 0) add_oracle(apart, m, trial);
  if (rng.uniform() < 0.3) add_costs(rng, n, m, trial);
  if (rng.uniform() < 0.2 && options.loss.cost_matrix.empty()) add_structure(rng, m, trial);
  options.C = rng.uniform() < 0.3 ? 1.0 : power(rng, -reach.C, reach.C);
  options.solver = static_cast<SolverName>(rng.below(7));
  const bool newton = trial.data.class_features.rows() == 0 && !options.loss.oracle;
  if (options.solver == SolverName::newton && !newton) options.solver = SolverName::block;
  if (options.solver <= SolverName::block) options.scores = static_cast<ScoresName>(rng.below(3));
  options.center = rng.uniform() < 0.4;
  if (options.center || rng.uniform() < 0.3) options.bias = rng.uniform() < 0.5 ? 1.0 : power(rng, -3, 3);
  const std::int64_t limits[] = {1, 2, 3, 10, 100, 300};
  options.max_iterations = limits[rng.below(6)];
  if (rng.uniform() < 0.3) options.tolerance = power(rng, -9, -0.3);
  options.threads = 1 + static_cast<int>(rng.below(2));
  options.seed = seed;
  options.keep_dual = rng.uniform() < 0.8;
  trial.words += fmt::format(" C {:.3g} {} {} bias {:.3g}{} passes {}{}", options.C, to_string(options.solver),
                             to_string(options.scores), options.bias, options.center ? " centred" : "",
                             options.max_iterations, options.keep_dual ? "" : " no dual");
  return trial;
}

// A claim that somebody made better than it is, or a dual that was moved out of its set.
void judge_forgery(const Trial& trial, TrainResult forged, const Referee& referee, long double primal) {
  Rng rng(trial.options.seed + 1);
  Certificate& claim = forged.model.provenance.claim->certificate;
  std::vector<double>& A = forged.dual.values;
  const auto kind = A.empty() ? rng.below(2) : rng.below(4);
  SCOPED_TRACE(fmt::format("forgery {}", kind));
  if (kind == 0) claim.dual += 1e-6 * claim.primal;
  if (kind == 1) claim.primal *= 1.0 - 1e-6;
  if (kind == 2)
    A[rng.below(A.size())] += (rng.uniform() < 0.5 ? 1.0 : -1.0) * (0.1 + rng.uniform()) * forged.loss.rho_sum();
  if (kind == 3) {
    for (double& value : A) value *= 1.01;
  }
  // Well beyond what a claim may be off by.
  const bool false_primal = claim.primal<primal*(1.0L - 1e-8L), false_dual = claim.dual> referee.dual(forged.dual) +
                            1e-8L * std::max<long double>(primal, claim.primal),
             outside = referee.infeasibility(forged.dual) > 1e-8;
  const Verification found = verify(trial.data, forged.model, forged.dual);
  if (found.holds) {
    EXPECT_FALSE(false_primal) << found.finding;
    EXPECT_FALSE(false_dual) << found.finding;
    EXPECT_FALSE(outside) << found.finding;
    EXPECT_LE(found.dual, primal * (1.0L + 1e-15L)) << "the optimum is not above that";
  }
}

// False where the program does not accept the problem.
bool judge(const Trial& trial) {
  SCOPED_TRACE(trial.words);
  TrainResult result;
  try {
    result = train(trial.data, trial.options);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    return false;
  }
  const Certificate& claim = result.certificate;
  const std::vector<double>& mean = result.model.provenance.mean;
  EXPECT_EQ(mean.size(), trial.options.center ? at(result.model.width()) : 0);
  const Referee referee(trial.data, trial.options.loss, result.loss, result.lambda, trial.options.bias, mean);
  const bool mapped = trial.data.class_features.rows() > 0;
  const long double primal = referee.primal(mapped ? result.model.V : result.model.W);
  const std::vector<double> nothing(mapped ? result.model.V.size() : result.model.W.size(), 0.0);
  const long double without = referee.primal(nothing);
  Loss sharp = result.loss;  // beside which an envelope may vanish
  sharp.smoothing = 0.0;
  const long double size =
      Referee(trial.data, trial.options.loss, sharp, result.lambda, trial.options.bias).primal(nothing);
  const long double allowed = 1e-12L * std::max(std::abs(claim.primal), std::abs(claim.dual));
  EXPECT_GE(claim.primal, primal - allowed);
  // An envelope that is nothing beside its loss can be certified only as far as the loss has precision.
  const bool vanishes = result.loss.smoothing > 0.0 && without < 1e-9L * size;
  EXPECT_LE(claim.primal, (vanishes ? (1.0L + 1e-9L) * size : without + 1e-11L * size) + 1e-315L) << "worse than none";
  EXPECT_GE(claim.dual, 0.0);
  EXPECT_LE(claim.dual, claim.primal + allowed);
  EXPECT_TRUE(std::isfinite(claim.primal));
  if (trial.options.keep_dual) {
    const long double dual = referee.dual(result.dual);
    EXPECT_LE(claim.dual, dual + allowed);
    EXPECT_LE(referee.infeasibility(result.dual), 1e-12);
    const Verification found = verify(trial.data, result.model, result.dual);
    // An envelope that begins at margins which double cannot tell from 0 has no digits to be confirmed.
    const bool nothing_left =
        result.loss.smoothing > 0.0 && 4.0L * result.loss.smoothing * primal < 1e-25L * size * size;
    EXPECT_TRUE(found.holds || nothing_left) << found.finding;
    EXPECT_GE(found.primal, primal - 1e-17L * std::abs(primal));
    EXPECT_LE(found.dual, primal * (1.0L + 1e-15L));
    judge_forgery(trial, result, referee, primal);
    return true;
  }
  TrainOptions other = trial.options;  // whatever it finds is not below the optimum
  other.solver = SolverName::block;
  other.scores = ScoresName::automatic;
  other.max_iterations = 200;
  const TrainResult best = train(trial.data, other);
  EXPECT_LE(claim.dual, referee.primal(mapped ? best.model.V : best.model.W) + allowed);
  return true;
}

TEST(Campaign, NoCertificateIsBetterThanTheTruth) {
  const char* const asked = std::getenv("TOPWOLF_CAMPAIGN");
  const std::uint64_t count = asked ? std::stoull(asked) : 1000;
  const char* const first = std::getenv("TOPWOLF_CAMPAIGN_FIRST");
  const std::uint64_t from = first ? std::stoull(first) : 0;
  std::uint64_t accepted = 0;
  for (std::uint64_t seed = from; seed < from + count; ++seed) {
    accepted += judge(random_trial(seed)) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(10 * accepted, 9 * count);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
