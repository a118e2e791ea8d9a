// The report of a training run: one page that needs nothing else, readable without scripts and printable.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/assessment.hpp"
#include "report/progress.hpp"
#include "topwolf/train.hpp"

namespace topwolf {

struct RunReport {
  const Dataset& data;
  const TrainResult& result;
  std::uint64_t seed = 0;
  std::string status{};                                   // a sentence: "converged after 214 passes"
  std::string certificate{};                              // a sentence: "at most 0.09 % above the optimum"
  std::string loss{};                                     // "usunier, k = 20"
  std::vector<std::pair<std::string, double>> seconds{};  // "loading": 0.3, ...
  std::string source{};                                   // where the rows come from
  std::vector<std::string> warnings{};                    // sentences
  std::vector<IterationRecord> trace{};
  std::vector<HeldOutErrors> held_out_trace{};  // of every pass of the trace, or empty
  Assessment training{};
  struct HeldOut {
    std::string source;
    std::vector<std::int32_t> y;
    Assessment assessment;
  };
  std::optional<HeldOut> held_out{};
};

std::string html_report(const RunReport& report);

}  // namespace topwolf
