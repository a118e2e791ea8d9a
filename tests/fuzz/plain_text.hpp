// Text read in the plainest way, by the C library: what the readers of src/data are compared with.
#pragma once

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace topwolf::plain {

inline std::vector<std::string> split(const std::string& text, const std::string& separators) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (separators.find(c) == std::string::npos) {
      pieces.back() += c;
    } else {
      pieces.emplace_back();
    }
  }
  return pieces;
}

inline std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> result = split(line, " \t\r");
  std::erase(result, "");
  return result;
}

inline bool all_digits(std::string_view text) {
  for (const char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c))) return false;
  }
  return !text.empty();
}

inline std::string without_sign(const std::string& text) {
  return text.starts_with('+') || text.starts_with('-') ? text.substr(1) : text;
}

// [sign] digits [. digits] [e [sign] digits], where one side of the point may be empty.
inline bool is_decimal(const std::string& text) {
  const std::string number = without_sign(text);
  const std::size_t e = number.find_first_of("eE");
  const std::string mantissa = number.substr(0, e);
  if (e != std::string::npos && !all_digits(without_sign(number.substr(e + 1)))) return false;
  const std::size_t point = mantissa.find('.');
  if (point == std::string::npos) return all_digits(mantissa);
  return all_digits(mantissa.substr(0, point) + mantissa.substr(point + 1));
}

// Nothing for what is no number or does not fit T.
template <class T>
std::optional<T> number(const std::string& text) {
  if (!is_decimal(text)) return std::nullopt;
  const T value = std::is_same_v<T, float> ? static_cast<T>(std::strtof(text.c_str(), nullptr))
                                           : static_cast<T>(std::strtod(text.c_str(), nullptr));
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// "nan", "nan(...)", "inf" and "infinity" in any case, with a sign or without.
inline bool is_not_finite(const std::string& text) {
  std::string word = without_sign(text);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word == "inf" || word == "infinity" || word == "nan") return true;
  if (!word.starts_with("nan(") || !word.ends_with(")")) return false;
  for (const char c : word.substr(4, word.size() - 5)) {
    if (c != '_' && !std::isalnum(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

inline std::string without_byte_order_mark(std::string_view text) {
  return std::string(text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text);
}

}  // namespace topwolf::plain
