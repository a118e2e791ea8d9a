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

// What users of LIBLINEAR type from habit, with its value joined or not, where the command has no such letter.
const std::map<char, std::string_view> letters_elsewhere{
    {'s', "-s is LIBLINEAR's; here --loss chooses the loss and --solver the solver"},
    {'e', "-e is LIBLINEAR's; here --tolerance says when to stop"},
    {'B', "-B is LIBLINEAR's; here --bias adds a constant feature"},
    {'v', "-v is LIBLINEAR's cross-validation, which is a command here: topwolf cv DATA MODEL"},
    {'C', "-C is LIBLINEAR's search for C, which is a command here: topwolf cv DATA MODEL; -c gives a value"},
    {'w', "-w is LIBLINEAR's weight of a class; here --class-weight FILE has lines of a label and a weight"},
    {'W', "-W is LIBLINEAR's; here --weights FILE says what every row weighs"},
    {'b',
     "-b is LIBLINEAR's; here 'topwolf predict --probabilities' prints them, of softmax or after 'topwolf calibrate'"},
    {'m', "-m is LIBLINEAR's number of threads; here --threads, and all cores unless it is given"},
    {'o', "-o is no option here: the output is the last argument, as 'topwolf help' shows"},
};

// Names of other programs: an option here of the same meaning, or else a sentence.
const std::map<std::string_view, std::string_view> same_elsewhere{{"--eps", "--tolerance"},
                                                                  {"--epsilon", "--tolerance"}};
const std::map<std::string_view, std::string_view> names_elsewhere{
    {"--n-jobs", "--n-jobs is scikit-learn's; here --threads, where 0 is every core"},
    {"--jobs", "--jobs is no option; --threads says how many cores are used, and 0 is every one"},
    {"--random-state", "--random-state is scikit-learn's; here --seed"},
    {"--fit-intercept", "--fit-intercept is scikit-learn's; here --bias 1 adds a constant feature"},
    {"--intercept-scaling", "--intercept-scaling is scikit-learn's; here --bias is the constant feature's value"},
    {"--sample-weight", "--sample-weight is scikit-learn's; here --weights FILE says what every row weighs"},
    {"--verbose", "--verbose is no option: progress is shown unless --quiet is given"},
    {"--learning-rate", "--learning-rate is no option: no solver has a step size to tune"},
    {"--epochs", "--epochs is no option; --max-iterations says after how many passes to stop"},
    {"--kernel", "--kernel is no option: all models are linear"},
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

std::string_view known_elsewhere(std::string_view name) {
  const auto found = same_elsewhere.find(name);
  return found == same_elsewhere.end() ? "" : found->second;
}

void refuse_unknown(const std::string& word, Command command) {
  const std::string_view name = command_row(command).name;
  const std::string stem = word.substr(0, word.find('='));
  if (word.size() >= 2 && word[1] != '-') {
    const auto found = letters_elsewhere.find(word[1]);
    const bool looks_short = word.size() == 2 || !std::isalpha(static_cast<unsigned char>(word[2]));
    if (found != letters_elsewhere.end() && looks_short) throw Error(ErrorKind::option, std::string(found->second));
  }
  if (const auto found = names_elsewhere.find(stem); found != names_elsewhere.end())
    throw Error(ErrorKind::option, std::string(found->second));
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

void refuse_command(const std::string& name) {
  std::vector<std::string> candidates{"--help", "--version"};
  std::vector<std::string_view> names;
  for (const auto& row : commands()) {
    candidates.emplace_back(row.name);
    names.push_back(row.name);
  }
  const std::string near = nearest(name, candidates);
  fail(ErrorKind::option, "there is no command '{}'{}; it must be {}", name,
       near.empty() ? "" : fmt::format(" (did you mean {}?)", near), join_choices(names));
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
