// One line of LIBSVM text, the hot loop of loading. Needs text in which every line ends with a newline: that is what
// stops every scan. Refuses a malformed line with Error{data} and its place.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "data/features.hpp"
#include "data/labels.hpp"
#include "data/text.hpp"

namespace topwolf {

struct LineRules {
  std::string name;               // of the file
  std::optional<int> index_base;  // none: counted from 1, an index 0 is noted
  bool labels_optional = false;
  bool label_weights = false;  // a label may be "label:weight", which is kept as it is
};

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// The end of a label or a pair.
inline bool ends_token(char c) {
  return is_blank(c) || c == '\n';
}

inline unsigned digit_of(char c) {
  return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0';
}

// Plain decimals up to 2^53, the point left out, are one exact division (Clinger); with it loading takes two thirds of
// the time. False, and nothing done, for all others.
template <class T>
bool parse_plain_decimal(const char*& at, T& value) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* p = at;
  const bool negative = *p == '-';
  p += negative;
  std::uint64_t mantissa = 0;
  const char* const first = p;
  for (unsigned digit; (digit = digit_of(*p)) <= 9; ++p) mantissa = 10 * mantissa + digit;
  std::int64_t digits = p - first;
  std::int64_t places = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    for (unsigned digit; (digit = digit_of(*p)) <= 9; ++p) mantissa = 10 * mantissa + digit;
    places = p - fraction;
    digits += places;
  }
  // 19 digits fit in 64 bits.
  if (digits == 0 || digits > 19 || mantissa > (std::uint64_t{1} << 53) || !ends_token(*p)) return false;
  const double magnitude = static_cast<double>(mantissa) / powers[places];
  // Rounding twice goes wrong only where the first rounding landed halfway between two float32.
  constexpr std::uint64_t tail = (std::uint64_t{1} << 29) - 1;
  constexpr std::uint64_t halfway = std::uint64_t{1} << 28;
  if (sizeof(T) == 4 && (std::bit_cast<std::uint64_t>(magnitude) & tail) == halfway) return false;
  value = static_cast<T>(negative ? -magnitude : magnitude);
  at = p;
  return true;
}

template <class T>
class LineParser {
 public:
  LineParser(const LineRules& rules, std::int32_t* columns, T* values, std::int64_t first_line)
      : rules_(rules),
        base_(rules.index_base.value_or(1)),
        largest_index_(static_cast<std::uint64_t>(most_columns - 1 + base_)),
        columns_(columns),
        values_(values),
        line_(first_line) {}

  std::int64_t pairs() const { return pairs_; }
  std::int32_t largest_column() const { return largest_column_; }
  bool has_index_zero() const { return has_index_zero_; }

  // Moves `at` behind the line's newline. The label, empty if there is none; nothing for a line without a row.
  std::optional<std::string_view> parse_line(const char*& at) {
    line_begin_ = at;
    while (is_blank(*at)) ++at;
    if (*at == '#') skip_comment(at);
    if (*at == '\n') {
      ++at, ++line_;
      return std::nullopt;
    }
    const std::string_view label = parse_label(at);
    const std::int64_t begin = pairs_;
    bool ascending = true;
    std::int32_t previous = -2;
    while (parse_pair(at)) {
      const std::int32_t column = columns_[pairs_ - 1];
      ascending &= column > previous;
      previous = column;
    }
    if (!ascending) sort_row(begin);
    if (pairs_ > begin) largest_column_ = std::max(largest_column_, columns_[pairs_ - 1]);
    ++at, ++line_;
    return label;
  }

 private:
  [[noreturn]] void fail_at(const char* place, const std::string& sentence) const {
    fail(ErrorKind::data, "{}:{}:{}: {}", rules_.name, line_, place - line_begin_ + 1, sentence);
  }

  static std::string_view token_at(const char* begin) {
    const char* end = begin;
    while (!ends_token(*end)) ++end;
    return {begin, static_cast<std::size_t>(end - begin)};
  }

  void check_nul(std::string_view text) const {
    const std::size_t nul = text.find('\0');
    if (nul != std::string_view::npos) fail_at(text.data() + nul, "a NUL byte is not allowed in text");
  }

  void skip_comment(const char*& at) const {
    const char* const begin = at;
    while (*at != '\n') ++at;
    check_nul({begin, static_cast<std::size_t>(at - begin)});
  }

