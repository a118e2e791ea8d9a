// The choice of solver and scores by what they would take in time and memory, in words that the user sees.
#include "solve/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "engine/device_name.hpp"
#include "solve/solvers.hpp"

namespace topwolf {
namespace {

// A job may take this share of what is available: the allocator, the libraries and the model need some.
constexpr double share = 0.9;

bool fits(double bytes, const ProcessMemory& memory) {
  return bytes <= share * memory.available;
}

// The same in one job at a time, on one thread.
Workload alone_on(const Workload& work) {
  Workload alone = work;
  alone.workers = alone.threads = 1;
  return alone;
}

bool choose_gram(const Workload& work, ScoresName asked, bool gpu, const ProcessMemory& memory, std::string& why) {
  if (asked != ScoresName::automatic) {
    why = "as asked";
    return asked == ScoresName::gram;
  }
  if (gpu) {
    why = "a GPU makes cheap products";
    return false;
  }
  if (work.sparse) {
    why = "sparse rows make cheap products";
    return false;
  }
  // By what there is in all rather than by what is free: the choice should not change from day to day. A job that is
  // resumed keeps the choice that it began with.
  constexpr double share_of_limit = 0.25;
  const double bytes = training_bytes(work, SolverName::block, true);
  if (bytes > share_of_limit * memory.limit || !fits(bytes, memory)) {
    why = fmt::format("with the Gram matrix it would take {:.1f} GB", bytes / 1e9);
    return false;
  }
  const double weights = expected_effort(work, SolverName::block, false).seconds;
  const double gram = expected_effort(work, SolverName::block, true).seconds;
  why = fmt::format("expected to take {:.2g} s rather than {:.2g} s", std::min(weights, gram), std::max(weights, gram));
  return gram < weights;
}

// Very many rows and few weights: then a step's matrix costs less than a pass, and a dozen steps are enough, however
// badly the problem is conditioned. Block ascent has a row's visit to pay for every row and epoch.
bool suits_newton(const Workload& work) {
  constexpr double rows_per_weight = 5000.0;
  return work.class_columns == 0.0 && work.n >= rows_per_weight * work.m * work.D;
}

// Few weights, and a problem so badly conditioned that block ascent takes hundreds of epochs where newton takes thirty
// steps of ten epochs' price; with few rows for every weight it takes more steps. By measurements (bench/shapes).
// Block ascent comes closer to the optimum in the end.
bool wants_newton(const Workload& work, const TrainOptions& options) {
  constexpr double closest = 1e-6;
  if (options.absolute_gap || options.tolerance.value_or(default_tolerance) < closest) return false;
  constexpr double most_weights = 512.0, badly = 50.0, worst_tried = 1e9, rows_times_condition = 4000.0;
  const double weights = work.m * work.D;
  return work.class_columns == 0.0 && weights <= most_weights && work.condition >= badly &&
         work.condition <= worst_tried && work.condition * work.n >= rows_times_condition * weights;
}

// The first change of options with which the job would fit, beginning with those that cost least.
Sentence remedy_for(const Workload& work, const Method& method, const ProcessMemory& memory) {
  const auto sentence = [](const char* field, std::string_view value, double bytes) {
    return say("{} needs {:.2f} GB", Field{field, value}, bytes / 1e9);
  };
  if (method.gram) {
    const double bytes = training_bytes(work, method.solver, false);
    if (fits(bytes, memory)) return sentence("scores", to_string(ScoresName::weights), bytes);
  }
  if (work.workers > 1 || work.threads > 1) {
    const double bytes = training_bytes(alone_on(work), method.solver, method.gram);
    if (fits(bytes, memory)) return sentence("threads", "1", bytes);
  }
  if (work.number > sizeof(float)) {
    Workload single = work;
    single.number = sizeof(float);
    const double bytes = training_bytes(single, method.solver, method.gram);
    if (fits(bytes, memory)) return sentence("precision", to_string(Precision::float32), bytes);
  }
  for (const SolverName other : {SolverName::block, SolverName::lsfw}) {
    const double bytes = training_bytes(work, other, false);
    if (other != method.solver && fits(bytes, memory)) return sentence("solver", to_string(other), bytes);
  }
  return say("fewer features or classes, or {:.2f} GB more memory are needed",
             (method.bytes / share - memory.available) / 1e9);
}

}  // namespace

Method choose_method(const Workload& work, const TrainOptions& options, const ProcessMemory& memory) {
  Method method;
  method.memory = memory;
  // By what one thread would take: the choice, and with it the bits, must not change with their number.
  const Workload alone = alone_on(work);
  const double block = training_bytes(alone, SolverName::block, false);
  const double lsfw = training_bytes(alone, SolverName::lsfw, false);
  const bool free = options.solver == SolverName::automatic && options.scores == ScoresName::automatic;
  const bool too_large = free && !fits(block, memory) && lsfw < block;
  const bool on_device = cuda_index(options.device).has_value(), tall = suits_newton(work);
  const bool newton = free && !on_device && !work.by_oracle && (tall || wants_newton(work, options)) &&
                      fits(training_bytes(alone, SolverName::newton, false), memory);
  method.solver = options.solver != SolverName::automatic ? options.solver
                  : newton                                ? SolverName::newton
                  : too_large                             ? SolverName::lsfw
                                                          : SolverName::block;
  method.name = to_string(method.solver);
  if (method.solver == SolverName::block) {
    std::string why;
    method.gram = choose_gram(alone, options.scores, on_device, memory, why);
    method.choice =
        fmt::format("block ascent with scores from the {}: {}", method.gram ? "Gram matrix" : "weights", why);
  } else {
    method.choice = newton && tall ? fmt::format("newton: {:.0f} rows for every weight", work.n / (work.m * work.D))
                    : newton ? fmt::format("newton: {:.0f} weights, and C times the mean squared row length is {:.3g}",
                                           work.m * work.D, work.condition)
                    : too_large ? fmt::format("{}: block ascent would take {:.1f} GB", method.name, block / 1e9)
                                : fmt::format("{}: as asked", method.name);
  }
  method.bytes = training_bytes(work, method.solver, method.gram);
  if (!fits(method.bytes, memory)) method.remedy = remedy_for(work, method, memory);
  return method;
}

Method choose_method_on_disk(const Workload& work, const TrainOptions& options, double memory) {
  if (options.scores == ScoresName::gram) {
    fail(ErrorKind::option, "{} needs the rows in memory, for which there is too little", Field{"scores", "gram"});
  }
  if (work.class_columns > 0.0) {
    fail(ErrorKind::option, "class features need the rows in memory, for which there is too little");
  }
  Method method;
  const auto plan_for = [&](SolverName solver) { return plan_windows(work, solver, memory); };
  const bool newton = options.solver == SolverName::automatic && suits_newton(work) &&
                      plan_for(SolverName::newton).bytes >= 0.25 * memory;
  method.solver = newton                                    ? SolverName::newton
                  : options.solver == SolverName::automatic ? SolverName::block
                                                            : options.solver;
  method.name = to_string(method.solver);
  method.bytes = training_bytes(work, method.solver, false);
  method.windows = plan_for(method.solver);
  method.memory.limit = memory;
  method.memory.available = memory - standing_bytes(work);
  method.memory.bound = fmt::format("a limit of {:.2f} GB", memory / 1e9);
  method.choice =
      fmt::format("{}: {:.2f} GB of rows stay on disk, in windows of {:.3g} MB",
                  method.solver == SolverName::block ? "block ascent with scores from the weights" : method.name,
                  rows_bytes(work) / 1e9, method.windows.bytes / 1e6);
  if (method.windows.visits > 1) method.choice += fmt::format(", each visited {} times", method.windows.visits);
  // What the threads want comes out of the half that the window leaves.
  const double alone = training_bytes(alone_on(work), method.solver, false);
  const double least = 4e6, threads = method.bytes - alone;
  if (method.windows.bytes < least) {
    const double need = standing_bytes(work) + alone;
    method.remedy =
        say("{} of {:.2f} GB or more is needed", Field{"memory"}, std::ceil((need * 1.1 + 32e6) / 1e7) / 1e2);
  } else if (threads > method.windows.bytes) {
    method.remedy = say("{} needs {:.2f} GB", Field{"threads", "1"}, alone / 1e9);
  }
  return method;
}

Method joint_method(const TrainOptions& options) {
  Method method;
  method.solver = options.solver == SolverName::automatic ? SolverName::block : options.solver;
  method.name = to_string(method.solver);
  method.choice = method.solver == SolverName::block ? "block ascent with scores from psi"
                                                     : fmt::format("{}: as asked", method.name);
  return method;
}

void check_memory(const Method& method) {
  if (method.remedy.empty()) return;
  fail(ErrorKind::memory, "training with {} would take {:.2f} GB of memory, but {} leaves {:.2f} GB; {}",
       method.solver != SolverName::block ? method.name
       : method.gram                      ? "block ascent from the Gram matrix"
                                          : "block ascent from the weights",
       method.bytes / 1e9, method.memory.bound, method.memory.available / 1e9, method.remedy.marked());
}

std::unique_ptr<Solver> make_solver(SolverName name, const TrainOptions& options, Engine& engine, Start from,
                                    int threads) {
  const auto batch = [&](BatchOptions rule) {
    rule.keep_dual = options.keep_dual;
    rule.threads = threads;
    return make_batch_solver(engine, std::move(from), rule);
  };
  switch (name) {
    case SolverName::automatic:
      break;  // choose_method knows which
    case SolverName::block:
      return make_block_solver(engine, std::move(from), {.seed = options.seed});
    case SolverName::newton:
      return make_newton_solver(engine, std::move(from), threads);
    case SolverName::apg:
      return make_apg_solver(engine, std::move(from), threads);
    case SolverName::lsfw:
      return batch(lsfw_options);
    case SolverName::stdfw:
      return batch(stdfw_options);
    case SolverName::pg:
      return batch(pg_options);
  }
  fail(ErrorKind::internal, "nobody makes the solver {}", to_string(name));
}

}  // namespace topwolf
