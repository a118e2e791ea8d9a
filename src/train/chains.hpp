// Where each chain of fits of a cross-validation is: what its next fit begins with, whether a worker is at it, and
// whether it has left its state for the checkpoint that is due. Not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "core/state.hpp"
#include "train/search_table.hpp"

namespace topwolf {

struct Chain {
  State state;             // where its next fit begins: in the middle of it, or at the end of the one before
  bool begun = false;      // in the middle
  bool running = false;    // a worker makes a fit
  std::size_t place = 0;   // of that fit
  Stopwatch since;         // that fit was taken up
  std::int64_t round = 0;  // of checkpoints, in which it has left its state
};

class Chains {
 public:
  explicit Chains(std::size_t count) : chains_(count) {}

  Chain& operator[](std::size_t chain) { return chains_[chain]; }
  const Chain& operator[](std::size_t chain) const { return chains_[chain]; }

  // A worker takes it up at a fit.
  void begin(Chain& chain, std::size_t place) const;

  // Asks all that are at work for their states, unless they are being collected already.
  void ask();
  bool asks(const Chain& chain) const { return chain.round != round_; }
  // In the middle of a fit.
  void leave(Chain& chain, State state) const;
  // True once, when everybody who is at work has answered.
  bool collected();

  void exchange(State& state);
  // Of a checkpoint: every chain must be able to go on, with those fits that are needed, from where the table says it
  // is.
  void check(const SearchTable& table, const std::vector<std::size_t>& needed, const State& state) const;

 private:
  std::vector<Chain> chains_;  // loss by loss
  std::int64_t round_ = 0;
  bool collecting_ = false;
};

}  // namespace topwolf
