// Numbers of 16 bits, in which features may be stored: float16 (IEEE 754's binary16) and bfloat16 (the upper half of a
// float32). Nothing is computed with them: they are widened to float32, which is exact.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace topwolf {

// The 16 bits nearest to a number, ties to even; 1.0 lies in the middle of the exponents. What is too large becomes
// infinite, and NaN stays NaN.
constexpr std::uint16_t nearest_16_bits(double value, int fraction_bits) {
  constexpr std::uint64_t one = 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = bits >> 48 & 0x8000, magnitude = bits & ~(one << 63);
  const std::uint64_t infinity = (one << 15) - (one << fraction_bits);
  if (magnitude > std::uint64_t{0x7ff} << 52) {
    return static_cast<std::uint16_t>(sign | infinity | one << (fraction_bits - 1));
  }
  const int exponent = static_cast<int>(magnitude >> 52) - 1023, least = 2 - (1 << (14 - fraction_bits));
  const std::uint64_t significand = (magnitude & ((one << 52) - 1)) | one << 52;
  const int dropped = 52 - fraction_bits + std::max(0, least - exponent);  // digits of the significand
  if (dropped > 53) return static_cast<std::uint16_t>(sign);
  const std::uint64_t half = one << (dropped - 1), rest = significand & ((half << 1) - 1);
  std::uint64_t nearest = significand >> dropped;
  if (rest > half || (rest == half && nearest % 2 == 1)) ++nearest;
  // The leading 1 of what is no subnormal number is the last step of the exponent; so is what was carried into it.
  nearest += static_cast<std::uint64_t>(std::max(0, exponent - least)) << fraction_bits;
  return static_cast<std::uint16_t>(sign | std::min(nearest, infinity));
}

// 1 bit of sign, 5 of exponent, 10 of fraction: up to 65,504, three digits.
struct Float16 {
  std::uint16_t bits;  // as NumPy's float16

  // 0 in a container; elsewhere unset, as a float is.
  Float16() = default;
  // The nearest.
  explicit constexpr Float16(double value) : bits(nearest_16_bits(value, 10)) {}
  // Exact. By hand: the baseline instruction set has no conversion, and not every compiler a type.
  constexpr operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude < 0x400u) {  // a multiple of the least number
      const float value = static_cast<float>(magnitude) * 0x1p-24f;
      return sign != 0 ? -value : value;
    }
    if (magnitude < 0x7c00u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
    // Infinite, or NaN: quiet, as processors make it.
    return std::bit_cast<float>(sign | 0x7f800000u | magnitude << 13 | (magnitude > 0x7c00u ? 0x400000u : 0u));
  }
};

// 1 bit of sign, 8 of exponent, 7 of fraction: as far as float32, two digits.
struct BFloat16 {
  std::uint16_t bits;  // as ml_dtypes' bfloat16

  // The same.
  BFloat16() = default;
  // The nearest.
  explicit constexpr BFloat16(double value) : bits(nearest_16_bits(value, 7)) {}
  // Exact.
  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

}  // namespace topwolf
