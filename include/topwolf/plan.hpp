// What a job would do and take, before it is done.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "topwolf/dataset.hpp"
#include "topwolf/options.hpp"
#include "topwolf/select.hpp"

namespace topwolf {

// Estimates of memory are close, those of time are guesses.
struct Plan {
  std::string solver;            // "block", "lsfw", ...
  std::string choice;            // which representation, and why: a sentence
  std::int64_t stored = 0;       // values of the rows
  bool sparse = false;           // how they are stored
  std::int64_t features = 0;     // that have weights: all, or those that occur
  std::int64_t fits = 1;         // in all, ...
  int workers = 1;               // ... and at the same time
  int threads = 1;               // of each
  double data_bytes = 0.0;       // of the rows, which are there already
  double training_bytes = 0.0;   // at the peak, besides the rows: an estimate
  double available_bytes = 0.0;  // what the process may still take
  std::string bound;             // what that comes from, in words
  Sentence remedy;               // where it is not enough; else empty
  double passes = 0.0;           // of a fit, a guess
  double seconds = 0.0;          // of the job, a guess
};

// Throws what the job would throw before it begins, but for want of memory.
Plan plan(const Dataset& data, const TrainOptions& options);
// Of a whole sweep.
Plan plan(const Dataset& data, const SweepOptions& options);
// Of a whole cross-validation.
Plan plan(const Dataset& data, const CvOptions& options);

// The instruction set of the products and sums on this processor: "avx512", "avx2" or "baseline". Two of them round
// differently in the last bits.
std::string_view instruction_set();

}  // namespace topwolf
