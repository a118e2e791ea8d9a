// The table's rows have one width, so that rewriting a line needs no terminal control but a carriage return.
#include "report/progress.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/fail.hpp"

namespace topwolf {
namespace {

constexpr double live_interval_s = 0.1;

// 1, 2, 5, 10, 20, 50, ...: about ten lines for a thousand passes.
bool is_milestone(std::int64_t iteration) {
  while (iteration > 0 && iteration % 10 == 0) iteration /= 10;
  return iteration == 1 || iteration == 2 || iteration == 5;
}

}  // namespace

double target_gap(const TrainOptions& options) {
  return options.tolerance.value_or(options.absolute_gap ? 0.0 : default_tolerance);
}

// fmt::print would throw where nobody listens any more.
ProgressTable::ProgressTable(std::FILE* stream, ProgressStyle style, double tolerance)
    : ProgressTable(
          [stream](const std::string& text) {
            std::fputs(text.c_str(), stream);
            std::fflush(stream);
          },
          style, tolerance) {}

void ProgressTable::observe(const IterationRecord& record, const HeldOutErrors& held_out) {
  if (!begun_) {
    begun_ = true;
    std::string header = fmt::format("{:>8} {:>10} {:>14} {:>14} {:>13} {:>10}", "pass", "seconds", "primal", "dual",
                                     "relative gap", "time left");
    for (const std::int64_t k : held_out.ks) header += fmt::format(" {:>8}", fmt::format("top-{}", k));
    write_(fmt::format("{}{}{}\n", style_.colour ? "\x1b[1m" : "", header, style_.colour ? "\x1b[0m" : ""));
  }
  trend_.see(record.seconds, record.relative_gap);
  unprinted_ = Row{record, held_out};
  if (is_milestone(record.iteration)) {
    finish();
  } else if (style_.live && record.seconds - last_live_s_ >= live_interval_s) {
    last_live_s_ = record.seconds;
    print_row(*unprinted_, false);
  }
}

void ProgressTable::finish() {
  if (!unprinted_) return;
  print_row(*unprinted_, true);
  unprinted_.reset();
}

void ProgressTable::print_row(const Row& row, bool permanent) {
  const IterationRecord& record = row.record;
  const auto left = trend_.seconds_left();
  std::string text = fmt::format("{:>8} {:>10.2f} {:>14.6g} {:>14.6g} {:>13.2e} {:>10}", record.iteration,
                                 record.seconds, record.primal, record.dual, record.relative_gap,
                                 left && *left > 0.0 ? "~ " + describe_roughly(*left) : "");
  for (const double error : row.held_out.errors) text += fmt::format(" {:>6.2f} %", 100.0 * error);
  const bool dim = style_.colour && !permanent;
  write_(fmt::format("{}{}{}{}{}", style_.live ? "\r" : "", dim ? "\x1b[2m" : "", text, dim ? "\x1b[0m" : "",
                     permanent ? "\n" : ""));
}

void Trace::set_time_limit(double seconds) {
  constexpr double longest_s = 1e9;
  const auto left = std::chrono::duration<double>(std::min(seconds, longest_s));
  using Clock = std::chrono::steady_clock;
  file_.set_deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(left));
}

void Trace::observe(const IterationRecord& record, const HeldOutErrors& held_out) {
  if (error_) return;
  nlohmann::ordered_json line = {{"iteration", record.iteration},
                                 {"seconds", record.seconds},
                                 {"primal", record.primal},
                                 {"dual", record.dual},
                                 {"relative_gap", record.relative_gap},
                                 {"step", record.step},
                                 {"iterate_primal", record.iterate_primal},
                                 {"iterate_dual", record.iterate_dual}};
  for (std::size_t a = 0; a < held_out.ks.size(); ++a) {
    line[fmt::format("held_out_top{}_error", held_out.ks[a])] = held_out.errors[a];
  }
  try {
    file_.write(line.dump() + "\n");
    file_.flush();
  } catch (const Error& error) {
    error_ = error;
  }
}

void Trace::close() {
  if (error_) throw *error_;
  file_.commit();
}

}  // namespace topwolf
