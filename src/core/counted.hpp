// Numbers of things in sentences: "1 row", "2 rows", "1 class", "3 classes".
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace topwolf {

template <class Count>
std::string counted(Count count, std::string_view thing) {
  const char* const ending = count == Count{1} ? "" : thing.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", count, thing, ending);
}

}  // namespace topwolf
