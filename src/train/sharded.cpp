// Training on shards: what they have, what that is together, a problem, and a run like any other on an engine that asks
// them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include "core/fail.hpp"
#include "core/hash.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "engine/device_name.hpp"
#include "engine/shards/sharded_engine.hpp"
#include "solve/method.hpp"
#include "solve/objective.hpp"
#include "solve/solvers.hpp"
#include "topwolf/dual.hpp"
#include "topwolf/shard.hpp"
#include "topwolf/version.hpp"
#include "train/checkpoint.hpp"
#include "train/problem.hpp"
#include "train/shard_terms.hpp"

namespace topwolf {
namespace {

class Carried final : public ShardGroup {
 public:
  explicit Carried(Shards& shards) : shards_(shards) {}

  ShardAnswer ask(const ShardQuestion& question) override { return unpack_answer(shards_.ask(pack(question))); }
  ShardAnswer tell(ShardVerb verb, std::string state) {
    ShardAnswer answer = ask({.verb = verb, .states = {std::move(state)}});
    if (answer.lost) throw ShardLost{};
    return answer;
  }
  void set_problem(const Problem& problem) override {
    ShardProblem terms{problem.lambda, problem.loss, {}, {}};
    if (problem.cost) terms.cost = *problem.cost;
    if (problem.mean) terms.mean = *problem.mean;
    tell(ShardVerb::problem, pack_value(terms));
  }

 private:
  Shards& shards_;
};

void check_sharded(const TrainOptions& options) {
  check(options);
  if (options.solver == SolverName::newton) {
    fail(ErrorKind::option, "{} wants all rows in one place", Field{"solver", to_string(SolverName::newton)});
  }
  if (options.scores == ScoresName::gram) {
    fail(ErrorKind::option, "{} wants all rows in one place", Field{"scores", to_string(ScoresName::gram)});
  }
  if (cuda_index(options.device)) {
    fail(ErrorKind::option, "shards are visited by this machine's cores: {}", Field{"device", "cpu"});
  }
}

// Those of all shards, by value if all are numbers.
ClassList classes_of(const std::vector<ShardRows>& shards) {
  RawDataset labels;
  bool same = true;
  std::optional<LabelType> type;
  for (const ShardRows& shard : shards) {
    if (shard.n == 0) continue;
    same = same && (!type || *type == shard.classes.type);
    type = shard.classes.type;
    for (const std::string& name : shard.classes.names) {
      labels.label.push_back(static_cast<std::int32_t>(labels.spelling.size()));
      labels.spelling.push_back(name);
    }
  }
  if (same) labels.label_type = type;
  labels.source = "the shards";
  return collect_classes(labels);
}

// "shard 3", or its file.
std::string name_of(const std::vector<ShardRows>& shards, std::size_t k) {
  return shards[k].source.empty() ? fmt::format("shard {}", k) : shards[k].source;
}

// What all rows are together; what does not fit is refused.
ShardPlan plan_of(const std::vector<ShardRows>& shards, const TrainOptions& options) {
  ShardPlan plan;
  long double N = 0.0L;
  std::int64_t n = 0;
  std::optional<std::size_t> first, dense;
  for (std::size_t k = 0; k < shards.size(); ++k) {
    const ShardRows& shard = shards[k];
    plan.first_rows.push_back(n);
    n += shard.n;
    N += shard.weight;
    if (shard.n == 0) continue;
    if (!first) first = k;
    if (shards[*first].index_base != shard.index_base && shard.sparse && shards[*first].sparse) {
      fail(ErrorKind::data, "{} counts features from {} and {} from {}; {} says from where all do",
           name_of(shards, *first), shards[*first].index_base, name_of(shards, k), shard.index_base,
           Field{"index_base"});
    }
    if (!shard.sparse && dense && shards[*dense].d != shard.d) {
      fail(ErrorKind::data, "{} has {} features, but {} has {}", name_of(shards, *dense), shards[*dense].d,
           name_of(shards, k), shard.d);
    }
    if (!shard.sparse) dense = k;
    plan.d = std::max(plan.d, shard.d);
  }
  if (n == 0) fail(ErrorKind::data, "there are no rows to train on");
  if (!(N > 0.0L)) fail(ErrorKind::data, "all example weights are 0");
  if (dense && shards[*dense].d != plan.d) {
    fail(ErrorKind::data, "{} has {} features, but others have {}", name_of(shards, *dense), shards[*dense].d, plan.d);
  }
  plan.N = static_cast<double>(N);
  plan.bias = options.bias;
  plan.center = options.center;
  plan.classes = classes_of(shards);
  if (plan.classes.size() < 2) {
    fail(ErrorKind::data, "all {} rows have the label {}; training needs at least two classes", n,
         plan.classes.names.front());
  }
  return plan;
}

// Files that are sorted by class are the norm, and shards that know few classes are in each other's way.
Sentence sorted(const std::vector<ShardRows>& shards, const ShardPlan& plan) {
  std::int64_t poor = 0, all = 0;
  for (const ShardRows& shard : shards) {
    if (shard.n == 0) continue;
    ++all;
    poor += 2 * std::min(shard.n, plan.classes.size()) > 4 * shard.classes.size() ? 1 : 0;
  }
  if (all < 2 || 2 * poor <= all) return {};
  return say(
      "{} of {} shards have rows of less than half of the classes each; rows that are dealt out at random converge "
      "much faster",
      poor, all);
}

Problem problem_of(const std::vector<ShardRows>& shards, const ShardPlan& plan, const TrainOptions& options) {
  if (options.loss.name == LossName::oracle) {
    fail(ErrorKind::option,
         "the loss {} is known by its oracle, a function of this process, but shards may be in others: train on rows "
         "that "
         "are in one place, or stay on disk",
         options.loss.title);
  }
  Problem problem;
  for (const ShardRows& shard : shards) problem.n += shard.n;
  problem.d = plan.d;
  problem.m = plan.classes.size();
  problem.N = plan.N;
  problem.bias = plan.bias;
  set_lambda(options, problem);
  set_loss(std::make_shared<const LossSpec>(options.loss), {}, problem);
  return problem;
}

std::string hash_of(const std::vector<ShardRows>& shards) {
  Hasher hasher;
  hasher.add("shards");
  for (const ShardRows& shard : shards) hasher.add(shard.hash);
  return hasher.hex();
}

// One run, with whatever is lost on the way.
class Job {
 public:
  Job(Shards& shards, const TrainOptions& options) : options_(options) {
    auto group = std::make_unique<Carried>(shards);
    const ShardAnswer described = group->ask({.verb = ShardVerb::describe});
    if (described.lost) throw ShardLost{};
    for (const std::string& state : described.states) shards_.push_back(unpack_value<ShardRows>(state));
    plan_ = plan_of(shards_, options);
    if (options.warn) {
      if (const Sentence sentence = sorted(shards_, plan_); !sentence.empty()) options.warn(sentence);
    }
    ShardAnswer prepared = group->tell(ShardVerb::prepare, pack_value(plan_));
    problem_ = problem_of(shards_, plan_, options);
    if (options.center) problem_.mean = std::make_shared<const std::vector<double>>(std::move(prepared.W));
    group->set_problem(problem_);
    engine_ = ShardedEngine::make(problem_, std::move(group));
    name_ = options.solver == SolverName::automatic ? SolverName::block : options.solver;
    solver_ = make_solver(name_, options, *engine_, start(), resolve_threads(options.threads));
  }

