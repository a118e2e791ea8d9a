#include "core/threads.hpp"

#include <algorithm>

namespace topwolf {

int resolve_threads(int requested) {
  return requested > 0 ? requested : std::max(1, omp_get_max_threads());
}

}  // namespace topwolf
