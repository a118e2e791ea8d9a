#include "train/search_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/hash.hpp"
#include "train/grid.hpp"

namespace topwolf {

Identity search_identity(Trainer& rows, const TrainOptions& first, const CvOptions& options,
                         const std::vector<double>& grid) {
  Identity out = identity_of("cv", rows, first);
  if (out.empty()) return out;
  std::vector<std::string> losses;
  for (const LossSpec& loss : options.losses) losses.push_back(to_string(loss));
  out.emplace_back("the loss", fmt::format("{}", fmt::join(losses, ", ")));
  out.emplace_back("C", describe_grid(grid));
  out.emplace_back("the number of folds", fmt::format("{}", options.folds.size()));
  Hasher folds;
  for (const Fold& fold : options.folds) {
    folds.add(fold.training.data(), fold.training.size() * sizeof(std::int64_t));
    folds.add(fold.held_out.data(), fold.held_out.size() * sizeof(std::int64_t));
  }
  out.emplace_back("the fingerprint of the folds", folds.hex());
  out.emplace_back("the metric", to_string(options.metric));
  const std::string rule = options.one_standard_error ? "one standard error" : "best";
  out.emplace_back("the rule", rule + (options.race ? ", in a race" : ""));
  return out;
}

std::string search_json(const CvOptions& options, const CvResult& result) {
  // What the library would make of null on the way is not whole where there is no memory.
  nlohmann::ordered_json search = nlohmann::ordered_json::object();
  search["metric"] = options.judge ? std::string("given") : to_string(options.metric);
  search["folds"] = options.folds.size();
  search["rule"] = options.one_standard_error ? "one-standard-error" : "best";
  search["race"] = options.race;
  search["complete"] = result.complete;
  search["points"] = nlohmann::ordered_json::array();
  for (const CvPoint& point : result.points) {
    search["points"].push_back({{"loss", to_string(point.loss)},
                                {"C", point.C},
                                {"mean", point.mean},
                                {"standard_error", point.standard_error},
                                {"errors", point.errors},
                                {"dropped", point.dropped}});
  }
  search["chosen"] = result.chosen;
  return search.dump();
}

}  // namespace topwolf
