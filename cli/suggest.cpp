// Edit distance, and what a wrong option most likely meant.
#include "suggest.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <utility>

#include "core/fail.hpp"

namespace topwolf::cli {
namespace {

// LIBLINEAR's users type these from habit.
const std::map<char, std::string_view> liblinear_sentences{
    {'s', "-s is LIBLINEAR's; here --loss chooses the loss and --solver the solver"},
    {'e', "-e is LIBLINEAR's; here --tolerance says when to stop"},
    {'B', "-B is LIBLINEAR's; here --bias adds a constant feature"},
    {'v', "-v is LIBLINEAR's cross-validation, which is a command here: topwolf cv DATA MODEL"},
};

// Each insertion, removal or replacement costs 2, a letter in the wrong case 1.
std::int64_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::int64_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = 2 * static_cast<std::int64_t>(j);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t diagonal = std::exchange(row[0], row[0] + 2);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t replaced = diagonal + (a[i] == b[j] ? 0 : lower(a[i]) == lower(b[j]) ? 1 : 2);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 2, row[j] + 2, replaced});
    }
  }
  return row.back();
}

}  // namespace

void refuse_unknown(const std::string& word, Command command) {
  const std::string_view name = command_row(command).name;
  if (command == Command::train && word.size() >= 2 && word[1] != '-') {
    const auto found = liblinear_sentences.find(word[1]);
    const bool looks_short = word.size() == 2 || !std::isalpha(static_cast<unsigned char>(word[2]));
    if (found != liblinear_sentences.end() && looks_short) throw Error(ErrorKind::option, std::string(found->second));
  }
  const std::string stem = word.substr(0, word.find('='));
  for (const auto& other : commands())
    for (const auto& row : options_of(other.id))
      if (row.shown() == stem) fail(ErrorKind::option, "{} is an option of {}, not of {}", stem, other.name, name);
  std::vector<std::string> candidates;
  for (const auto& row : options_of(command)) {
    candidates.push_back(row.shown());
    if (row.letter != 0 && !row.name.empty()) candidates.push_back({'-', row.letter});
  }
  const std::string near = nearest(stem, candidates);
  if (near.empty())
    fail(ErrorKind::option, "there is no option {}; 'topwolf {} --help' lists those there are", stem, name);
  fail(ErrorKind::option, "there is no option {}; did you mean {}?", stem, near);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::int64_t best_distance = static_cast<std::int64_t>(word.size());
  for (const auto& candidate : candidates) {
    const std::int64_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string join_choices(const std::vector<std::string_view>& choices) {
  std::string result;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) result += i + 1 == choices.size() ? " or " : ", ";
    result += choices[i];
  }
  return result;
}

}  // namespace topwolf::cli
