// A loss is a value: a family, the weights rho over ranks, smoothing, and margins (docs/maths.md, L1 to L4).
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topwolf/names.hpp"

namespace topwolf {

// Which loss; docs/choosing_a_loss.md says what each is for.
enum class LossName {
  max_hinge,         // Crammer and Singer's
  top_k,             // the hinge of the mean of the k largest violations
  usunier,           // the mean of the k largest hinges of violations
  weighted_top_k,    // top_k with weights rho over the ranks
  weighted_usunier,  // usunier with weights rho over the ranks
};
template <>
struct Names<LossName> {
  static constexpr std::array<std::string_view, 5> all{"max-hinge", "top-k", "usunier", "weighted-top-k",
                                                       "weighted-usunier"};
};

// What a user asks for; k and rho are filled in when the number of classes is known.
struct LossSpec {
  LossName name = LossName::max_hinge;  // which
  std::optional<std::int64_t> k;        // top_k and usunier only
  std::vector<double> rho;              // weighted losses only; empty: (5,4,3,2,1) cut and scaled
  double smoothing = 0.0;               // the Moreau parameter; 0: the loss itself
  std::vector<double> cost_matrix;      // (m x m), row = true class; empty: unit margins
  // The same wish.
  bool operator==(const LossSpec&) const = default;
};

// "usunier", "usunier:20", "weighted_top_k", ... Throws Error{option}.
LossSpec parse_loss(std::string_view text);

// The same as text, with its smoothing: "usunier:20", "weighted-top-k (2, 1), smoothing 0.5".
std::string to_string(const LossSpec& spec);

// The two families that all losses are members of (docs/maths.md, L1, L2).
enum class Family {
  usunier,  // each violation has its hinge, and these are weighted
  top_k,    // violations are weighted, and their sum has one hinge
};

// The loss as the solvers use it.
struct Loss {
  Family family = Family::usunier;  // where the hinge is
  std::vector<double> rho{1.0};     // K non-zero weights, non-increasing; the rest up to m are 0
  double smoothing = 0.0;           // the Moreau parameter; 0: the loss itself
  // How many of the weights are not 0.
  std::int64_t K() const { return static_cast<std::int64_t>(rho.size()); }
  // Of all weights.
  double rho_sum() const { return std::accumulate(rho.begin(), rho.end(), 0.0); }
};

// Checks the wish against m and fills in defaults. Throws Error{option} for values that are never allowed and
// Error{data} for those that do not fit m classes.
Loss resolve_loss(const LossSpec& spec, std::int64_t m);

}  // namespace topwolf
