// What is tried where the loss itself is to be chosen.
#include <algorithm>

#include "topwolf/select.hpp"

namespace topwolf {

// In the order of what a fit costs: of equals the first is taken, and where time runs out it has been tried first.
std::vector<LossCandidate> loss_candidates(const Metric& metric, std::int64_t m) {
  const std::int64_t asked = std::max<std::int64_t>(1, metric.largest_k());
  std::vector<LossCandidate> out;
  const auto add = [&](LossName name, std::optional<std::int64_t> k, std::string_view reason) {
    LossSpec spec;
    spec.name = name;
    spec.k = k;
    out.push_back({spec, reason});
  };
  // A k of 1 is the max hinge, and up to 2 the two families are one.
  const auto add_times = [&](LossName name, std::int64_t least_k, std::string_view reason) {
    std::int64_t last = 0;
    for (const std::int64_t times : {2, 4}) {
      const std::int64_t k = asked > (m - 1) / times ? m - 1 : times * asked;
      if (k >= least_k && k != last) add(name, k, reason);
      last = k;
    }
  };
  add(LossName::max_hinge, {}, "the usual loss, and the cheapest to fit");
  if (m > 2) {
    add(LossName::weighted_usunier, {},
        "five ranks, the first counting most: often as good at top-1 as the max hinge, and better beyond");
  }
  add(LossName::softmax, {}, "logistic regression's: ahead where classes overlap, and its models give probabilities");
  add_times(LossName::usunier, 2,
            "more ranks than are asked for: as a rule better at k than k itself, and mild at top-1");
  add_times(LossName::top_k, 3, "the same, for the k asked for alone: the best there where classes are many");
  return out;
}

}  // namespace topwolf
