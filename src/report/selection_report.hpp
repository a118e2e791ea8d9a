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
};

std::string sweep_report(const SelectionContext& context, const SweepResult& result, const std::string& loss,
                         const std::string& data_hash);

// certificate: a sentence on the model that was trained on all rows.
std::string cv_report(const SelectionContext& context, const CvResult& result, const std::string& metric,
                      const std::string& rule, const std::string& certificate);

}  // namespace topwolf
