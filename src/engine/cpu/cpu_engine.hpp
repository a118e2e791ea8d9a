// The engines on this machine's cores, by the map psi that they are for.
#pragma once

#include <memory>

#include "engine/cpu/block_products.hpp"
#include "engine/cpu/class_map.hpp"
#include "engine/engine.hpp"
#include "topwolf/joint.hpp"

namespace topwolf {

// Whether block ascent has its scores from a Gram matrix, and from which; null: from one of its own.
struct GramChoice {
  bool wanted = false;
  std::shared_ptr<const Gram> shared{};
};

// psi(x, j) = e_j (x) x. lengths2: ||x_i||^2 of the rows, here and below.
std::unique_ptr<Engine> make_cpu_engine(const Problem& problem, const GramChoice& gram, SharedLengths lengths2,
                                        int threads);

// psi(x, j) = phi_j (x) x: the plain engine with phi around it, so that W stands for V (p x D) in all verbs.
std::unique_ptr<Engine> make_class_engine(const Problem& problem, std::shared_ptr<const ClassMap> map,
                                          const GramChoice& gram, SharedLengths lengths2, int threads);

// Any psi. Throws Error{data} where one of its vectors is not finite or too long to be squared.
std::unique_ptr<Engine> make_joint_engine(const Problem& problem, const JointMap& psi, int threads);

}  // namespace topwolf
