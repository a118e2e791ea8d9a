// The program: finds the command, runs it, and turns what went wrong into one sentence and an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <new>

#include "commands.hpp"
#include "core/counted.hpp"
#include "core/fail.hpp"
#include "core/temporary.hpp"
#include "core/threads.hpp"
#include "data_options.hpp"
#include "documents.hpp"
#include "signals.hpp"
#include "suggest.hpp"
#include "terminal.hpp"
#include "topwolf/plan.hpp"
#include "topwolf/version.hpp"

namespace topwolf::cli {
namespace {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::option:
      return 2;
    case ErrorKind::data:
      return 3;
    case ErrorKind::io:
      return 4;
    case ErrorKind::memory:
      return 6;
    case ErrorKind::internal:
      break;
  }
  return 1;
}

int run_command(Command command, const std::vector<std::string>& words) {
  const Arguments arguments(command, words);
  if (arguments.has("help")) {
    print(help(command));
    return 0;
  }
  check_places(arguments);
  switch (command) {
    case Command::train:
      return run_train(arguments);
    case Command::sweep:
      return run_sweep(arguments);
    case Command::probe:
      return run_probe(arguments);
    case Command::cv:
      return run_cv(arguments);
    case Command::predict:
      return run_predict(arguments);
    case Command::evaluate:
      return run_evaluate(arguments);
    case Command::compare:
      return run_compare(arguments);
    case Command::inspect:
      return run_inspect(arguments);
    case Command::convert:
      return run_convert(arguments);
    case Command::verify:
      return run_verify(arguments);
    case Command::audit:
      return run_audit(arguments);
    case Command::calibrate:
      return run_calibrate(arguments);
    case Command::demo:
      break;
  }
  return run_demo(arguments);
}

using Writers = std::map<std::string, std::function<std::string()>>;

const Writers completions{{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};
const Writers documents{{"man", man_page},
                        {"markdown", markdown},
                        {"bash", bash_completion},
                        {"zsh", zsh_completion},
                        {"fish", fish_completion}};

// `generate` is for the build, which installs what it prints; `completion` for people.
int run_writer(const std::string& name, const Writers& writers, std::string_view choices,
               const std::vector<std::string>& words) {
  const auto found = words.size() == 1 ? writers.find(words[0]) : writers.end();
  if (found == writers.end()) fail(ErrorKind::option, "{} needs one argument, which must be {}", name, choices);
  print(found->second());
  return 0;
}

int run_help(const std::vector<std::string>& words) {
  const auto* command = words.empty() ? nullptr : find_command(words.front());
  if (!words.empty() && command == nullptr) refuse_command(words.front());
  print(command == nullptr ? usage() : help(command->id));
  return 0;
}

std::string version() {
  const int threads = resolve_threads(0);
  return fmt::format("topwolf {} (products for {}; {}; built by {})\n", TOPWOLF_VERSION, instruction_set(),
                     counted(threads, "thread"), TOPWOLF_BUILD);
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    narrate(usage());
    return exit_code(ErrorKind::option);
  }
  const std::string& name = words.front();
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (const auto* command = find_command(name)) return run_command(command->id, rest);
  if (name == "generate") return run_writer(name, documents, "man, markdown, bash, zsh or fish", rest);
  if (name == "completion") return run_writer(name, completions, "bash, zsh or fish", rest);
  if (name == "--help" || name == "-h" || name == "help") return run_help(rest);
  if (name == "--version" || name == "-V") {
    print(version());
    return 0;
  }
  refuse_command(name);
}

// Explaining takes memory too; this does not.
int without_memory() {
  narrate("topwolf: there is not enough memory; fewer rows, or --precision float32, need less\n");
  return exit_code(ErrorKind::memory);
}

int explained(int argc, char** argv) {
  try {
    const int code = run(std::vector<std::string>(argv + 1, argv + argc));
    finish_output();
    if (threads_refused()) Warnings().add("the system refused to start more threads; fewer than asked for have worked");
    return code;
  } catch (const ClosedPipe&) {
    constexpr int as_if_by_sigpipe = 141;
    return as_if_by_sigpipe;
  } catch (const Error& error) {
    print_error(error.sentence().with(option_for));
    // A write that a signal has interrupted ends as the signal would have.
    return error.kind() == ErrorKind::io && held_signal() != 0 ? 128 + held_signal() : exit_code(error.kind());
  } catch (const std::filesystem::filesystem_error& error) {
    if (error.code() == std::errc::not_enough_memory) return without_memory();
    print_error(error.what());
    return exit_code(ErrorKind::io);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    print_error(fmt::format("a defect of topwolf, please report it: {}", error.what()));
    return exit_code(ErrorKind::internal);
  }
}

int guarded(int argc, char** argv) {
  try {
    return explained(argc, argv);
  } catch (const std::bad_alloc&) {
    return without_memory();
  }
}

// What is thrown where nothing may be: destructors of the JSON library ask for memory.
[[noreturn]] void end_without_catch() {
  remove_temporaries();
  int code = exit_code(ErrorKind::internal);
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
    narrate("topwolf: a defect of topwolf, please report it: it was ended from inside\n");
  } catch (const std::bad_alloc&) {
    code = without_memory();
  } catch (...) {
    narrate("topwolf: a defect of topwolf, please report it: an error was thrown where none may be\n");
  }
  _exit(code);
}

}  // namespace
}  // namespace topwolf::cli

int main(int argc, char** argv) {
  std::set_terminate(topwolf::cli::end_without_catch);
  topwolf::cli::install_signal_handlers();
  return topwolf::cli::guarded(argc, argv);
}
