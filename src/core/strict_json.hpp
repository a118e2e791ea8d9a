// JSON from a file nobody vouches for: deep nesting and duplicate keys are refused besides what is not JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace topwolf {

// Error{data} "PATH: sentence", where `what` names the text ("the header").
nlohmann::json parse_strict_json(std::string_view text, const std::string& path, const std::string& what);

}  // namespace topwolf
