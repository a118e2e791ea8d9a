// Throwing one sentence, formatted. Fields of options are named by Field, so that front ends can rename them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join, since fmt 11

#include <algorithm>
#include <string_view>
#include <utility>

#include "topwolf/error.hpp"

namespace topwolf {

inline constexpr char field_mark = '\x1f';

// A field of the library's options, or one with a value, as an argument of a format.
struct Field {
  std::string_view name;
  std::string_view value{};
};

template <class... Args>
Sentence say(fmt::format_string<Args...> format, Args&&... args) {
  return Sentence(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, say(format, std::forward<Args>(args)...));
}

}  // namespace topwolf

template <>
struct fmt::formatter<topwolf::Field> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const topwolf::Field& field, Context& context) const {
    using topwolf::field_mark;
    return fmt::format_to(context.out(), "{}{}{}{}{}", field_mark, field.name, field.value.empty() ? "" : "=",
                          field.value, field_mark);
  }
};
