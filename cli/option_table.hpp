// The one table of commands, options and exit codes. It feeds the parser, --help, the man page, the shell completions
// and docs/reference/command_line.md; it knows nothing of how an option is carried out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace topwolf::cli {

enum class Command : unsigned {
  train,
  sweep,
  probe,
  cv,
  predict,
  evaluate,
  compare,
  inspect,
  convert,
  verify,
  audit,
  calibrate,
  demo
};

struct CommandRow {
  Command id;
  std::string_view name;
  std::string_view arguments;  // "DATA [MODEL]": words in brackets may be left out
  std::string_view summary;
  std::string_view description;
  std::string_view example;
};

struct OptionRow {
  std::string_view name;     // long name without dashes; empty: the short one stands alone
  char letter;               // short name; 0: none
  std::string_view value;    // how the value is shown; empty: a flag
  std::string_view choices;  // "a|b|c": completed and, where the value is one of them, checked
  std::string_view initial;  // the default as text; empty: none
  std::string_view group;
  unsigned commands;  // a bit for each command that takes it
  std::string_view help;

  std::string key() const { return name.empty() ? std::string(1, letter) : std::string(name); }
  // As a user would type it.
  std::string shown() const { return name.empty() ? std::string{'-', letter} : std::string("--").append(name); }
  bool takes_file() const { return value == "FILE"; }
};

struct ExitRow {
  int code;
  std::string_view meaning;
};

std::span<const CommandRow> commands();
std::span<const ExitRow> exit_codes();
const CommandRow& command_row(Command id);
const CommandRow* find_command(std::string_view name);

// All rows, and those of one command, in the order of the table; groups in order of first appearance.
std::span<const OptionRow> options();
std::vector<OptionRow> options_of(Command id);
std::vector<std::string_view> groups_of(const std::vector<OptionRow>& rows);

// What a field of the library's options is called here, with a value or without: "--time-limit", "--solver lsfw". One
// that is no option, or has no long name, keeps its own.
std::string option_for(std::string_view field, std::string_view value);

// "a|b|c" in parts.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace topwolf::cli
