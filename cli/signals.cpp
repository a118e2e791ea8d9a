// What a handler may touch is little: flags, the list of unfinished files, write and _exit.
#include "signals.hpp"

#include <unistd.h>

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

}  // namespace

void install_signal_handlers() {
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
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void hold_signals() {
  holding = 1;
}

int held_signal() {
  return received;
}

}  // namespace topwolf::cli
