// Help for the terminal.
#include <fmt/format.h>

#include "documents.hpp"

namespace topwolf::cli {
namespace {

constexpr std::size_t width = 100;
constexpr std::size_t help_column = 32;

std::string option_help(const OptionRow& row) {
  const std::string heading = "  " + option_heading(row);
  std::string sentence(row.help);
  if (!row.initial.empty()) sentence += fmt::format(" [{}]", row.initial);
  const std::string gap = heading.size() + 1 < help_column ? std::string(help_column - heading.size(), ' ')
                                                           : std::string("\n").append(help_column, ' ');
  return heading + gap + wrap(sentence, help_column, width) + "\n";
}

}  // namespace

std::string option_heading(const OptionRow& row) {
  std::string text = row.letter != 0 && !row.name.empty() ? fmt::format("-{}, ", row.letter) : "";
  text += row.shown();
  return row.value.empty() ? text : fmt::format("{} {}", text, row.value);
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t line_width) {
  std::string result;
  std::size_t column = indent;
  for (const auto word : split(text, ' ')) {
    if (!result.empty() && column + 1 + word.size() > line_width) {
      result.append("\n").append(indent, ' ');
      column = indent;
    } else if (!result.empty()) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string usage() {
  std::string text = "usage: topwolf COMMAND [options] FILES\n\n";
  for (const auto& row : commands()) text += fmt::format("  {:<10} {}\n", row.name, row.summary);
  return text +
         "\n'topwolf help COMMAND' explains a command, 'man topwolf' all of them, 'topwolf --version' says what this "
         "is;\n"
         "'source <(topwolf completion bash)' lets the shell complete commands, options and files (also: zsh, fish).\n";
}

std::string help(Command command) {
  const auto& here = command_row(command);
  const std::string files = here.arguments.empty() ? "" : fmt::format(" {}", here.arguments);
  std::string text = fmt::format("usage: topwolf {} [options]{}\n\n{}\n{}\n", here.name, files, here.summary,
                                 wrap(here.description, 0, width));
  const auto rows = options_of(command);
  for (const auto group : groups_of(rows)) {
    text += fmt::format("\n{}:\n", group);
    for (const auto& row : rows)
      if (row.group == group) text += option_help(row);
  }
  return text + fmt::format("\nexample: {}\n", here.example);
}

}  // namespace topwolf::cli
