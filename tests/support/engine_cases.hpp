// The engines that the contract suites run over, each with a problem and the same problem in the plainest words. A new
// engine is one line in engine_kinds().
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/factory.hpp"
#include "engine/shards/sharded_engine.hpp"
#include "support/plain_joint.hpp"
#include "support/plain_problem.hpp"
#include "support/toy_engine.hpp"
#include "support/windows_of_few.hpp"

namespace topwolf::testing {

enum class Psi { kronecker, class_features, any };

struct EngineKind {
  const char* name;
  Storage storage;
  Psi psi = Psi::kronecker;
  bool gram = false;     // for block ascent
  bool centred = false;  // rows less their mean, ...
  double offset = 2.0;   // ... which is about so far from 0
  EngineFactory make = [](const Problem& problem, const EngineOptions& options) {
    return make_engine(problem, options);
  };

  bool single() const { return storage != Storage::dense64 && storage != Storage::csr64; }
};

// Rows in so many places: engines of the same kind, behind one that adds up.
template <std::int64_t shards>
std::unique_ptr<Engine> in_shards(const Problem& problem, const EngineOptions& options) {
  return make_sharded_engine(problem, options, shards);
}
inline std::unique_ptr<Engine> toys_in_shards(const Problem& problem, const EngineOptions& options) {
  return make_sharded_engine(problem, options, 2, make_toy_engine);
}

// On a GPU, in programs that are only run where there is one.
inline std::vector<EngineKind> cuda_kinds() {
  const EngineFactory cuda = [](const Problem& problem, const EngineOptions& options) {
    EngineOptions there = options;
    there.device = "cuda";
    return make_engine(problem, there);
  };
  return {{"Dense32", Storage::dense32, Psi::kronecker, false, false, 0.0, cuda},
          {"Dense64", Storage::dense64, Psi::kronecker, false, false, 0.0, cuda},
          {"Csr32", Storage::csr32, Psi::kronecker, false, false, 0.0, cuda},
          {"Csr64", Storage::csr64, Psi::kronecker, false, false, 0.0, cuda},
          {"Half", Storage::half, Psi::kronecker, false, false, 0.0, cuda},
          {"BHalf", Storage::bhalf, Psi::kronecker, false, false, 0.0, cuda},
          {"CentredDense32", Storage::dense32, Psi::kronecker, false, true, 2.0, cuda},
          {"CentredDense64", Storage::dense64, Psi::kronecker, false, true, 2.0, cuda},
          {"CentredCsr32", Storage::csr32, Psi::kronecker, false, true, 2.0, cuda},
          {"CentredCsr64", Storage::csr64, Psi::kronecker, false, true, 2.0, cuda},
          {"CentredHalf", Storage::half, Psi::kronecker, false, true, 2.0, cuda},
          {"CentredFar64", Storage::dense64, Psi::kronecker, false, true, 64.0, cuda}};
}

#ifdef TOPWOLF_TESTS_ON_CUDA
inline std::vector<EngineKind> engine_kinds() {
  return cuda_kinds();
}
#else
inline std::vector<EngineKind> engine_kinds() {
  return {{"Dense32", Storage::dense32},
          {"Dense64", Storage::dense64},
          {"Csr32", Storage::csr32},
          {"Csr64", Storage::csr64},
          {"Half", Storage::half},
          {"BHalf", Storage::bhalf},
          {"Gram32", Storage::dense32, Psi::kronecker, true},
          {"GramHalf", Storage::half, Psi::kronecker, true},
          {"Gram64", Storage::csr64, Psi::kronecker, true},
          {"ClassFeatures32", Storage::dense32, Psi::class_features},
          {"ClassFeatures64", Storage::csr64, Psi::class_features},
          {"ClassFeaturesHalf", Storage::half, Psi::class_features},
          {"ClassFeaturesGram", Storage::dense64, Psi::class_features, true},
          {"JointMap", Storage::dense64, Psi::any},
          {"Toy", Storage::dense64, Psi::kronecker, false, false, 0.0, make_toy_engine},
          {"CentredDense32", Storage::dense32, Psi::kronecker, false, true},
          {"CentredDense64", Storage::dense64, Psi::kronecker, false, true},
          {"CentredCsr32", Storage::csr32, Psi::kronecker, false, true},
          {"CentredCsr64", Storage::csr64, Psi::kronecker, false, true},
          {"CentredGram32", Storage::dense32, Psi::kronecker, true, true},
          {"CentredGram64", Storage::csr64, Psi::kronecker, true, true},
          {"CentredClassFeatures32", Storage::dense32, Psi::class_features, false, true},
          {"CentredClassFeatures64", Storage::csr64, Psi::class_features, false, true},
          {"CentredClassFeaturesGram", Storage::csr64, Psi::class_features, true, true},
          {"CentredFar64", Storage::dense64, Psi::kronecker, false, true, 64.0},
          {"OneShard64", Storage::dense64, Psi::kronecker, false, false, 0.0, in_shards<1>},
          {"Shards32", Storage::dense32, Psi::kronecker, false, false, 0.0, in_shards<3>},
          {"ShardsHalf", Storage::half, Psi::kronecker, false, false, 0.0, in_shards<2>},
          {"ShardsCsr64", Storage::csr64, Psi::kronecker, false, false, 0.0, in_shards<5>},
          {"ShardsClassFeatures64", Storage::csr64, Psi::class_features, false, false, 0.0, in_shards<3>},
          {"ShardsOfOneRowOrNone", Storage::dense64, Psi::kronecker, false, false, 0.0, in_shards<61>},
          {"CentredShards64", Storage::csr64, Psi::kronecker, false, true, 2.0, in_shards<4>},
          {"CentredShards32", Storage::dense32, Psi::kronecker, false, true, 2.0, in_shards<4>},
          {"ToyShards", Storage::dense64, Psi::kronecker, false, false, 0.0, toys_in_shards},
          {"Windows32", Storage::dense32, Psi::kronecker, false, false, 0.0, make_windows_of_few},
          {"Windows64", Storage::dense64, Psi::kronecker, false, false, 0.0, make_windows_of_few},
          {"WindowsCsr32", Storage::csr32, Psi::kronecker, false, false, 0.0, make_windows_of_few},
          {"WindowsCsr64", Storage::csr64, Psi::kronecker, false, false, 0.0, make_windows_of_few},
          {"WindowsHalf", Storage::half, Psi::kronecker, false, false, 0.0, make_windows_of_few},
          {"WindowsBHalf", Storage::bhalf, Psi::kronecker, false, false, 0.0, make_windows_of_few},
          {"CentredWindows32", Storage::dense32, Psi::kronecker, false, true, 2.0, make_windows_of_few},
          {"CentredWindowsFar64", Storage::dense64, Psi::kronecker, false, true, 64.0, make_windows_of_few},
          {"CentredWindowsCsr64", Storage::csr64, Psi::kronecker, false, true, 2.0, make_windows_of_few},
          {"CentredToy", Storage::dense64, Psi::kronecker, false, true, 2.0, make_toy_engine}};
}
#endif

// The losses that a contract must hold for: both families, equal weights and others, one weight, softmax, and oracles
// (of 6 classes, as a Shape has), with and without a projection, each also smoothed.
inline std::vector<Loss> contract_losses() {
  std::vector<Loss> out;
  for (const double smoothing : {0.0, 0.1}) {
    out.push_back({Family::usunier, {1.0}, smoothing});
    out.push_back({Family::top_k, Vector(3, 1.0 / 3), smoothing});
    out.push_back({Family::usunier, Vector(3, 1.0 / 3), smoothing});
    out.push_back({Family::top_k, {0.5, 0.3, 0.2}, smoothing});
    out.push_back({Family::usunier, {0.5, 0.3, 0.2}, smoothing});
  }
  out.push_back({Family::usunier, {1.0}, 0.0, 0.7});
#ifndef TOPWOLF_TESTS_ON_CUDA
  for (const double smoothing : {0.0, 0.1}) {
    const Loss top_k{Family::top_k, Vector(3, 1.0 / 3)};
    out.push_back(loss_of_oracle(three_groups(6), 6, smoothing));
    out.push_back(loss_of_oracle(std::make_shared<KnownOracle>(top_k), 6, smoothing));
    out.push_back(loss_of_oracle(std::make_shared<KnownOracle>(top_k, &known_projection), 6, smoothing));
  }
#endif
  return out;
}

inline std::string name_of(const Loss& loss) {
  if (loss.entropic()) return "Softmax";
  if (loss.oracle)
    return std::string(groups_of(loss) ? "GroupHinge" : "KnownOracle") + (loss.smoothing > 0.0 ? "Smoothed" : "");
  return std::string(loss.family == Family::usunier ? "Usunier" : "TopK") + std::to_string(loss.K()) +
         (loss.rho.front() == loss.rho.back() ? "" : "Weighted") + (loss.smoothing > 0.0 ? "Smoothed" : "");
}

struct Shape {
  std::int64_t n = 57, d = 11, m = 6;
  double lambda = 0.03, bias = 0.5;
  bool costs = false, weighted = true;
  std::uint64_t seed = 9;
};

// One problem, for one kind of engine.
class EngineCase {
 public:
  EngineCase(const EngineKind& kind, const Loss& loss, const Shape& shape = {})
      : kind_(kind), samples_(stored_samples(random_samples(shape.n, shape.d, shape.m, shape.seed), kind.storage)) {
    Rng rng(shape.seed + 1);
    if (shape.weighted) {
      for (std::int64_t i = 0; i < shape.n; ++i) samples_.omega.push_back(i % 4 == 0 ? 2.0 : i % 7 == 0 ? 0.0 : 0.75);
    }
    Vector costs;
    for (std::int64_t e = 0; e < shape.m * shape.m; ++e) {
      costs.push_back(e % (shape.m + 1) == 0 ? 0.0 : 2.0 * rng.uniform());
    }
    bias_ = kind.centred && shape.bias == 0.0 ? 0.7 : shape.bias;  // what is centred has one
    // Far from 0, so that it matters; zeros stay, for sparse rows, unless it is so far that they would be the
    // exceptions.
    for (double& x : samples_.X) {
      if (kind.centred && (x != 0.0 || kind.offset > 10.0))
        x = static_cast<double>(static_cast<float>(x + kind.offset));
    }
    samples_ = stored_samples(samples_, kind.storage);
    data_ = dataset_of(samples_, kind.storage);
    phi_ = kind.psi == Psi::kronecker ? identity(shape.m) : random_phi(shape.m, shape.m + 2, shape.seed);
    problem_ = problem_of(data_, loss, shape.lambda, bias_, shape.costs ? &costs : nullptr);
    if (kind.centred) centre();
    for (PlainJoint* const plain : {&plain_, &of_models_}) {
      *plain = plain_class_features(plain == &plain_ ? centred_samples() : samples_, phi_, bias_);
      plain->loss = known_as(loss);
      plain->lambda = shape.lambda;
      if (loss.entropic()) std::fill(plain->delta.begin(), plain->delta.end(), 0.0);
      for (std::int64_t i = 0; shape.costs && i < shape.n; ++i) {
        std::copy_n(costs.begin() + problem_.label(i) * shape.m, shape.m, plain->delta.begin() + i * shape.m);
      }
    }
    const std::int64_t p = static_cast<std::int64_t>(phi_.size()) / shape.m;
    map_ = std::make_shared<ClassMap>(DenseView<double>{phi_.data(), shape.m, p, p});
    psi_ = std::make_unique<JointMapOf<PlainJoint>>(plain_);
  }
  EngineCase(const EngineCase&) = delete;
  EngineCase& operator=(const EngineCase&) = delete;

