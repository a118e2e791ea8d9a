// Numbers of 16 bits against what the standards say of them, digit by digit.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "topwolf/half.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

template <class Half>
Half of_bits(std::uint32_t bits) {
  return std::bit_cast<Half>(static_cast<std::uint16_t>(bits));
}

// (-1)^s 2^(e - bias) 1.f, and 2^(1 - bias) 0.f where e is 0.
template <class Half>
double plain_value(std::uint32_t bits, int fraction_bits) {
  const int most = (1 << (15 - fraction_bits)) - 1, bias = most / 2;
  const int exponent = static_cast<int>(bits & 0x7fff) >> fraction_bits;
  const double fraction = std::ldexp(static_cast<double>(bits & ((1u << fraction_bits) - 1)), -fraction_bits);
  double value = std::ldexp(exponent == 0 ? fraction : 1.0 + fraction, std::max(exponent, 1) - bias);
  if (exponent == most) value = fraction == 0.0 ? INFINITY : NAN;
  return std::copysign(value, (bits & 0x8000) != 0 ? -1.0 : 1.0);
}

template <class Half>
void check_every(int fraction_bits) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto number = of_bits<Half>(bits);
    const double expected = plain_value<Half>(bits, fraction_bits), value = static_cast<float>(number);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(value)))) << bits;
      continue;
    }
    EXPECT_EQ(value, expected) << bits;
    EXPECT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    EXPECT_EQ(Half(value).bits, bits) << "and back";
    // Halfway to the next one away from 0 the even one is taken, and a breath beside it the nearer one.
    const double next = plain_value<Half>(bits + 1, fraction_bits);
    if (!std::isfinite(next) || std::signbit(next) != std::signbit(value)) continue;
    const double middle = value + (next - value) / 2;
    EXPECT_EQ(Half(middle).bits, bits % 2 == 0 ? bits : bits + 1) << bits;
    EXPECT_EQ(Half(std::nextafter(middle, value)).bits, bits) << bits;
    EXPECT_EQ(Half(std::nextafter(middle, next)).bits, bits + 1) << bits;
  }
}

TEST(Half, EveryFloat16IsWhatTheStandardSays) {
  check_every<Float16>(10);
}

TEST(Half, EveryBFloat16IsTheUpperHalfOfAFloat) {
  check_every<BFloat16>(7);
}

TEST(Half, WhatIsTooLargeBecomesInfinite) {
  EXPECT_EQ(Float16(65504.0).bits, 0x7bff);
  EXPECT_EQ(Float16(std::nextafter(65520.0, 0.0)).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0).bits, 0x7c00) << "halfway to what would be the next";
  EXPECT_EQ(Float16(-1e300).bits, 0xfc00);
  EXPECT_EQ(BFloat16(1e39).bits, 0x7f80);
  EXPECT_EQ(BFloat16(static_cast<double>(std::numeric_limits<float>::max())).bits, 0x7f80) << "nearer than the largest";
  EXPECT_EQ(Float16(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_EQ(Float16(-0.0).bits, 0x8000);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
