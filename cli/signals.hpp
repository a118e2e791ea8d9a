// SIGINT, SIGTERM and SIGHUP: outside training they end the program at once; in training the first one asks for an
// orderly end with the best model so far, and a second one ends the program at once. SIGHUP is ignored where it was at
// the start, as nohup has it. What other signals do they still do. No unfinished file stays, whichever it is.
#pragma once

namespace topwolf::cli {

// Also makes writing to a closed pipe, or beyond the size that files may have, an error of the write instead of a
// signal.
void install_signal_handlers();

// From here on the first signal waits to be noticed.
void hold_signals();

// The signal that was noticed while held; 0: none.
int held_signal();

}  // namespace topwolf::cli
