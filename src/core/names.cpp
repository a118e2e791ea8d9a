#include "core/names.hpp"

namespace topwolf {

std::string_view to_string(Status status) {
  return name_of(status);
}

}  // namespace topwolf
