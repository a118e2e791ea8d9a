// Numbers out of the fuzzer's bytes, for targets whose input is no file. Where the bytes end everything is 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace topwolf::fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  template <class T = std::uint8_t>
  T take() {
    T value{};
    const std::size_t count = std::min(sizeof(T), left_);
    std::memcpy(&value, at_, count);
    at_ += count;
    left_ -= count;
    return value;
  }

  // 0 .. count - 1, from two bytes.
  std::int64_t below(std::int64_t count) { return take<std::uint16_t>() % count; }

  // Often one that gives trouble, sometimes any bits, NaN included.
  double number() {
    constexpr double troubles[] = {0.0,  1.0,   -1.0,   0.5,     1e-9,   1e9,     0x1p53,   -0x1p53,
                                   1e16, 1e-17, 1e-300, -1e-300, 1e300,  -1e300,  5e-324,   1.7976931348623157e308,
                                   3.0,  -0.0,  1e-20,  0x1p31,  0x1p63, -0x1p63, INFINITY, NAN};
    const std::uint8_t kind = take();
    if (kind < std::size(troubles)) return troubles[kind];
    if (kind < 128) return static_cast<double>(take<std::int8_t>()) / 16.0;
    return take<double>();
  }

  double finite_number() {
    const double value = number();
    return std::isfinite(value) ? value : 0.0;
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

}  // namespace topwolf::fuzz