  RunResult run(const Stopwatch& clock, const Observer& observer, const Between& between) {
    const StopRule rule = stop_rule(options_);
    const Observer folded = !problem_.mean || !observer ? observer : [&](const Progress& progress) {
      return observer(Progress(progress, [&] {
        std::vector<double> W = progress.weights();
        fold(*problem_.mean, problem_.bias, W);
        return W;
      }));
    };
    for (;;) {
      try {
        if (lost_) go_on();
        return topwolf::run(*solver_, rule, clock, folded, &state_, between);
      } catch (const ShardLost&) {
        if (name_ != SolverName::block) {
          fail(ErrorKind::io, "a shard was lost, and only {} goes on without it",
               Field{"solver", to_string(SolverName::block)});
        }
        constexpr int most_losses = 1000;
        if (++losses_ > most_losses) fail(ErrorKind::io, "shards were lost {} times", losses_);
        lost_ = true;
      }
    }
  }

  TrainResult result(const RunResult& ran, double seconds) {
    TrainResult out;
    out.status = ran.status;
    out.rows = problem_.n;
    out.certificate = ran.certificate;
    out.iterations = ran.iterations;
    out.row_visits = solver_->row_visits();
    out.loss = problem_.loss;
    out.lambda = problem_.lambda;
    out.C = options_.lambda ? 1.0 / (problem_.lambda * problem_.N) : options_.C;
    out.seconds = seconds;
    out.choice = fmt::format("{} on {} shards", to_string(name_), shards_.size());
    out.threads = resolve_threads(options_.threads);
    if (options_.keep_dual) out.dual = engine_->rows_of(*solver_->dual());
    Model& model = out.model;
    model.d = plan_.d;
    model.bias = plan_.bias;
    model.W = solver_->weights();
    model.precision = single() ? Precision::float32 : Precision::float64;
    model.classes = plan_.classes;
    model.index_base = largest().index_base;
    model.normalization.kind = largest().normalization;
    model.temperature = problem_.loss.temperature;
    Provenance& made = model.provenance;
    made.loss = resolved_spec(options_.loss, problem_.loss);
    made.lambda = problem_.lambda;
    made.weight_sum = problem_.N;
    if (problem_.mean) made.mean = *problem_.mean;
    made.solver = to_string(name_);
    made.iterations = ran.iterations;
    made.claim = {ran.status, ran.certificate};
    made.version = TOPWOLF_VERSION;
    return out;
  }

