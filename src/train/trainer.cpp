#include "train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/fail.hpp"
#include "core/length.hpp"
#include "core/threads.hpp"
#include "data/check_dataset.hpp"
#include "data/columns.hpp"
#include "data/features.hpp"
#include "data/fingerprint.hpp"
#include "solve/objective.hpp"
#include "solve/solvers.hpp"
#include "topwolf/dual.hpp"
#include "topwolf/version.hpp"
#include "train/problem.hpp"

namespace topwolf {
namespace {

// Everything but features, lambda and the loss.
Problem problem_with(const Dataset& data, std::int64_t m) {
  Problem problem;
  problem.y = data.y;
  problem.omega = data.weights;
  problem.n = static_cast<std::int64_t>(data.y.size());
  problem.m = m;
  problem.N = weight_sum(data);
  if (data.margins.given()) problem.per_example = &data.margins;
  return problem;
}

Problem problem_on(const Dataset& data, const Features& X, double bias) {
  Problem problem = problem_with(data, data.classes.size());
  problem.X = X.kind();
  problem.d = X.cols();
  problem.bias = bias;
  return problem;
}

SharedMean mean_of_rows(const Features& X, const Problem& problem, int threads) {
  return std::make_shared<const std::vector<double>>(mean_of(X, problem.omega, problem.N, resolve_threads(threads)));
}

void check_centred(const std::vector<double>& lengths2) {
  const auto bad = std::find_if_not(lengths2.begin(), lengths2.end(), [](double x) { return std::isfinite(x); });
  if (bad != lengths2.end()) {
    fail(ErrorKind::data, "row {} less the mean of the rows is too long to be squared", bad - lengths2.begin() + 1);
  }
}

// What the process may take in all.
double bytes_allowed(const TrainOptions& options) {
  const double limit = process_memory().limit;
  return options.memory ? std::min(limit, static_cast<double>(*options.memory)) : limit;
}

// What of it is left once the rows are there. By what the job takes, not by what it has just now: the choice must not
// change from day to day.
ProcessMemory allowed(const Workload& work, const TrainOptions& options) {
  const double limit = bytes_allowed(options);
  return {limit, std::max(0.0, limit - standing_bytes(work) - rows_bytes(work)),
          fmt::format("a limit of {:.2f} GB", limit / 1e9)};
}

bool is_identity(const Features& phi) {
  return phi.rows() == 0 || topwolf::is_identity(phi.view());
}

// A pass that takes less time than waking threads is made by one; the results are the same.
int threads_for(const Problem& problem, int asked) {
  return threads_worth(static_cast<double>(problem.n) * static_cast<double>(problem.m) * static_cast<double>(problem.d),
                       resolve_threads(asked));
}

RowLengths spread_of(std::vector<double> lengths2) {
  const auto middle = lengths2.begin() + static_cast<std::ptrdiff_t>(lengths2.size() / 2);
  std::nth_element(lengths2.begin(), middle, lengths2.end());
  // What nth_element leaves on either side of the middle is not above it, and not below it.
  return {std::sqrt(*std::min_element(lengths2.begin(), middle + 1)), std::sqrt(*middle),
          std::sqrt(*std::max_element(middle, lengths2.end()))};
}

}  // namespace

Trainer::Trainer(Dataset data, const TrainOptions& options, int workers, std::int64_t fits, EngineFactory factory)
    : factory_(std::move(factory)), device_(options.device), data_(std::move(data)) {
  check(options);
  // Who looks on must know the columns before rows on disk are read: there all are kept.
  const bool on_disk = data_.X.source() != nullptr;
  choose_place(options, workers, fits);
  std::vector<double> lengths2 = check_dataset(data_, options.threads, windows_ ? &data_hash_ : nullptr);
  if (!on_disk) columns_ = kept_columns(data_.X, data_.classes.size());
  X_ = windows_ ? data_.X : dense_where_faster(on_columns(data_.X, columns_));
  const Features& phi = data_.class_features;
  if (!is_identity(phi)) map_ = std::make_shared<ClassMap>(phi.view());
  problem_ = problem_on(data_, X_, options.bias);
  row_lengths_ = spread_of(lengths2);
  if (options.center) {
    problem_.mean = mean_of_rows(X_, problem_, options.threads);
    lengths2 = squared_lengths(X_, *problem_.mean, problem_.bias, resolve_threads(options.threads));
    check_centred(lengths2);
  } else {
    for (double& length2 : lengths2) length2 += problem_.bias.product();
  }
  lengths2_ = share(std::move(lengths2));
  ask_for(options.loss);
  threads_ = threads_for(problem_, options.threads);
  if (windows_) return;
  const auto stored = std::visit([](const auto& X) { return stored_values(X); }, problem_.X);
  work_ = workload_of(problem_, stored, options, map_ ? map_->p() : 0, std::max(1, threads_ / workers), workers, fits);
  choose(options);
}

void Trainer::choose(const TrainOptions& options) {
  if (windows_ || psi_) return;
  const bool gram = method_.gram;
  work_.condition = condition(options);
  work_.by_oracle = options.loss.name == LossName::oracle;
  method_ = choose_method(work_, options, options.memory ? allowed(work_, options) : process_memory());
  if (!engine_ || method_.gram == gram) return;
  solver_.reset();
  engine_.reset();
  gram_.reset();
  prepare();
}

double Trainer::condition(const TrainOptions& options) const {
  const double sum = std::accumulate(lengths2_->begin(), lengths2_->end(), 0.0);
  const double C = options.lambda ? 1.0 / (*options.lambda * problem_.N) : options.C;
  return C * sum / static_cast<double>(lengths2_->size());
}

void Trainer::choose_place(const TrainOptions& options, int workers, std::int64_t fits) {
  const std::shared_ptr<const RowSource> source = data_.X.source();
  if (!source) return;
  if (source->rows() == 0) fail(ErrorKind::data, "there are no rows to train on");
  check_labels(data_.y, source->rows(), data_.classes.size());
  Problem problem = problem_on(data_, data_.X, options.bias);
  problem.n = source->rows();
  problem.loss = resolve_loss(options.loss, problem.m);
  const int threads = threads_for(problem, options.threads);
  const std::int64_t class_columns = is_identity(data_.class_features) ? 0 : data_.class_features.cols();
  work_ = workload_of(problem, source->stored(0, problem.n), options, class_columns, std::max(1, threads / workers),
                      workers, fits);
  const Method loaded = choose_method(work_, options, allowed(work_, options));
  const bool slower = options.solver == SolverName::automatic && loaded.solver == SolverName::lsfw;
  if (loaded.remedy.empty() && !slower) {
    data_.X = in_memory(*source, resolve_threads(options.threads));
    return;
  }
  work_.windows = true;
  method_ = choose_method_on_disk(work_, options, bytes_allowed(options));
  const double bytes = method_.windows.bytes;
  windows_ = WindowedRows{source, {bytes, std::clamp(bytes / 64.0, 65536.0, 1048576.0)}, method_.windows.visits};
  check_memory(method_);
  if (Extents(*source, windows_->size.extent_bytes).largest_bytes() <= bytes) return;
  fail(ErrorKind::memory, "a row alone has more values than a window of {:.3g} MB holds; more {} is needed",
       bytes / 1e6, Field{"memory"});
}

Trainer::Trainer(const JointMap& psi, const JointLabels& labels, const TrainOptions& options, EngineFactory factory)
    : factory_(std::move(factory)), device_(options.device), psi_(&psi) {
  check(options);
  const std::int64_t n = psi.examples(), m = psi.classes();
  if (n == 0) fail(ErrorKind::data, "there are no examples to train on");
  check_labels(labels.y, n, m);
  check_weights(labels.weights, n);
  check_margins(labels.margins, labels.y, m);
  data_.y = labels.y;
  data_.weights = labels.weights;
  data_.margins = labels.margins;
  problem_ = problem_with(data_, m);
  threads_ = resolve_threads(options.threads);
  method_ = joint_method(options);
}

void Trainer::prepare() {
  if (engine_) return;
  check_memory(method_);
  if (map_ && method_.solver == SolverName::block) map_->prepare_products();
  make_own_engine();
}

void Trainer::prepare_shared() {
  check_memory(method_);
  if (method_.gram && !gram_) gram_ = make_gram(problem_, threads_);
  prepare();
}

void Trainer::make_own_engine() {
  engine_ = factory_(problem_, {.device = device_,
                                .threads = threads_,
                                .gram = method_.gram,
                                .shared_gram = gram_,
                                .classes = map_,
                                .psi = psi_,
                                .windows = windows(),
                                .lengths2 = lengths2_});
}

std::unique_ptr<Trainer> Trainer::with_weights(std::vector<double> weights, int threads) const {
  return std::unique_ptr<Trainer>(new Trainer(*this, std::move(weights), threads));
}

Trainer::Trainer(const Trainer& rows, std::vector<double> weights, int threads)
    : factory_(rows.factory_),
      device_(rows.device_),
      data_(rows.data_),
      columns_(rows.columns_),
      X_(rows.X_),
      lengths2_(rows.lengths2_),
      row_lengths_(rows.row_lengths_),
      map_(rows.map_),
      asked_(rows.asked_),
      work_(rows.work_),
      method_(rows.method_),
      windows_(rows.windows_),
      gram_(rows.gram_) {
  data_.weights = std::move(weights);
  problem_ = problem_on(data_, X_, rows.problem_.bias.value());
  // That of all rows: it needs no labels, and lengths and the Gram matrix follow from it.
  problem_.mean = rows.problem_.mean;
  problem_.loss = rows.problem_.loss;
  problem_.cost = rows.problem_.cost;
  threads_ = threads_for(problem_, threads);
  make_own_engine();
}

void Trainer::ask_for(const LossSpec& loss) {
  if (asked_ && *asked_ == loss) return;
  auto asked = std::make_shared<const LossSpec>(loss);
  set_loss(asked, data_.margins, problem_);
  asked_ = std::move(asked);
}

void Trainer::set_problem(const TrainOptions& options) {
  set_lambda(options, problem_);
  ask_for(options.loss);
  prepare();
  engine_->set_problem(problem_);
}

// Where the solver begins: at the last run's dual, at a dual that was given, or at 0.
Start Trainer::start_for(const TrainOptions& options, bool warm, double earlier_lambda) {
  if (warm && solver_ && traits(method_.solver).starts)
    return continue_from(*engine_, solver_->take_dual(), earlier_lambda);
  if (options.start.rows() == 0) return {};
  check_dual(options.start, problem_.n, problem_.m, "the dual to start from");
  return warm_start(*engine_, options.start);
}

Fit Trainer::fit(const TrainOptions& options, const Stopwatch& clock, const FitHooks& hooks) {
  const Stopwatch own;
  const double earlier_lambda = problem_.lambda;
  set_problem(options);
  Start start = hooks.resume ? Start{} : start_for(options, hooks.warm, earlier_lambda);
  StopRule rule = stop_rule(options);
  rule.asks_first = hooks.warm && solver_ != nullptr;
  solver_.reset();  // two of them would need twice the memory
  solver_ = make_solver(method_.solver, options, *engine_, std::move(start), threads_);
  run_ = {};
  if (hooks.resume) {
    State state = *hooks.resume;
    run_.exchange(state);
    solver_->exchange(state);
  }
  Fit out;
  Observer observer = hooks.observer;
  if (observer && (map_ || problem_.mean)) {
    observer = [&](const Progress& progress) {
      return hooks.observer(Progress(progress, [&] {
        std::vector<double> W = progress.weights();
        if (problem_.mean) fold(*problem_.mean, problem_.bias, W);
        return class_weights(std::move(W));
      }));
    };
  }
  const RunResult ran = run(*solver_, rule, clock, observer, &run_, hooks.between);
  out.status = ran.status;
  out.certificate = ran.certificate;
  out.iterations = ran.iterations;
  out.W = solver_->weights();
  out.ranks = solver_->ranks();
  out.loss = problem_.loss;
  out.lambda = problem_.lambda;
  out.C = options.lambda ? 1.0 / (problem_.lambda * problem_.N) : options.C;
  out.row_visits = solver_->row_visits();
  out.seconds = own.seconds();
  return out;
}

std::vector<double> Trainer::class_weights(std::vector<double> W) const {
  if (!map_) return W;
  std::vector<double> lifted;
  map_->lift(W, lifted, threads_);
  return lifted;
}

State Trainer::state() {
  State state;
  run_.exchange(state);
  solver_->exchange(state);
  return state;
}

void Trainer::restore(const TrainOptions& options, State state) {
  set_problem(options);
  solver_ = make_solver(method_.solver, options, *engine_, {}, threads_);
  state.put_back();
  run_.exchange(state);
  solver_->exchange(state);
}

const std::string& Trainer::data_hash() {
  if (data_hash_.empty()) data_hash_ = fingerprint(data_);
  return data_hash_;
}

TrainResult Trainer::result(const TrainOptions& options, Fit fit) {
  TrainResult out;
  static_cast<Outcome&>(out) = fit;
  out.rows = problem_.n;
  Model& model = out.model;
  model.d = data_.X.cols();
  model.columns = columns_;
  model.bias = problem_.bias.value();
  model.W = class_weights(fit.W);
  if (data_.class_features.rows() > 0) {
    model.class_features = data_.class_features;
    model.V = std::move(fit.W);
  }
  model.precision = working_precision(data_.X.precision());
  model.classes = data_.classes;
  model.index_base = data_.index_base;
  model.normalization = data_.normalization;
  model.temperature = fit.loss.temperature;
  Provenance& made = model.provenance;
  made.loss = resolved_spec(options.loss, fit.loss);
  made.lambda = fit.lambda;
  made.weight_sum = problem_.N;
  if (problem_.mean) made.mean = *problem_.mean;
  made.solver = method_.name;
  made.iterations = fit.iterations;
  made.claim = {fit.status, fit.certificate};
  made.version = TOPWOLF_VERSION;
  made.data_hash = data_hash();
  out.threads = resolve_threads(options.threads);
  out.choice = method_.choice;
  out.row_lengths = row_lengths_;
  if (options.keep_dual) out.dual = dual();
  return out;
}

SparseRows Trainer::dual() const {
  return engine_->rows_of(*solver_->dual());
}

PrimalRange Trainer::primal(const TrainOptions& options, const std::vector<double>& W) {
  set_lambda(options, problem_);
  ask_for(options.loss);
  const auto engine =
      factory_(problem_, {.threads = threads_, .classes = map_, .windows = windows(), .lengths2 = lengths2_});
  const std::int64_t rows = map_ ? map_->p() : problem_.m, all = data_.X.cols() + problem_.D() - problem_.d;
  const auto size = static_cast<std::int64_t>(W.size());
  if (size != engine->geometry().dimension && size != rows * all) {
    fail(ErrorKind::data, "there are {} weights, but {} {} x {} features are needed", W.size(), rows,
         map_ ? "class features" : "classes", all);
  }
  const bool whole = size != engine->geometry().dimension;
  const LossSum loss = engine->loss_sum(whole ? on_own_columns(W) : W, {.least = true});
  Problem regularised = problem_;
  if (whole && problem_.mean) regularised.mean = mean_on_all_columns();
  // The mean is exact but for a rounding of its terms; a weight of the constant feature may have been divided.
  constexpr double doubt = 16.0 * unit_roundoff;
  const WeightLength length = weight_length(regularised, W, doubt);
  return {primal_floor(problem_, length.least, loss), primal_bound(problem_, length.most, loss)};
}

// Of weights on all columns.
std::vector<double> Trainer::on_own_columns(const std::vector<double>& W) const {
  const std::int64_t d = data_.X.cols(), D = problem_.D(), all = d + D - problem_.d;
  std::vector<double> own;
  own.reserve(W.size());
  for (auto row = W.begin(); row != W.end(); row += all) {
    for (const std::int32_t c : columns_) own.push_back(row[c]);
    if (all > d) own.push_back(row[d]);
  }
  return own;
}

// That of a column which does not occur is 0.
SharedMean Trainer::mean_on_all_columns() const {
  std::vector<double> all(static_cast<std::size_t>(data_.X.cols()), 0.0);
  for (std::size_t c = 0; c < columns_.size(); ++c) all[static_cast<std::size_t>(columns_[c])] = (*problem_.mean)[c];
  return std::make_shared<const std::vector<double>>(std::move(all));
}

}  // namespace topwolf
