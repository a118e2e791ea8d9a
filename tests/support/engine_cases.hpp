// The engines that the contract suites run over, each with a problem and the same problem in the plainest words. A new
// engine is one line in engine_kinds().
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/factory.hpp"
#include "support/plain_joint.hpp"
#include "support/plain_problem.hpp"
#include "support/toy_engine.hpp"

namespace topwolf::testing {

enum class Psi { kronecker, class_features, any };

struct EngineKind {
  const char* name;
  Storage storage;
  Psi psi = Psi::kronecker;
  bool gram = false;  // for block ascent
  EngineFactory make = [](const Problem& problem, const EngineOptions& options) {
    return make_engine(problem, options);
  };

  bool single() const { return storage != Storage::dense64 && storage != Storage::csr64; }
};

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
          {"Toy", Storage::dense64, Psi::kronecker, false, make_toy_engine}};
}

// The losses that a contract must hold for: both families, equal weights and others, one weight, each also smoothed.
inline std::vector<Loss> contract_losses() {
  std::vector<Loss> out;
  for (const double smoothing : {0.0, 0.1}) {
    out.push_back({Family::usunier, {1.0}, smoothing});
    out.push_back({Family::top_k, Vector(3, 1.0 / 3), smoothing});
    out.push_back({Family::usunier, Vector(3, 1.0 / 3), smoothing});
    out.push_back({Family::top_k, {0.5, 0.3, 0.2}, smoothing});
    out.push_back({Family::usunier, {0.5, 0.3, 0.2}, smoothing});
  }
  return out;
}

inline std::string name_of(const Loss& loss) {
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
    data_ = dataset_of(samples_, kind.storage);
    phi_ = kind.psi == Psi::kronecker ? identity(shape.m) : random_phi(shape.m, shape.m + 2, shape.seed);
    plain_ = plain_class_features(samples_, phi_, shape.bias);
    plain_.loss = loss;
    plain_.lambda = shape.lambda;
    problem_ = problem_of(data_, loss, shape.lambda, shape.bias, shape.costs ? &costs : nullptr);
    if (shape.costs) {
      for (std::int64_t i = 0; i < shape.n; ++i) {
        std::copy_n(costs.begin() + problem_.label(i) * shape.m, shape.m, plain_.delta.begin() + i * shape.m);
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
  const PlainJoint& plain() const { return plain_; }
  // Of what is multiplied in the engine's own precision.
  double tolerance() const { return kind_.single() ? 2e-5 : 1e-11; }

 private:
  EngineKind kind_;
  Samples samples_;
  Dataset data_;
  Vector phi_;
  PlainJoint plain_;
  Problem problem_;
  std::shared_ptr<ClassMap> map_;
  std::unique_ptr<JointMap> psi_;
};

}  // namespace topwolf::testing
