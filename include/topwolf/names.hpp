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

// The names of a table whose rows have an `id` and a `name`; the rows must be in the order of the enumeration.
template <class Row, std::size_t size>
consteval std::array<std::string_view, size> names_in(const std::array<Row, size>& table) {
  std::array<std::string_view, size> names;
  for (std::size_t row = 0; row < size; ++row) {
    if (static_cast<std::size_t>(table[row].id) != row) throw "a row of the table is out of order";
    names[row] = table[row].name;
  }
  return names;
}

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
