// CLI11 splits the words into options and files; the sentences are ours.
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "core/fail.hpp"
#include "suggest.hpp"

namespace topwolf::cli {
namespace {

// The option that a long name stands for: itself, one known from elsewhere, or the only one that begins so.
std::string whole_name(const std::string& name, const std::vector<OptionRow>& rows) {
  std::vector<std::string> matches;
  for (const auto& row : rows) {
    if (row.name.empty()) continue;
    if (row.shown() == name || row.shown() == known_elsewhere(name)) return row.shown();
    if (row.shown().starts_with(name)) matches.push_back(row.shown());
  }
  if (matches.size() > 1)
    fail(ErrorKind::option, "{} may be {}; give more of its name", name,
         join_choices({matches.begin(), matches.end()}));
  return matches.empty() ? name : matches.front();
}

// --max_iter is --max-iterations. What the parser would misread is refused here: an empty value (it would take the next
// word) and a flag's value.
std::string normalized(const std::string& word, const std::vector<OptionRow>& rows) {
  if (!word.starts_with("--") || word.size() == 2) return word;
  const std::size_t end = std::min(word.find('='), word.size());
  std::string name = word.substr(0, end);
  std::replace(name.begin(), name.end(), '_', '-');
  name = whole_name(name, rows);
  if (end + 1 == word.size()) fail(ErrorKind::option, "{} needs a value after the =", name);
  const bool flag =
      std::any_of(rows.begin(), rows.end(), [&](auto& row) { return row.shown() == name && row.value.empty(); });
  if (flag && end != word.size()) fail(ErrorKind::option, "{} takes no value", name);
  return name + word.substr(end);
}

std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_=+.,:/@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string result = "'";
  for (char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

std::optional<double> parse_real(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Arguments::Arguments(Command command, const std::vector<std::string>& words)
    : command_(command), rows_(options_of(command)) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.add_option("files", positionals_);
  std::map<std::string, std::string> values;
  std::map<std::string, CLI::Option*> parsed;
  for (const auto& option : rows_) {
    const std::string key = option.key();
    std::string names = option.shown();
    if (option.letter != 0 && !option.name.empty()) names += std::string(",-") + option.letter;
    parsed[key] = option.value.empty() ? app.add_flag(names) : app.add_option(names, values[key]);
    parsed[key]->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  const auto files_alone = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> parts;
  std::transform(words.begin(), files_alone, std::back_inserter(parts),
                 [&](const std::string& word) { return normalized(word, rows_); });
  parts.insert(parts.end(), files_alone, words.end());
  std::reverse(parts.begin(), parts.end());
  try {
    app.parse(std::move(parts));
  } catch (const CLI::ArgumentMismatch&) {
    fail(ErrorKind::option, "{} needs a value; 'topwolf {} --help' says which", words.back(),
         command_row(command).name);
  } catch (const CLI::ParseError& error) {
    fail(ErrorKind::option, "{}", error.what());
  }
  for (const auto& word : app.remaining())
    if (word != "--") refuse_unknown(word, command);
  for (const auto& [key, option] : parsed) {
    if (option->count() > 1 && !row(key).value.empty())
      fail(ErrorKind::option, "{} is given {} times; give it once", row(key).shown(), option->count());
    if (option->count() == 0) continue;
    if (values[key].empty() && row(key).value.ends_with("FILE"))
      fail(ErrorKind::option, "{} is empty; give a file's name", row(key).shown());
    given_[key] = values[key];
  }
  command_line_ = "topwolf " + std::string(command_row(command).name);
  for (const auto& word : words) command_line_ += " " + quoted(word);
  if (!has("help")) check_positionals();
}

void Arguments::check_positionals() const {
  const auto& here = command_row(command_);
  const auto names = here.arguments.empty() ? std::vector<std::string_view>{} : split(here.arguments, ' ');
  const auto needed = std::count_if(names.begin(), names.end(), [](auto name) { return !name.starts_with('['); });
  const auto count = static_cast<std::ptrdiff_t>(positionals_.size());
  if (count < needed)
    fail(ErrorKind::option, "{} is missing; usage: topwolf {} [options] {}", names[positionals_.size()], here.name,
         here.arguments);
  for (std::ptrdiff_t place = 0; place < needed; ++place) {
    if (positionals_[static_cast<std::size_t>(place)].empty())
      fail(ErrorKind::option, "{} is empty; give a file's name", names[static_cast<std::size_t>(place)]);
  }
  const bool any_number = here.arguments.find("...") != here.arguments.npos;
  if (!any_number && count > static_cast<std::ptrdiff_t>(names.size()))
    fail(ErrorKind::option, "'{}' is one argument too many; usage: topwolf {} [options] {}", positionals_[names.size()],
         here.name, here.arguments);
}

const OptionRow& Arguments::row(std::string_view key) const {
  return *std::find_if(rows_.begin(), rows_.end(), [&](const auto& option) { return option.key() == key; });
}

std::optional<std::string> Arguments::positional(std::size_t place) const {
  return place < positionals_.size() ? std::optional(positionals_[place]) : std::nullopt;
}

std::string Arguments::text(std::string_view key) const {
  const auto found = given_.find(std::string(key));
  return found == given_.end() ? "" : found->second;
}

std::string Arguments::choice(std::string_view key) const {
  if (!has(key)) return std::string(row(key).initial);
  const auto choices = split(row(key).choices, '|');
  std::string value = text(key);
  std::replace(value.begin(), value.end(), '_', '-');
  if (std::find(choices.begin(), choices.end(), value) == choices.end())
    fail(ErrorKind::option, "{} is '{}'; it must be {}", row(key).shown(), text(key), join_choices(choices));
  return value;
}

std::optional<double> Arguments::real(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const auto value = parse_real(text(key));
  if (!value) fail(ErrorKind::option, "{} is '{}'; it must be a finite number", row(key).shown(), text(key));
  return value;
}

std::vector<double> Arguments::reals(std::string_view key) const {
  std::vector<double> result;
  if (!has(key)) return result;
  const std::string given = text(key);
  for (const auto part : split(given, ',')) {
    const auto value = parse_real(part);
    if (!value)
      fail(ErrorKind::option, "{} has '{}' at place {}; it must be finite numbers separated by commas",
           row(key).shown(), part, result.size() + 1);
    result.push_back(*value);
  }
  return result;
}

std::optional<std::int64_t> Arguments::integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  if (!has(key)) return std::nullopt;
  const std::string given = text(key);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error != std::errc() || end != given.data() + given.size() || value < low || value > high)
    fail(ErrorKind::option, "{} is '{}'; it must be an integer from {} to {}", row(key).shown(), given, low, high);
  return value;
}

std::optional<std::int64_t> Arguments::bytes(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const std::string given = text(key);
  constexpr std::string_view units = "KMG";
  const std::size_t unit = given.empty() ? units.npos : units.find(static_cast<char>(std::toupper(given.back())));
  const std::int64_t scale = unit == units.npos ? 1 : std::int64_t{1} << (10 * (unit + 1));
  std::int64_t value = 0;
  const char* const end = given.data() + given.size() - (unit == units.npos ? 0 : 1);
  const auto [stop, error] = std::from_chars(given.data(), end, value);
  if (error != std::errc() || stop != end || value < 0 || __builtin_mul_overflow(value, scale, &value))
    fail(ErrorKind::option, "{} is '{}'; it must be a number of bytes, such as 500, 20K, 3M or 4G", row(key).shown(),
         given);
  return value;
}

}  // namespace topwolf::cli
