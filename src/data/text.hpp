// What the readers of text share: numbers, quoting for messages, lines. Numbers are read by std::from_chars, so that
// they are rounded correctly and do not depend on the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace topwolf {

enum class NumberFault { none, malformed, not_finite, too_large };

template <class T>
struct ParsedNumber {
  T value = 0;
  NumberFault fault = NumberFault::none;
};

// Whether a decimal number, known to be well formed and out of a type's range, is so because it is too large: the power
// of ten of its first digit that is not 0 is positive.
bool exceeds_range(std::string_view number);

// The whole text is one decimal number, with an optional sign. What is too small for T is 0.
template <class T>
ParsedNumber<T> parse_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {0, NumberFault::malformed};
  }
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc::invalid_argument || stop != end) return {0, NumberFault::malformed};
  if (code == std::errc::result_out_of_range) {
    if (exceeds_range(text)) return {0, NumberFault::too_large};
    return {0, NumberFault::none};
  }
  return {value, std::isfinite(value) ? NumberFault::none : NumberFault::not_finite};
}

// "the value 'x' is not a number", and why.
std::string describe_fault(NumberFault fault, std::string_view text, std::size_t number_size);

// In quotes, shortened, control characters and bytes that are not UTF-8 as \xNN: safe to print.
std::string quote(std::string_view text);

// Without the byte order mark that some editors put first.
std::string_view skip_byte_order_mark(std::string_view text);

std::string_view trim_blanks(std::string_view text);

// Calls body(number, line) for every line, counted from 1 and without its newline.
template <class Body>
void for_lines(std::string_view text, const Body& body) {
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    body(number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string lower_case(std::string_view text);

// Error{data} at the first NUL byte.
void check_no_nul(std::string_view text, const std::string& name);

}  // namespace topwolf