  std::unique_ptr<Engine> engine(int threads = 1) const {
    EngineOptions options{.threads = threads};
    options.gram = kind_.gram;
    if (kind_.psi == Psi::class_features) options.classes = map_;
    if (kind_.psi == Psi::any) options.psi = psi_.get();
    return kind_.make(problem_, options);
  }

  // Weights that the engine's precision holds.
  Vector random_weights(std::uint64_t seed, double scale = 1.0) const {
    Rng rng(seed);
    Vector W(static_cast<std::size_t>(plain_.P));
    for (double& w : W) w = static_cast<double>(static_cast<float>(scale * rng.normal()));
    return W;
  }

  const Problem& problem() const { return problem_; }
  // Of rows less their mean, where the kind of engine has one.
  const PlainJoint& plain() const { return plain_; }

  // Of rows as they are: what the weights of a model have their scores on.
  const PlainJoint& of_models() const { return of_models_; }
  // Weights of rows less their mean as those of a model, and back.
  Vector as_model(Vector W) const { return moved(std::move(W), -1.0); }
  Vector as_trained(Vector W) const { return moved(std::move(W), 1.0); }
  // Of a primal that is rounded up: far from 0 its scores are sums of larger numbers.
  double certified() const { return kind_.offset > 10.0 ? 1e-8 : 1e-11; }
  // Of what is multiplied in the engine's own precision.
  double tolerance() const { return kind_.single() ? 2e-5 : 1e-11; }

