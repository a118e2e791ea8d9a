// Whether bytes are UTF-8 text, as JSON demands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace topwolf {

inline bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace topwolf
