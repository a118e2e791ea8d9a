// What a handler may touch is little: flags, the list of unfinished files, write and _exit.
#include "signals.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "core/temporary.hpp"

namespace topwolf::cli {
namespace {

volatile std::sig_atomic_t holding = 0;
volatile std::sig_atomic_t received = 0;

constexpr std::string_view promise = "\ntopwolf: stopping; once more abandons the model\n";
bool on_terminal = false;  // where a line may be unfinished

extern "C" void on_signal(int number) {
  if (holding == 0 || received != 0) {
    remove_temporaries();
    _exit(128 + number);
  }
  received = number;
  if (number != SIGINT) return;
  const int error = errno;
  const std::string_view text = promise.substr(on_terminal ? 0 : 1);
  [[maybe_unused]] const ssize_t heard = write(STDERR_FILENO, text.data(), text.size());
  errno = error;
}

// Everything else that would end the program ends it still, in its own way: by the same signal, with its core file.
extern "C" void on_end(int number) {
  remove_temporaries();
  raise(number);  // SA_RESETHAND has put the default back
}

// Whether a signal that nobody handles lets the program live, or cannot be handled.
bool harmless(int number) {
  constexpr std::array kept{SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP, SIGKILL};
  return std::find(kept.begin(), kept.end(), number) != kept.end();
}

void install_endings() {
  struct sigaction action {};
  action.sa_handler = on_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  sigemptyset(&action.sa_mask);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction before {};
    if (harmless(number) || sigaction(number, nullptr, &before) != 0) continue;
    if (before.sa_handler == SIG_DFL) sigaction(number, &action, nullptr);
  }
}

}  // namespace

void install_signal_handlers() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  install_endings();
  on_terminal = isatty(STDERR_FILENO) != 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  // One at a time: a second signal must not find the first half done.
  constexpr std::array handled{SIGINT, SIGTERM, SIGHUP};
  for (const int number : handled) sigaddset(&action.sa_mask, number);
  for (const int number : handled) {
    struct sigaction before {};
    const bool ignored = sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    if (number != SIGHUP || !ignored) sigaction(number, &action, nullptr);
  }
}

void hold_signals() {
  holding = 1;
}

int held_signal() {
  return received;
}

}  // namespace topwolf::cli