  std::string_view parse_label(const char*& at) {
    const std::string_view token = token_at(at);
    check_nul(token);
    const std::size_t special = token.find_first_of(rules_.label_weights ? ",#" : ":,#");
    if (special != std::string_view::npos) {
      const char* const place = token.data() + special;
      if (*place == ',')
        fail_at(at, fmt::format("the label {} is a list; multi-label data is not supported", quote(token)));
      if (*place == '#')
        fail_at(place, fmt::format("the label {} contains '#'; a comment needs a blank before it", quote(token)));
      if (!rules_.labels_optional) fail_at(at, fmt::format("the row begins with {} and has no label", quote(token)));
      return {};
    }
    if (!is_finite_or_text(token)) fail_at(at, fmt::format("the label {} is not finite", quote(token)));
    at += token.size();
    return token;
  }

  // False at the end of the line.
  bool parse_pair(const char*& at) {
    while (is_blank(*at)) ++at;
    const char* const begin = at;
    unsigned digit = digit_of(*at);
    if (digit > 9) {
      if (*at == '#') skip_comment(at);
      if (*at == '\n') return false;
      fail_pair(begin);
    }
    std::uint64_t index = 0;
    for (; digit <= 9; digit = digit_of(*++at)) index = 10 * index + digit;
    if (*at != ':') fail_pair(begin);
    // 18 digits fit in 64 bits.
    if (at - begin > 18 || index > largest_index_) {
      fail_at(begin,
              fmt::format("the index {} is larger than {}{}", quote({begin, static_cast<std::size_t>(at - begin)}),
                          largest_index_, base_ == 0 ? ", the last where indices count from 0" : ""));
    }
    if (index == 0) note_index_zero(begin);
    ++at;
    T value = 0;
    if (!parse_plain_decimal(at, value)) value = parse_general(at);
    columns_[pairs_] = static_cast<std::int32_t>(index) - base_;
    values_[pairs_] = value;
    ++pairs_;
    return true;
  }

  void note_index_zero(const char* begin) {
    if (rules_.index_base == 1) fail_at(begin, "the index 0 is not allowed where indices count from 1");
    has_index_zero_ = true;
  }

  T parse_general(const char*& at) const {
    std::string_view token = token_at(at);
    check_nul(token);
    token = token.substr(0, token.find('#'));
    const auto [value, fault] = parse_number<T>(token);
    if (fault != NumberFault::none) fail_at(at, describe_fault(fault, token, sizeof(T)));
    at += token.size();
    return value;
  }

  [[noreturn]] void fail_pair(const char* begin) const {
    const std::string_view token = token_at(begin);
    check_nul(token);
    fail_at(begin, fmt::format("{} is not a pair index:value", quote(token)));
  }

  void sort_row(std::int64_t begin) {
    scratch_.clear();
    for (std::int64_t k = begin; k < pairs_; ++k) scratch_.emplace_back(columns_[k], values_[k]);
    std::sort(scratch_.begin(), scratch_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t k = 0; k < scratch_.size(); ++k) {
      if (k > 0 && scratch_[k].first == scratch_[k - 1].first) fail_duplicate();
      columns_[begin + static_cast<std::int64_t>(k)] = scratch_[k].first;
      values_[begin + static_cast<std::int64_t>(k)] = scratch_[k].second;
    }
  }

  // Reads the line again, known to be well formed, for the place of the first index that came before.
  [[noreturn]] void fail_duplicate() const {
    std::unordered_set<std::uint64_t> seen;
    for (const char* at = line_begin_;; ++at) {
      while (is_blank(*at)) ++at;
      const std::string_view token = token_at(at);
      const std::size_t colon = token.find(':');
      if (colon != std::string_view::npos) {
        std::uint64_t index = 0;
        for (const char c : token.substr(0, colon)) index = 10 * index + digit_of(c);
        if (!seen.insert(index).second) fail_at(at, fmt::format("the index {} appears twice in the row", index));
      }
      at += token.size();
    }
  }

  const LineRules& rules_;
  const std::int32_t base_;
  const std::uint64_t largest_index_;
  std::int32_t* const columns_;
  T* const values_;
  std::int64_t line_;
  const char* line_begin_ = nullptr;
  std::int64_t pairs_ = 0;
  std::int32_t largest_column_ = -1;
  bool has_index_zero_ = false;
  std::vector<std::pair<std::int32_t, T>> scratch_;
};

}  // namespace topwolf
