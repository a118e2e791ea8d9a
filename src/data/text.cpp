// What the readers of text share.
#include "data/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "core/fail.hpp"
#include "core/strict_json.hpp"

namespace topwolf {

std::string describe_fault(NumberFault fault, std::string_view text, std::size_t number_size) {
  if (text.empty()) return "a value is missing";
  if (fault == NumberFault::malformed) return fmt::format("the value {} is not a number", quote(text));
  if (fault == NumberFault::not_finite) return fmt::format("the value {} is not finite", quote(text));
  return fmt::format("the value {} is too large for float{}", quote(text), 8 * number_size);
}

std::string quote(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::size_t shown = std::min(text.size(), longest);
  while (shown < text.size() && shown > 0 && (static_cast<unsigned char>(text[shown]) >> 6) == 2) --shown;  // whole
  const bool readable = is_utf8(std::string(text.substr(0, shown)));
  std::string result = "'";
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !readable)) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + (text.size() > shown ? "...'" : "'");
}

// from_chars says "out of range" of 1e-999 as of 1e999; the decimal place of the first digit tells the two apart.
bool exceeds_range(std::string_view number) {
  constexpr std::int64_t largest_power = std::int64_t{1} << 60;  // no text is that long
  const std::size_t e = number.find_first_of("eE");
  const std::string_view digits = number.substr(0, e);
  std::int64_t power = 0;
  if (e != std::string_view::npos) {
    std::string_view exponent = number.substr(e + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    const auto [_, code] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
    if (code == std::errc::result_out_of_range) return !exponent.starts_with('-');
    power = std::clamp<std::int64_t>(power, -largest_power, largest_power);
  }
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  return power + point - first > 0;
}

std::string_view skip_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

std::string_view trim_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Of ASCII alone, and whatever the locale: names of formats and options, not labels.
std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

void check_no_nul(std::string_view text, const std::string& name) {
  const std::size_t at = text.find('\0');
  if (at == std::string_view::npos) return;
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;
  fail(ErrorKind::data, "{}:{}:{}: a NUL byte is not allowed in text", name, line, column);
}

}  // namespace topwolf
