// topwolf train --shards: files that each hold some of the rows, in this process or shared out among those of mpirun.
// The first process does what train does; the others answer it, print nothing, and write nothing.
#include <fmt/format.h>
#include <glob.h>

#include <csignal>
#include <optional>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/counted.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "narration.hpp"
#include "problem_options.hpp"
#include "ranks.hpp"
#include "signals.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/dual.hpp"
#include "topwolf/structure.hpp"
#include "topwolf/topwolf.hpp"
#include "training.hpp"

namespace topwolf::cli {
namespace {

void refuse_others(const Arguments& arguments) {
  for (const char* key : {"class-weight", "weights", "margins", "class-features", "taxonomy", "cost-matrix",
                          "validation", "report", "dry-run"}) {
    if (arguments.has(key)) fail(ErrorKind::option, "--{} does not go with --shards", key);
  }
  if (!arguments.positional(1)) fail(ErrorKind::option, "with --shards the name of MODEL must be given");
}

// In the order of their names.
std::vector<std::string> files_of(const std::string& pattern, const char* what) {
  glob_t found{};
  const int failed = glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (failed == GLOB_NOMATCH || (failed == 0 && files.empty())) {
    fail(ErrorKind::io, "{}: there is no such file for {}", pattern, what);
  }
  if (failed == GLOB_NOSPACE) throw std::bad_alloc();
  if (failed != 0) fail(ErrorKind::io, "{}: a folder of it cannot be read", pattern);
  return files;
}

struct Files {
  std::vector<std::string> data, labels;  // labels: none, or as many

