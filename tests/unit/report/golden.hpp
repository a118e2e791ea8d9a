// The golden values as the report tests use them.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "topwolf/loss.hpp"

namespace topwolf::testing {

inline const nlohmann::json& golden() {
  static const nlohmann::json values = nlohmann::json::parse(std::ifstream(TOPWOLF_TEST_FILES "/golden.json"));
  return values;
}

inline LossName name_of(const nlohmann::json& entry) {
  static const std::map<std::string, LossName> names = {{"max_hinge", LossName::max_hinge},
                                                        {"top_k", LossName::top_k},
                                                        {"usunier", LossName::usunier},
                                                        {"weighted_top_k", LossName::weighted_top_k},
                                                        {"weighted_usunier", LossName::weighted_usunier}};
  return names.at(entry.at("name").get<std::string>());
}

// The loss of an entry of "loss" or "projection", smoothing left at 0.
inline Loss loss_of(const nlohmann::json& entry) {
  const LossName name = name_of(entry);
  Loss loss;
  loss.family = name == LossName::top_k || name == LossName::weighted_top_k ? Family::top_k : Family::usunier;
  if (name == LossName::weighted_top_k || name == LossName::weighted_usunier) {
    loss.rho = entry.at("rho").get<std::vector<double>>();
    std::erase(loss.rho, 0.0);
  } else if (name != LossName::max_hinge) {
    const auto k = entry.at("k").get<std::size_t>();
    loss.rho.assign(k, 1.0 / static_cast<double>(k));
  }
  return loss;
}

}  // namespace topwolf::testing
