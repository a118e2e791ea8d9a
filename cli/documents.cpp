// The man page and docs/reference/command_line.md.
#include "documents.hpp"

#include <fmt/format.h>

#include "topwolf/version.hpp"

namespace topwolf::cli {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  for (std::size_t at = 0; (at = result.find(from, at)) != std::string::npos; at += to.size())
    result.replace(at, from.size(), to);
  return result;
}

// A leading dot or quote would be a groff request; a bare dash would be a hyphen.
std::string groff(std::string_view text) {
  std::string result = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string usage_line(const CommandRow& row) {
  return fmt::format("topwolf {} [options]{}{}", row.name, row.arguments.empty() ? "" : " ", row.arguments);
}

std::string with_default(const OptionRow& row) {
  return row.initial.empty() ? std::string(row.help) : fmt::format("{} Default: {}.", row.help, row.initial);
}

}  // namespace

std::string man_page() {
  std::string text = fmt::format(
      ".TH TOPWOLF 1 \"\" \"topwolf {}\" \"User Commands\"\n.SH NAME\n"
      "topwolf \\- train certified multi\\-class linear SVMs for top\\-k errors\n.SH SYNOPSIS\n",
      TOPWOLF_VERSION);
  for (const auto& row : commands()) text += fmt::format(".B {}\n.br\n", groff(usage_line(row)));
  text += ".SH COMMANDS\n";
  for (const auto& command : commands()) {
    text += fmt::format(".SS {}\n{}\n.PP\n{}\n", groff(usage_line(command)), groff(command.summary),
                        groff(command.description));
    for (const auto& row : options_of(command.id))
      text += fmt::format(".TP\n.B {}\n{}\n", groff(option_heading(row)), groff(with_default(row)));
    text += fmt::format(".PP\nExample:\n.EX\n{}\n.EE\n", groff(command.example));
  }
  text += ".SH EXIT STATUS\n";
  for (const auto& row : exit_codes()) text += fmt::format(".TP\n.B {}\n{}\n", row.code, groff(row.meaning));
  return text +
         ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set and not empty, no colours are used.\n.TP\n.B OMP_NUM_THREADS\n"
         "The number of threads where \\-\\-threads is 0.\n";
}

std::string markdown() {
  std::string text =
      "# The command line\n\n"
      "<!-- Written by `topwolf generate markdown` from cli/option_table.cpp; edit that table instead. -->\n\n"
      "Results go to standard output, progress and warnings to standard error. An option's value may follow it or be "
      "joined by `=`; in names `_` may stand for `-`, and a long name may be cut short where only one begins so "
      "(`--max-iter`); `--eps` stands for `--tolerance`. After `--` come files alone. `topwolf help COMMAND` prints "
      "what "
      "follows for one command, `topwolf completion bash` (zsh, fish) what a shell needs to complete it.\n";
  for (const auto& command : commands()) {
    text += fmt::format("\n## topwolf {}\n\n    {}\n\n{} {}\n\n    {}\n\n", command.name, usage_line(command),
                        command.summary, command.description, command.example);
    text += "| option | default | |\n|---|---|---|\n";
    for (const auto& row : options_of(command.id))
      text += fmt::format("| `{}` | {} | {} |\n", replaced(option_heading(row), "|", "\\|"),
                          row.initial.empty() ? "" : fmt::format("`{}`", row.initial), replaced(row.help, "|", "\\|"));
  }
  text += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const auto& row : exit_codes()) text += fmt::format("| {} | {} |\n", row.code, row.meaning);
  return text;
}

}  // namespace topwolf::cli
