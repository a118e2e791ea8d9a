// A loss is a value: a family, the weights rho over ranks, smoothing or temperature, and margins (ledger, L1 to
// L4, L10); or an oracle, smoothing and margins (L11).
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topwolf/names.hpp"
#include "topwolf/oracle.hpp"

namespace topwolf {

// Which loss; choosing_a_loss.md says what each is for.
enum class LossName {
  max_hinge,         // Crammer and Singer's
  top_k,             // the hinge of the mean of the k largest violations
  usunier,           // the mean of the k largest hinges of violations
  weighted_top_k,    // top_k with weights rho over the ranks
  weighted_usunier,  // usunier with weights rho over the ranks
  softmax,           // multinomial logistic regression's: the max hinge, smoothed by an entropy
  oracle,            // one of your own, LossSpec::oracle: the only one that cannot be asked for by name
};

// The two families that all losses are members of (ledger, L1, L2).
enum class Family {
  usunier,  // each violation has its hinge, and these are weighted
  top_k,    // violations are weighted, and their sum has one hinge
};

// Where a loss has its weights over the ranks from.
enum class Ranks {
  largest,  // 1 for the largest violation alone
  mean,     // 1/k for the k largest
  given,    // LossSpec::rho
};

// What a loss is by its name.
struct LossTraits {
  LossName id;                     // the row's place
  std::string_view name;           // in options, files and reports
  Family family;                   // max_hinge and softmax: they coincide
  Ranks ranks;                     // and with them k or rho
  bool takes_temperature = false;  // LossSpec::temperature has a meaning
  // So has LossSpec::k.
  constexpr bool takes_k() const { return ranks == Ranks::mean; }
  // So has LossSpec::rho.
  constexpr bool takes_rho() const { return ranks == Ranks::given; }
};
// The one table of losses: names, options, checks and help follow from it.
inline constexpr std::array loss_table{
    LossTraits{LossName::max_hinge, "max-hinge", Family::usunier, Ranks::largest},
    LossTraits{LossName::top_k, "top-k", Family::top_k, Ranks::mean},
    LossTraits{LossName::usunier, "usunier", Family::usunier, Ranks::mean},
    LossTraits{LossName::weighted_top_k, "weighted-top-k", Family::top_k, Ranks::given},
    LossTraits{LossName::weighted_usunier, "weighted-usunier", Family::usunier, Ranks::given},
    LossTraits{LossName::softmax, "softmax", Family::usunier, Ranks::largest, true},
    LossTraits{LossName::oracle, "oracle", Family::usunier, Ranks::largest},
};
template <>
struct Names<LossName> {
  static constexpr auto all = names_in(loss_table);
};
// Throws for a name without a row.
constexpr const LossTraits& traits(LossName name) {
  return loss_table.at(static_cast<std::size_t>(name));
}
// Those that can be asked for by name.
inline constexpr auto loss_names = [] {
  std::array<std::string_view, loss_table.size() - 1> names;
  std::copy_n(Names<LossName>::all.begin(), names.size(), names.begin());
  return names;
}();

// What a user asks for; k and rho are filled in when the number of classes is known.
struct LossSpec {
  LossName name = LossName::max_hinge;  // which
  std::optional<std::int64_t> k;        // top_k and usunier only
  std::vector<double> rho;  // weighted losses only; empty: (5,4,3,2,1) cut and scaled; a model's oracle: its reach
  double smoothing = 0.0;   // the Moreau parameter; 0: the loss itself; not with softmax
  std::optional<double> temperature;  // softmax only; unset: 1
  std::vector<double> cost_matrix;    // (m x m), row = true class; empty: margins of 1, or of 0 with softmax
  std::shared_ptr<const LossOracle>
      oracle{};         // oracle only; null in a model that was loaded, until you put yours there
  std::string title{};  // oracle only: what it is called, also where it is not there
  // The same wish.
  bool operator==(const LossSpec&) const = default;
};

// "usunier", "usunier:20", "weighted_top_k", ... Throws Error{option}.
LossSpec parse_loss(std::string_view text);

// A loss of one's own.
LossSpec loss_by_oracle(std::shared_ptr<const LossOracle> oracle);

// The same as text, with its smoothing: "usunier:20", "weighted-top-k (2, 1), smoothing 0.5".
std::string to_string(const LossSpec& spec);

// What a certificate of this loss presupposes, as the end of a sentence: ", if the oracle is right", or nothing.
std::string_view condition_of(const LossSpec& spec);

// The loss as the solvers use it.
struct Loss {
  Family family = Family::usunier;             // where the hinge is
  std::vector<double> rho{1.0};                // K non-zero weights, non-increasing; the rest up to m are 0
  double smoothing = 0.0;                      // the Moreau parameter; 0: the loss itself
  double temperature = 0.0;                    // of an entropy, L10: the loss is softmax; 0: none
  std::shared_ptr<const LossOracle> oracle{};  // L11: then rho is its reach alone; null: a member of a family
  std::int64_t classes = 0;                    // of an oracle: m
  // Whether it is softmax.
  bool entropic() const { return temperature > 0.0; }
  // Of every class but the example's own, where nothing else is said.
  double usual_margin() const { return entropic() ? 0.0 : 1.0; }
  // The most entries that a direction has.
  std::int64_t entries(std::int64_t m) const { return entropic() || oracle ? m : K() + 1; }
  // How many of the weights are not 0.
  std::int64_t K() const { return static_cast<std::int64_t>(rho.size()); }
  // Of all weights.
  double rho_sum() const { return std::accumulate(rho.begin(), rho.end(), 0.0); }
};

// Checks the wish against m and fills in defaults. Throws Error{option} for values that are never allowed, or an oracle
// that is found to be wrong, and Error{data} for those that do not fit m classes, or an oracle that is not there.
Loss resolve_loss(const LossSpec& spec, std::int64_t m);

}  // namespace topwolf
