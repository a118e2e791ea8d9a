// The file in which a job leaves its state, and which jobs it fits: the same data and the same options, by name.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/state.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/options.hpp"
#include "train/trainer.hpp"

namespace topwolf {

// What must be the same, in words: {"the loss", "usunier:20"}, ... The first that differs is named.
using Identity = std::vector<std::pair<std::string, std::string>>;

// Of a job of this kind ("train", "sweep", "cv"), apart from what it is that the job tries; none where the options ask
// for no checkpoint.
Identity identity_of(const std::string& kind, Trainer& trainer, const TrainOptions& options);

std::string cost_hash(const std::vector<double>& cost);

// What these options left to be chosen, where they resume a job, is what it was when the job began: the memory that is
// free may be another.
TrainOptions as_begun(TrainOptions options);

class Checkpoint {
 public:
  Checkpoint(const TrainOptions& options, Identity identity);

  bool wanted() const { return !path_.empty(); }
  // To go on from; none where the job starts from the beginning.
  std::optional<State> resumed() const;
  // Whether it is time for the next one.
  bool due() const { return wanted() && since_.seconds() >= every_s_; }
  // Where that fails the job is warned, and goes on.
  void write(const State& state);

 private:
  const std::string path_, resume_;
  const double every_s_;
  const bool read_only_;  // the file, when the job began: then it may be replaced
  const Warn warn_;
  const Identity identity_;
  std::string warned_;  // of the last one that failed, so that a full disk is mentioned once
  Stopwatch since_;
};

}  // namespace topwolf
