// How much memory this process may have: what the machine has, and what limits and control groups leave of it.
#pragma once

#include <string>

namespace topwolf {

struct ProcessMemory {
  double limit = 0.0;      // bytes, whatever is in use now; does not change while a job runs
  double available = 0.0;  // bytes, besides what the process has now
  std::string bound;       // what `available` comes from, in words: "the machine", "ulimit -v", ...
};

// The least of: the machine's memory, RLIMIT_AS, RLIMIT_DATA, and the limits of the control groups (version 1 and 2)
// that the process is in, up to the root. `root` stands before /proc and /sys: "" but in tests.
ProcessMemory process_memory(const std::string& root = "");

// "63 bytes", "5.6 KiB", up to GiB.
std::string describe_bytes(double bytes);

}  // namespace topwolf
