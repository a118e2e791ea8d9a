// What commands tell while they train, and how a signal reaches what they train: nothing here decides anything else.
#pragma once

#include <optional>
#include <string>

#include "arguments.hpp"
#include "core/clock.hpp"
#include "report/progress.hpp"
#include "selection.hpp"
#include "terminal.hpp"
#include "topwolf/select.hpp"

namespace topwolf::cli {

// Of one fit: the table on the terminal, and the trace if there is one. From here on signals are held.
class RunNarration {
 public:
  RunNarration(const Arguments& arguments, TrainOptions& options, Warnings& warnings, std::optional<Trace>& trace);
  // False: a signal ends the fit.
  bool observe(const Progress& progress, const HeldOutErrors& held_out);
  // The seconds that it took.
  double finish();

 private:
  bool quiet_;
  ProgressTable table_;
  std::optional<Trace>& trace_;
  Stopwatch clock_;
};

// Of a path over C: a line on the terminal about the fit that goes on, a row on standard output for each that is
// finished. From here on signals are held.
class PathNarration {
 public:
  PathNarration(const Arguments& arguments, TrainOptions& options, Warnings& warnings, std::string header);
  // False: a signal ends the path.
  bool observe(double C, const Progress& progress);
  void finished(const std::string& row);
  void clear() { status_.clear(); }

 private:
  bool rows_;  // wanted: --json has them in its document
  std::string header_;
  StatusLine status_;
  Stopwatch clock_;
};

}  // namespace topwolf::cli
