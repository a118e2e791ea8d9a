// The names of a run's statuses. Adding a status means adding it here.
#include "core/status.hpp"

#include <array>
#include <cstddef>

namespace topwolf {

namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 5> names = {"converged", "iteration_limit", "time_limit", "stalled",
                                                   "interrupted"};

}  // namespace

std::string_view to_string(Status status) {
  return names.at(static_cast<std::size_t>(status));
}

std::optional<Status> parse_status(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Status>(i);
  }
  return std::nullopt;
}

}  // namespace topwolf
