// Rows prepared once for any number of problems on them: lambda, the loss and the example weights change, the checks
// and the Gram matrix stay, and each run can begin where the one before it ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "engine/factory.hpp"
#include "solve/driver.hpp"
#include "solve/method.hpp"
#include "topwolf/joint.hpp"
#include "topwolf/train.hpp"

namespace topwolf {

// What a run found, before it is a model.
struct Fit : Outcome {
  std::vector<double> W;            // certified: (m x D), (p x D) with class features, P with a psi of one's own
  std::vector<std::int32_t> ranks;  // at W, how many classes come before each row's own; rows of weight 0 included
};

// How a run begins, and who looks on.
struct FitHooks {
  Observer observer{};
  bool warm = false;              // from the dual of the last run, which had the same loss, where the method can
  Between between{};              // may ask for state()
  const State* resume = nullptr;  // what state() said in a run of the same problem
};

class Trainer {
 public:
  // Throws Error{data} for rows that cannot be trained on, Error{option} for options out of range; nobody checks them
  // again. From the options come solver, scores, bias and threads; `workers` trainers with the same rows will be at
  // work at the same time, on so many fits in all; the engine is the factory's.
  Trainer(Dataset data, const TrainOptions& options, int workers = 1, std::int64_t fits = 1,
          EngineFactory factory = make_engine);
  // The same for examples that are known by psi, which must outlive the trainer.
  Trainer(const JointMap& psi, const JointLabels& labels, const TrainOptions& options,
          EngineFactory factory = make_engine);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Makes what many trainers share: the Gram matrix, where there is one.
  void prepare_shared();
  // The same rows, once that is there, with other example weights, on so many threads; a weight of 0 leaves the row
  // out.
  std::unique_ptr<Trainer> with_weights(std::vector<double> weights, int threads) const;

  // Chooses the method anew for these options, as a trainer of their own would.
  void choose(const TrainOptions& options);

  // Solves the problem of these options, which must not differ from the trainer's own in what it took from them. The
  // clock counts for the time limit.
  Fit fit(const TrainOptions& options, const Stopwatch& clock, const FitHooks& hooks = {});
  // Of the run that is going on, or of the last one.
  State state();
  // As if this trainer's last run had been the one that left this state, with these options.
  void restore(const TrainOptions& options, State state);

  // The same as users see it, but for a psi of one's own.
  TrainResult result(const TrainOptions& options, Fit fit);
  // The dual of the last run, where it was kept.
  SparseRows dual() const;
  const std::string& data_hash();

  // The weights of a fit, class by class (m x D).
  std::vector<double> class_weights(std::vector<double> W) const;

  // P at weights on all columns or on columns().
  PrimalRange primal(const TrainOptions& options, const std::vector<double>& W);

  const Dataset& data() const { return data_; }
  const Method& method() const { return method_; }
  const Workload& work() const { return work_; }
  // That have weights; empty: all.
  const std::vector<std::int32_t>& columns() const { return columns_; }
  bool sparse() const { return X_.sparse(); }
  // Where the rows stay on disk, and how they are read; null: they are in memory.
  const WindowedRows* windows() const { return windows_ ? &*windows_ : nullptr; }
  // C times the mean of ||x_i||^2 with the constant feature, of rows less their mean where that was asked for: unit
  // rows at C = 1 have 1; raw 16 x 16 pixels at C = 1, where LIBLINEAR makes 1,600 passes, have about 100.
  double condition(const TrainOptions& options) const;

 private:
  Trainer(const Trainer& rows, std::vector<double> weights, int threads);
  // Error{memory}, before anything large is made, where method().remedy says that there is too little.
  void prepare();
  void make_own_engine();
  // Rows that are on disk come to memory where there is room for them and what training takes; else windows_.
  void choose_place(const TrainOptions& options, int workers, std::int64_t fits);
  // A loss is resolved when it is first asked for, not again for every C.
  void ask_for(const LossSpec& loss);
  void set_problem(const TrainOptions& options);
  std::vector<double> on_own_columns(const std::vector<double>& W) const;
  SharedMean mean_on_all_columns() const;
  Start start_for(const TrainOptions& options, bool warm, double earlier_lambda);

  EngineFactory factory_;
  std::string device_ = "cpu";  // where the engine is
  Dataset data_;
  std::vector<std::int32_t> columns_;  // that are trained on; empty: all
  Features X_;                         // on these, dense where that is faster
  SharedLengths lengths2_;             // of these rows, which do not depend on the columns that are left out
  RowLengths row_lengths_;
  std::shared_ptr<ClassMap> map_;          // with class features other than the identity
  const JointMap* psi_ = nullptr;          // in the place of features
  std::shared_ptr<const LossSpec> asked_;  // what the problem's loss was resolved from
  Problem problem_;
  int threads_;
  Workload work_{};
  Method method_;
  std::optional<WindowedRows> windows_;  // of rows that stay on disk
  std::shared_ptr<const Gram> gram_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Solver> solver_;  // of the last run
  RunState run_;                    // of the last run
  std::string data_hash_;           // once it was asked for
};

}  // namespace topwolf
