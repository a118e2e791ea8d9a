// What the values of the public enumerations are called in files and reports, in both directions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "topwolf/dataset.hpp"
#include "topwolf/result.hpp"

namespace topwolf {

// In the order of the enumeration. Adding a value means adding it here.
template <class E>
struct Names;
template <>
struct Names<Status> {
  static constexpr std::array<std::string_view, 5> all = {"converged", "iteration_limit", "time_limit", "stalled",
                                                          "interrupted"};
};
template <>
struct Names<LabelType> {
  static constexpr std::array<std::string_view, 4> all = {"integer", "real", "boolean", "text"};
};
template <>
struct Names<NormalizeKind> {
  static constexpr std::array<std::string_view, 3> all = {"none", "unit", "maxabs"};
};
template <>
struct Names<Precision> {
  static constexpr std::array<std::string_view, 2> all = {"float32", "float64"};
};

template <class E>
constexpr std::string_view name_of(E value) {
  return Names<E>::all.at(static_cast<std::size_t>(value));
}

template <class E>
std::optional<E> parse_name(std::string_view text) {
  const auto& all = Names<E>::all;
  const auto found = std::find(all.begin(), all.end(), text);
  return found == all.end() ? std::nullopt : std::optional(static_cast<E>(found - all.begin()));
}

}  // namespace topwolf