 private:
  void centre() {
    const double N = samples_.N();
    mean_.assign(static_cast<std::size_t>(samples_.d), 0.0);
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      for (std::size_t f = 0; f < mean_.size(); ++f) {
        mean_[f] += samples_.weight(i) * samples_.X[static_cast<std::size_t>(i) * mean_.size() + f] / N;
      }
    }
    problem_.mean = std::make_shared<const Vector>(mean_);
  }
  Samples centred_samples() const {
    Samples out = samples_;
    for (std::size_t at = 0; !mean_.empty() && at < out.X.size(); ++at) out.X[at] -= mean_[at % mean_.size()];
    return out;
  }
  // The weights of the constant feature change by so many times what the mean is worth.
  Vector moved(Vector W, double times) const {
    if (mean_.empty()) return W;
    const std::size_t d = mean_.size();
    for (std::size_t row = 0; row < W.size(); row += d + 1) {
      for (std::size_t f = 0; f < d; ++f) W[row + d] += times * W[row + f] * mean_[f] / bias_;
    }
    return W;
  }

  EngineKind kind_;
  Samples samples_;
  Vector mean_;
  double bias_ = 0.0;
  Dataset data_;
  Vector phi_;
  PlainJoint plain_, of_models_;
  Problem problem_;
  std::shared_ptr<ClassMap> map_;
  std::unique_ptr<JointMap> psi_;
};

}  // namespace topwolf::testing
