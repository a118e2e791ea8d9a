// The golden values: tests/files/golden.json.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "topwolf/loss.hpp"

namespace topwolf::testing {

inline const nlohmann::json& golden() {
  static const nlohmann::json values = nlohmann::json::parse(std::ifstream(TOPWOLF_TEST_FILES "/golden.json"));
  return values;
}

// The loss an entry asks for; `values` holds k and rho (the entry itself, or the golden problem).
inline LossSpec spec_of(const nlohmann::json& entry, const nlohmann::json& values) {
  LossSpec spec = parse_loss(entry.at("name").get<std::string>());
  if (spec.name == LossName::top_k || spec.name == LossName::usunier) spec.k = values.at("k").get<std::int64_t>();
  if (spec.name == LossName::weighted_top_k || spec.name == LossName::weighted_usunier) {
    spec.rho = values.at("rho").get<std::vector<double>>();
  }
  spec.smoothing = entry.value("smoothing", 0.0);
  return spec;
}

// The same, resolved, with smoothing left at 0; the golden rho has one place per class.
inline Loss loss_of(const nlohmann::json& entry, const nlohmann::json& values) {
  LossSpec spec = spec_of(entry, values);
  spec.smoothing = 0.0;
  return resolve_loss(spec, static_cast<std::int64_t>(values.at("rho").size()));
}

}  // namespace topwolf::testing
