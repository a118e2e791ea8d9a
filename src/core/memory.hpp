// How much memory the machine has.
#pragma once

#include <unistd.h>

namespace topwolf {

inline double physical_memory() {  // bytes
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace topwolf
