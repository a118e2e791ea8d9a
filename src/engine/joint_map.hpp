// Any psi behind the interfaces that the solvers know.
#pragma once

#include <memory>
#include <vector>

#include "engine/block_scores.hpp"
#include "engine/engine.hpp"
#include "topwolf/joint.hpp"

namespace topwolf {

// max_j ||psi(x_i, j)||^2 of every example: psi's own word, or from its two verbs.
std::vector<double> squared_lengths(const JointMap& psi, int threads);

// The problem and psi must outlive what is made.
std::unique_ptr<Engine> make_joint_engine(const Problem& problem, const JointMap& psi, int threads);
std::unique_ptr<BlockScores> make_joint_scores(const Problem& problem, const JointMap& psi, int threads);

}  // namespace topwolf
