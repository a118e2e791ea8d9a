#include "narration.hpp"

#include <fmt/format.h>

#include <utility>

#include "signals.hpp"

namespace topwolf::cli {

RunNarration::RunNarration(const Arguments& arguments, TrainOptions& options, Warnings& warnings,
                           std::optional<Trace>& trace)
    : quiet_(arguments.has("quiet")), table_(stderr, progress_style(), target_gap(options)), trace_(trace) {
  options.warn = [this, &warnings](const Sentence& sentence) {
    table_.finish();
    warnings.add(sentence);
  };
  hold_signals();
  if (trace && options.time_limit_s) trace->set_time_limit(*options.time_limit_s);
}

bool RunNarration::observe(const Progress& progress, const HeldOutErrors& held_out) {
  if (!quiet_) table_.observe(progress, held_out);
  if (trace_) trace_->observe(progress, held_out);
  return held_signal() == 0;
}

double RunNarration::finish() {
  table_.finish();
  return clock_.seconds();
}

PathNarration::PathNarration(const Arguments& arguments, TrainOptions& options, Warnings& warnings, std::string header)
    : rows_(!arguments.has("json")), header_(std::move(header)), status_(arguments.has("quiet")) {
  options.warn = [this, &warnings](const Sentence& sentence) {
    status_.clear();
    warnings.add(sentence);
  };
  hold_signals();
}

bool PathNarration::observe(double C, const Progress& progress) {
  status_.show(fmt::format("C = {:g}: pass {}, relative gap {:.1e}", C, progress.iteration, progress.relative_gap),
               clock_.seconds(), false);
  return held_signal() == 0;
}

void PathNarration::finished(const std::string& row) {
  status_.clear();
  if (!rows_) return;
  print(std::exchange(header_, {}));
  print(row);
  finish_output();
}

}  // namespace topwolf::cli
