// JSON from a file nobody vouches for: deep nesting and duplicate keys are refused besides what is not JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace topwolf {

// Error{data} "PATH: sentence", where `what` names the text ("the header").
nlohmann::json parse_strict_json(std::string_view text, const std::string& path, const std::string& what);

// Whether it is an object with this text under the key. Comparing json values asks for memory where nothing may be
// thrown.
bool says(const nlohmann::json& object, const char* key, std::string_view text);

// Whether bytes are UTF-8 text, as JSON demands.
bool is_utf8(const std::string& text);

}  // namespace topwolf
