// Arithmetic as IEEE 754 has it, whatever mode the caller's thread is in: some library in the process may have been
// linked with -ffast-math, which makes subnormal numbers 0, and a certificate would be about other rows. Every public
// function that computes holds one of these, and so does every helper thread.
#pragma once

#include <cfenv>
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace topwolf {

class IeeeArithmetic {
 public:
  IeeeArithmetic() : mode_(mode()), rounding_(std::fegetround()) {
    if (rounding_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
    if ((mode_ & flushing) != 0) set_mode(mode() & ~flushing);
  }
  IeeeArithmetic(const IeeeArithmetic&) = delete;
  IeeeArithmetic& operator=(const IeeeArithmetic&) = delete;
  ~IeeeArithmetic() {
    if ((mode_ & flushing) != 0) set_mode(mode() | (mode_ & flushing));
    if (rounding_ != FE_TONEAREST) std::fesetround(rounding_);
  }

 private:
  using Mode = std::uint64_t;
#if defined(__x86_64__)
  static constexpr Mode flushing = 0x8040;  // of results, and of what is read
  static Mode mode() {
    return _mm_getcsr();
  }
  static void set_mode(Mode bits) {
    _mm_setcsr(static_cast<unsigned>(bits));
  }
#elif defined(__aarch64__)
  static constexpr Mode flushing = Mode{1} << 24;
  static Mode mode() {
    Mode bits;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void set_mode(Mode bits) {
    asm volatile("msr fpcr, %0" : : "r"(bits));
  }
#else
  static constexpr Mode flushing = 0;
  static Mode mode() {
    return 0;
  }
  static void set_mode(Mode) {}
#endif

  const Mode mode_;
  const int rounding_;
};

}  // namespace topwolf
