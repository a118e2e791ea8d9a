// The report of a sweep or a cross-validation: errors against C, certificates, and what was chosen.
#pragma once

#include <string>
#include <vector>

#include "topwolf/select.hpp"

namespace topwolf {

// What both have to say about themselves.
struct SelectionContext {
  const Dataset& data;
  std::string command;
  std::uint64_t seed = 0;
  std::string held_out{};               // where the held-out rows come from, "" where there are none
  std::vector<std::string> warnings{};  // sentences
  std::string source{};                 // where the rows come from
  int threads = 1;                      // that were used
  std::int64_t held_out_rows = 0;       // of a sweep
};

// What the tables say about a point: "chosen", or "best"; "dropped after 2 of 5 folds", "2 of 5 folds", "not tried".
std::vector<std::string> remarks_on(const CvResult& result, std::size_t point);

// From how many points the choice was made, where not everything was tried.
std::string choice_sentence(const CvResult& result);

std::string sweep_report(const SelectionContext& context, const SweepResult& result, const std::string& loss,
                         const std::string& data_hash);

// "certified to a relative gap of at most 9.2e-04", rounded upwards.
std::string gap_sentence(const Certificate& certificate);

// Of a sweep that chose by the metric.
std::string probe_report(const SelectionContext& context, const ProbeResult& result, const Metric& metric,
                         const std::string& loss);

// certificate: a sentence on the model that was trained on all rows.
std::string cv_report(const SelectionContext& context, const CvResult& result, const Metric& metric,
                      const std::string& rule, const std::string& certificate);

}  // namespace topwolf
