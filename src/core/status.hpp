// The names of a run's statuses, in both directions; to_string(Status) is declared in topwolf/result.hpp.
#pragma once

#include <optional>
#include <string_view>

#include "topwolf/result.hpp"

namespace topwolf {

std::optional<Status> parse_status(std::string_view text);

}  // namespace topwolf
