// Observers of training: a table of progress for people, and one JSON line an iteration for programs. They only look:
// neither decides when training ends, and a stream that fails never ends it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/atomic_file.hpp"
#include "report/trend.hpp"
#include "topwolf/error.hpp"
#include "topwolf/options.hpp"
#include "topwolf/result.hpp"

namespace topwolf {

struct ProgressStyle {
  bool live = false;    // the stream is a terminal: keep rewriting the last line
  bool colour = false;  // and it may have colours
};

// Errors on rows that are not trained on, seen after a pass.
struct HeldOutErrors {
  std::vector<std::int64_t> ks;
  std::vector<double> errors;
};

// The relative gap that ends training; 0 where an absolute one does.
double target_gap(const TrainOptions& options);

class ProgressTable {
 public:
  // The sink takes the text as it comes: lines, and parts of lines where they are live.
  // tolerance: the relative gap that ends training, by which the time left is guessed; 0 where none is known.
  ProgressTable(std::function<void(const std::string&)> sink, ProgressStyle style, double tolerance = 0.0)
      : write_(std::move(sink)), style_(style), trend_(tolerance) {}
  ProgressTable(std::FILE* stream, ProgressStyle style, double tolerance = 0.0);
  // The errors, where they are looked at, must have the same ks at every pass.
  void observe(const IterationRecord& record, const HeldOutErrors& held_out = {});
  // The last pass, if the table does not end with it. To be called before anything else is printed.
  void finish();

 private:
  struct Row {
    IterationRecord record;
    HeldOutErrors held_out;
  };
  void print_row(const Row& row, bool permanent);

  std::function<void(const std::string&)> write_;
  ProgressStyle style_;
  GapTrend trend_;
  std::optional<Row> unprinted_;  // the latest pass, until it has a line of its own
  double last_live_s_ = -1.0;
  bool begun_ = false;
};

// As all files it appears whole, at the end, and a run that fails leaves what was there. To look on while a run goes
// on, name a pipe: lines go there one by one.
class Trace {
 public:
  // Throws Error{io} if the file cannot be made.
  explicit Trace(const std::string& path) : file_(path) {}
  // So many seconds from now nobody waits any more for whoever reads a pipe.
  void set_time_limit(double seconds);
  void observe(const IterationRecord& record, const HeldOutErrors& held_out = {});
  // Throws Error{io} if anything could not be written, now or earlier.
  void close();

 private:
  AtomicFile file_;
  std::optional<Error> error_;  // of the first write that failed; nothing is written after it
};

}  // namespace topwolf
