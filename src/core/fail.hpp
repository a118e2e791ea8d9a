// Throwing one sentence, formatted.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join, since fmt 11

#include <utility>

#include "topwolf/error.hpp"

namespace topwolf {

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace topwolf