  // At weights as a model has them, whose mean is exact but for a rounding of its terms.
  double primal(const std::vector<double>& W) {
    if (static_cast<std::int64_t>(W.size()) != engine_->geometry().dimension) {
      fail(ErrorKind::data, "there are {} weights, but {} are needed", W.size(), engine_->geometry().dimension);
    }
    constexpr double doubt = 16.0 * unit_roundoff;
    return primal_bound(problem_, weight_length(problem_, W, doubt).most, engine_->loss_sum(W, {}));
  }

  // What a checkpoint must be of.
  Identity identity() const {
    return {{"the command", "train on shards"},
            {"the number of shards", fmt::format("{}", shards_.size())},
            {"the fingerprint of the data", hash_of(shards_)},
            {"the version of topwolf", TOPWOLF_VERSION},
            {"the loss", to_string(options_.loss)},
            {"the fingerprint of the cost matrix", cost_hash(options_.loss.cost_matrix)},
            {options_.lambda ? "lambda" : "C", fmt::format("{}", options_.lambda.value_or(options_.C))},
            {"the bias", fmt::format("{}", options_.bias)},
            {"the centring", options_.center ? "wanted" : "not wanted"},
            {"the solver", std::string(to_string(name_))},
            {"keeping the dual", options_.keep_dual ? "wanted" : "not wanted"},
            {"the seed", fmt::format("{}", options_.seed)}};
  }
  void exchange(State& state) {
    state_.exchange(state);
    solver_->exchange(state);
  }

 private:
  Start start() {
    if (options_.start.rows() == 0) return {};
    check_dual(options_.start, problem_.n, problem_.m, "the dual to start from");
    return warm_start(*engine_, options_.start);
  }

  void go_on() {
    engine_->forget_round(*solver_->dual());
    solver_->recover();
    lost_ = false;
  }

  bool single() const {
    return std::all_of(shards_.begin(), shards_.end(),
                       [](const ShardRows& shard) { return working_precision(shard.precision) == Precision::float32; });
  }
  const ShardRows& largest() const {
    return *std::max_element(shards_.begin(), shards_.end(),
                             [](const ShardRows& a, const ShardRows& b) { return a.n < b.n; });
  }

  const TrainOptions& options_;
  std::vector<ShardRows> shards_;
  ShardPlan plan_;
  Problem problem_;
  std::unique_ptr<ShardedEngine> engine_;
  SolverName name_ = SolverName::block;
  std::unique_ptr<Solver> solver_;
  RunState state_;
  bool lost_ = false;  // and not made up for yet
  int losses_ = 0;
};

// A run that begins again where a shard is lost before there is anything that it could lose.
std::unique_ptr<Job> begun(Shards& shards, const TrainOptions& options) {
  for (int tries = 0;; ++tries) {
    try {
      return std::make_unique<Job>(shards, options);
    } catch (const ShardLost&) {
      constexpr int most_tries = 100;
      if (tries == most_tries) fail(ErrorKind::io, "shards were lost {} times before training began", tries + 1);
    }
  }
}

}  // namespace

double objective(Shards& shards, const TrainOptions& options, const std::vector<double>& W) {
  const IeeeArithmetic ieee;
  check_sharded(options);
  constexpr int most_tries = 100;
  for (int tries = 1;; ++tries) {
    try {
      return Job(shards, options).primal(W);
    } catch (const ShardLost&) {
      if (tries == most_tries) fail(ErrorKind::io, "shards were lost {} times before they were asked", tries);
    }
  }
}

TrainResult train(Shards& shards, const TrainOptions& asked, const Observer& observer) {
  const IeeeArithmetic ieee;
  check_sharded(asked);
  TrainOptions options = as_begun(asked);
  const Stopwatch started;
  const std::unique_ptr<Job> job = begun(shards, options);
  const bool checkpointed = !options.checkpoints.path.empty() || !options.checkpoints.resume.empty();
  if (!checkpointed) {
    const RunResult ran = job->run(started, observer, {});
    return job->result(ran, started.seconds());
  }
  Checkpoint checkpoint(options, job->identity());
  double before = 0.0;
  if (std::optional<State> resumed = checkpoint.resumed()) {
    (*resumed)("seconds", before);
    job->exchange(*resumed);
  }
  if (options.time_limit_s) *options.time_limit_s += before;
  const Stopwatch clock(before);
  const RunResult ran = job->run(clock, observer, [&](bool leaving) {
    if (!leaving && !checkpoint.due()) return;
    State state;
    job->exchange(state);
    double seconds = clock.seconds();
    state("seconds", seconds);
    checkpoint.write(state);
  });
  return job->result(ran, clock.seconds());
}

}  // namespace topwolf
