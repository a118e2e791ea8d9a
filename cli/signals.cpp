// What a handler may touch is little: two flags and _exit.
#include "signals.hpp"

#include <unistd.h>

#include <csignal>

namespace topwolf::cli {
namespace {

volatile std::sig_atomic_t holding = 0;
volatile std::sig_atomic_t received = 0;

extern "C" void on_signal(int number) {
  if (holding == 0 || received != 0) _exit(128 + number);
  received = number;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void hold_signals() {
  holding = 1;
}

int held_signal() {
  return received;
}

}  // namespace topwolf::cli
