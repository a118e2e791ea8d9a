// Everything that is written from the option table: help, man page, Markdown, shell completion.
#pragma once

#include <string>

#include "option_table.hpp"

namespace topwolf::cli {

std::string usage();                // what `topwolf` alone and `topwolf --help` print
std::string help(Command command);  // `topwolf COMMAND --help`
std::string man_page();             // groff
std::string markdown();             // docs/reference/command_line.md
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// "-c, --C C".
std::string option_heading(const OptionRow& row);

// Lines of at most `width` characters, all but the first indented.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace topwolf::cli
