// One command's arguments as given: checked for syntax against the option table, values still text until asked for.
// Every getter throws Error{option} with a sentence that names the option and what is allowed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "option_table.hpp"

namespace topwolf::cli {

// For integers that have no upper limit of their own.
inline constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

// A finite number, and nothing else.
std::optional<double> parse_real(std::string_view text);

class Arguments {
 public:
  // words: what follows the command's name.
  Arguments(Command command, const std::vector<std::string>& words);

  Command command() const { return command_; }
  const std::string& command_line() const { return command_line_; }

  const std::vector<std::string>& positionals() const { return positionals_; }
  std::optional<std::string> positional(std::size_t place) const;
  const std::string& required_positional(std::size_t place) const { return positionals_.at(place); }

  bool has(std::string_view key) const { return given_.contains(std::string(key)); }
  std::string text(std::string_view key) const;    // "" where not given
  std::string choice(std::string_view key) const;  // one of the row's choices; the default where not given
  std::optional<double> real(std::string_view key) const;
  std::vector<double> reals(std::string_view key) const;  // separated by commas; empty where not given
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high) const;
  std::optional<std::int64_t> bytes(std::string_view key) const;  // 500, 20K, 3M, 4G

 private:
  const OptionRow& row(std::string_view key) const;
  void check_positionals() const;

  Command command_;
  std::vector<OptionRow> rows_;
  std::vector<std::string> positionals_;
  std::map<std::string, std::string> given_;
  std::string command_line_;
};

}  // namespace topwolf::cli
