// Shell completion: commands, their options, the choices of an option's value, and files.
#include <fmt/format.h>

#include "documents.hpp"

namespace topwolf::cli {
namespace {

// Within single quotes of a shell.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

std::string command_names() {
  std::string names;
  for (const auto& row : commands()) names += fmt::format("{}{}", names.empty() ? "" : " ", row.name);
  return names;
}

std::vector<std::string> spellings(const OptionRow& row) {
  std::vector<std::string> result{row.shown()};
  if (row.letter != 0 && !row.name.empty()) result.push_back({'-', row.letter});
  return result;
}

std::string words(std::string_view choices) {
  std::string result(choices);
  for (char& c : result)
    if (c == '|') c = ' ';
  return result;
}

// _arguments treats colons and brackets in a description as its own.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']') result += '\\';
    result += c;
  }
  return escaped(result);
}

std::string zsh_option(const OptionRow& row) {
  std::string action;
  if (!row.value.empty()) {
    action = ":value:";
    if (!row.choices.empty()) action += fmt::format("({})", words(row.choices));
    if (row.takes_file()) action += "_files";
  }
  std::string lines;
  for (const auto& name : spellings(row))
    lines += fmt::format("        '{}[{}]{}' \\\n", name, zsh_text(row.help), action);
  return lines;
}

}  // namespace

std::string bash_completion() {
  std::string text = fmt::format(
      "# bash completion for topwolf\n"
      "_topwolf() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}}:$before in\n",
      command_names());
  for (const auto& command : commands())
    for (const auto& row : options_of(command.id))
      if (!row.choices.empty())
        text += fmt::format("    {}:{}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n", command.name,
                            row.shown(), words(row.choices));
  text += "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const auto& command : commands()) {
    std::string names;
    for (const auto& row : options_of(command.id))
      for (const auto& name : spellings(row)) names += " " + name;
    text += fmt::format("    {}) options='{}' ;;\n", command.name, names.substr(1));
  }
  return text +
         "  esac\n"
         "  case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _topwolf topwolf\n";
}

std::string zsh_completion() {
  std::string text =
      "#compdef topwolf\n"
      "local -a commands\n"
      "commands=(\n";
  for (const auto& row : commands()) text += fmt::format("  '{}:{}'\n", row.name, zsh_text(row.summary));
  text +=
      ")\n"
      "if (( CURRENT == 2 )); then\n"
      "  _describe 'command' commands\n"
      "else\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const auto& command : commands()) {
    text += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const auto& row : options_of(command.id)) text += zsh_option(row);
    text += "        '*:file:_files' ;;\n";
  }
  return text + "  esac\nfi\n";
}

std::string fish_completion() {
  std::string text = "# fish completion for topwolf\n";
  for (const auto& row : commands())
    text +=
        fmt::format("complete -c topwolf -n __fish_use_subcommand -f -a {} -d '{}'\n", row.name, escaped(row.summary));
  for (const auto& command : commands()) {
    for (const auto& row : options_of(command.id)) {
      text += fmt::format("complete -c topwolf -n '__fish_seen_subcommand_from {}'", command.name);
      if (!row.name.empty()) text += fmt::format(" -l {}", row.name);
      if (row.letter != 0) text += fmt::format(" -s {}", row.letter);
      if (!row.value.empty()) text += row.takes_file() ? " -r" : " -x";
      if (!row.choices.empty()) text += fmt::format(" -a '{}'", words(row.choices));
      text += fmt::format(" -d '{}'\n", escaped(row.help));
    }
  }
  return text;
}

}  // namespace topwolf::cli
