// What sweep and cv share on the terminal: one live line about the whole job.
#pragma once

#include <string>

namespace topwolf::cli {

// Rewritten in place on a terminal, at most ten times a second; elsewhere a line now and then.
class StatusLine {
 public:
  explicit StatusLine(bool quiet) : quiet_(quiet) {}
  // `seconds` since the job began. `milestone`: worth a line where nothing can be rewritten.
  void show(const std::string& text, double seconds, bool milestone);
  // Takes it away, so that something else can be printed.
  void clear();

 private:
  bool quiet_;
  double last_s_ = -1.0;
  std::size_t width_ = 0;  // of what stands there
};

// "1.5 s", "4 min", "2.1 h".
std::string describe_seconds(double seconds);

}  // namespace topwolf::cli
