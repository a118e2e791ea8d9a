// The best copy of the kernels that this processor can run, chosen once.
#include "kernels/kernels.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace topwolf {

extern const Kernels kernels_baseline;
#ifdef __x86_64__
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

bool converts_float16() {
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;  // clang 14 has no name for it
#else
  return false;
#endif
}

const Kernels& kernels() {
#ifdef __x86_64__
  static const Kernels& best = [&]() -> const Kernels& {
    // For whoever comes here before the compiler's own constructors have run.
    __builtin_cpu_init();
    // All that the copy was compiled with (kernels.cmake): one missing part would be an illegal instruction.
    const bool halves = converts_float16();
    if (halves && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
      return kernels_avx512;
    }
    if (halves && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kernels_avx2;
    return kernels_baseline;
  }();
  return best;
#else
  return kernels_baseline;
#endif
}

}  // namespace topwolf
