#include "train/checkpoint.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/hash.hpp"
#include "core/strict_json.hpp"
#include "kernels/kernels.hpp"
#include "topwolf/version.hpp"

namespace topwolf {
namespace {

using nlohmann::json;

constexpr const char* format_name = "topwolf-checkpoint";
constexpr int format_version = 3;  // of what solvers put into a state

constexpr const char *the_solver = "the solver", *the_source = "the source of the scores";
constexpr std::pair<ScoresName, const char*> sources[] = {{ScoresName::weights, "the weights"},
                                                          {ScoresName::gram, "the Gram matrix"}};

json metadata_of(const TensorFile& file) {
  const json metadata = parse_strict_json(file.metadata(), file.path(), "the metadata");
  if (!says(metadata, "format", format_name)) {
    fail(ErrorKind::data, "{}: is no checkpoint", file.path());
  }
  if (metadata.value("version", json(1)) != format_version) {
    fail(ErrorKind::data, "{}: is a checkpoint of another version of topwolf, with which alone it can be resumed",
         file.path());
  }
  return metadata;
}

}  // namespace

std::string cost_hash(const std::vector<double>& cost) {
  if (cost.empty()) return "none";
  Hasher hasher;
  hasher.add(cost.data(), cost.size() * sizeof(double));
  return hasher.hex();
}

Identity identity_of(const std::string& kind, Trainer& trainer, const TrainOptions& options) {
  if (options.checkpoints.path.empty() && options.checkpoints.resume.empty()) return {};
  return {{"the command", kind},
          {"the precision", std::string(to_string(working_precision(trainer.data().X.precision())))},
          {"the fingerprint of the data", trainer.data_hash()},
          {"the version of topwolf", TOPWOLF_VERSION},
          {"the fingerprint of the cost matrix", cost_hash(options.loss.cost_matrix)},
          {"the bias", fmt::format("{}", options.bias)},
          {"the centring", options.center ? "wanted" : "not wanted"},
          {the_solver, trainer.method().name},
          {the_source, sources[trainer.method().gram ? 1 : 0].second},
          {"the storage of the rows", trainer.sparse() ? "sparse" : "dense"},
          {"keeping the dual", options.keep_dual ? "wanted" : "not wanted"},
          {"the seed", fmt::format("{}", options.seed)}};
}

TrainOptions as_begun(TrainOptions options) {
  if (options.checkpoints.resume.empty()) return options;
  const TensorFile file = TensorFile::read(options.checkpoints.resume);
  const json began = metadata_of(file).value("identity", json::object());
  const auto was = [&](const char* name, const std::string& value) { return says(began, name, value); };
  if (options.solver == SolverName::automatic) {
    for (const SolverTraits& solver : solver_table) {
      if (was(the_solver, std::string(solver.name))) options.solver = solver.id;
    }
  }
  if (options.solver == SolverName::block && options.scores == ScoresName::automatic) {
    for (const auto& [scores, source] : sources) {
      if (was(the_source, source)) options.scores = scores;
    }
  }
  return options;
}

Checkpoint::Checkpoint(const TrainOptions& options, Identity identity)
    : path_(options.checkpoints.path.empty() ? options.checkpoints.resume : options.checkpoints.path),
      resume_(options.checkpoints.resume),
      every_s_(options.checkpoints.every_s),
      read_only_(is_read_only(path_)),
      warn_(options.warn),
      identity_(std::move(identity)) {}

std::optional<State> Checkpoint::resumed() const {
  if (resume_.empty()) return std::nullopt;
  const TensorFile file = TensorFile::read(resume_);
  const json metadata = metadata_of(file), theirs = metadata.value("identity", json::object());
  for (const auto& [name, value] : identity_) {
    const auto found = theirs.find(name);
    if (found == theirs.end() || !found->is_string()) {
      fail(ErrorKind::data, "{}: the checkpoint is of another job: it was begun without {}, which is {} now", resume_,
           name, value);
    }
    if (const auto there = found->get<std::string>(); there != value) {
      fail(ErrorKind::data, "{}: the checkpoint is of another job: {} was {} and is {} now", resume_, name, there,
           value);
    }
  }
  if (warn_ && metadata.value("kernels", json()) != kernels().name) {
    warn_(say("{}: the job was begun on a processor with another instruction set: its last bits can differ", resume_));
  }
  return State::read(file);
}

void Checkpoint::write(const State& state) {
  json identity = json::object();
  for (const auto& [name, value] : identity_) identity[name] = value;
  try {
    if (!read_only_ && is_read_only(path_)) {
      fail(ErrorKind::io, "{}: cannot be written: it has become read-only", path_);
    }
    state.write(
        path_,
        json{{"format", format_name}, {"version", format_version}, {"identity", identity}, {"kernels", kernels().name}}
            .dump());
    warned_.clear();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    if (warn_ && warned_ != error.what()) warn_(say("{}; the job goes on without this checkpoint", error.what()));
    warned_ = error.what();
  }
  since_ = Stopwatch();
}

}  // namespace topwolf
