// What the values of an enumeration are called in files, options and reports, in both directions. Each table stands
// beside its enumeration; there is no other list of names.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace topwolf {

// `all`: the names in the order of the enumeration.
template <class E>
struct Names;

template <class E>
concept Named = requires {
  Names<E>::all;
};

// What a value is called.
template <Named E>
constexpr std::string_view to_string(E value) {
  return Names<E>::all.at(static_cast<std::size_t>(value));
}

// None where nothing is called so.
template <Named E>
constexpr std::optional<E> parse_name(std::string_view text) {
  const auto& all = Names<E>::all;
  const auto found = std::find(all.begin(), all.end(), text);
  return found == all.end() ? std::nullopt : std::optional(static_cast<E>(found - all.begin()));
}

}  // namespace topwolf