  std::int64_t count() const { return static_cast<std::int64_t>(data.size()); }
};

Files files_of(const Arguments& arguments) {
  Files files{files_of(arguments.required_positional(0), "DATA"), {}};
  if (!arguments.has("labels")) return files;
  files.labels = files_of(arguments.text("labels"), "--labels");
  if (files.labels.size() != files.data.size()) {
    fail(ErrorKind::option, "--labels names {} files for the {} of DATA", files.labels.size(), files.data.size());
  }
  return files;
}

// One text, and back; empty: there are none.
std::string joined(const Files& files) {
  std::string text;
  for (const auto* list : {&files.data, &files.labels}) {
    for (const std::string& file : *list) text += file + '\0';
  }
  return (files.labels.empty() ? "D" : "L") + text;
}
Files split(const std::string& text) {
  Files files;
  std::vector<std::string> names;
  for (std::size_t from = 1; from < text.size();) {
    const std::size_t to = text.find('\0', from);
    names.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  const std::size_t count = text[0] == 'L' ? names.size() / 2 : names.size();
  files.data.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
  files.labels.assign(names.begin() + static_cast<std::ptrdiff_t>(count), names.end());
  return files;
}

std::vector<Shard> own_shards(const Arguments& arguments, const Files& files, const Ranks& ranks) {
  const auto normalize = parse_name<NormalizeKind>(arguments.choice("normalize")).value();
  std::vector<Shard> own;
  for (std::int64_t k = 0; k < files.count(); ++k) {
    if (ranks.owner(k, files.count()) != ranks.rank) continue;
    const auto at = static_cast<std::size_t>(k);
    LoadOptions options = load_options(arguments, files.data[at]);
    if (!files.labels.empty()) options.labels_path = files.labels[at];
    own.emplace_back(load_shard(options, normalize), k, options.threads);
  }
  return own;
}

struct Run {
  TrainOptions options;
  double load_seconds = 0.0, train_seconds = 0.0;
  TrainResult result;
  Warnings warnings;
};

void train_observed(const Arguments& arguments, Shards& shards, Run& run, std::optional<Trace>& trace) {
  RunNarration narration(arguments, run.options, run.warnings, trace);
  run.result = train(shards, run.options, [&](const Progress& progress) { return narration.observe(progress, {}); });
  run.train_seconds = narration.finish();
}

Json to_json(const Run& run, std::int64_t shards, int processes, const std::string& path) {
  const Model& model = run.result.model;
  Json document = Json::object();
  add_outcome(document, run.result, run.load_seconds, run.train_seconds);
  document["n"] = run.result.rows;
  document["d"] = model.d;
  document["m"] = model.m();
  document["shards"] = shards;
  document["processes"] = processes;
  document["normalize"] = topwolf::to_string(model.normalization.kind);
  document["precision"] = topwolf::to_string(model.precision);
  add_method(document, run.options, run.result);
  add_ending(document, path, run.warnings.sentences());
  return document;
}

std::string to_text(const Run& run, std::int64_t shards, int processes, const std::string& path) {
  const TrainResult& result = run.result;
  return fmt::format(
      "{} in {}, {}, {}; {}\n{} in {:.2f} s{}: {} (primal {:.6g}, dual {:.6g})\n"
      "model written to {}\n",
      counted(result.rows, "row"), counted(shards, "shard"), counted(result.model.d, "feature"),
      counted(result.model.m(), "class"), describe_problem(result.model.provenance),
      status_sentence(result.status, result.iterations), run.train_seconds,
      processes > 1 ? fmt::format(" by {} processes", processes) : "", certificate_sentence(result.certificate),
      result.certificate.primal, result.certificate.dual, escape_controls(path));
}

// What can be refused early is refused before anything is read.
Files first_files(const Arguments& arguments, const std::string& path) {
  Files files = files_of(arguments);
  std::vector<std::string> inputs = files.data;
  inputs.insert(inputs.end(), files.labels.begin(), files.labels.end());
  for (const std::string& output :
       {path, arguments.text("dual"), arguments.text("trace"), arguments.text("checkpoint")}) {
    if (!output.empty()) check_output(arguments, output, inputs, "");
  }
  check_outputs(arguments, {path});
  return files;
}

int train_first(const Arguments& arguments, const Files& files, const Ranks& ranks, const std::string& path, Run& run) {
  const Stopwatch clock;
  std::exception_ptr failed;
  std::vector<Shard> own;
  try {
    own = own_shards(arguments, files, ranks);
  } catch (...) {
    failed = std::current_exception();
  }
  // The others wait for it, whatever happened here.
  const std::unique_ptr<Shards> shards = shards_of_ranks(ranks, std::move(own), files.count());
  if (failed) std::rethrow_exception(failed);
  run.load_seconds = clock.seconds();
  std::optional<Trace> trace;
  if (arguments.has("trace")) trace.emplace(arguments.text("trace"));
  train_observed(arguments, *shards, run, trace);

  Model& model = run.result.model;
  save_trained(arguments, model, path);
  check_still(arguments, arguments.text("dual"), dual_format);
  if (arguments.has("dual")) {
    save_dual(run.result.dual, model.m(), model.provenance.data_hash, arguments.text("dual"));
  }
  if (trace) trace->close();
  print(arguments.has("json") ? dump(to_json(run, files.count(), ranks.size, path))
                              : to_text(run, files.count(), ranks.size, path));
  if (held_signal() != 0) return 128 + held_signal();
  return run.result.status == Status::converged ? 0 : 5;
}

// The first process decides what is read, so that all read the same.
int run_on(const Arguments& arguments, const Ranks& ranks) {
  Run run;
  run.options = training_options(arguments);
  run.options.loss = loss_of(arguments);
  set_regularisation(arguments, run.options);
  run.options.keep_dual = arguments.has("dual");
  check(run.options);
  refuse_others(arguments);
  const std::string path = output_argument(arguments, 1, "MODEL");
  if (!ranks.first()) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);  // the first one decides
    const std::string text = from_first_rank(ranks, {});
    if (text.empty()) return 0;
    const Files files = split(text);
    answer_first_rank(
        ranks, [&] { return own_shards(arguments, files, ranks); }, files.count());
    return 0;
  }
  Files files;
  try {
    files = first_files(arguments, path);
  } catch (...) {
    from_first_rank(ranks, {});
    throw;
  }
  from_first_rank(ranks, joined(files));
  return train_first(arguments, files, ranks, path, run);
}

}  // namespace

int run_train_on_shards(const Arguments& arguments) {
  const Ranks ranks = join_ranks();
  try {
    return run_on(arguments, ranks);
  } catch (const Error&) {
    if (ranks.first()) throw;
    return 0;  // it says so already
  }
}

}  // namespace topwolf::cli
