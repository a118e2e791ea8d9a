// The processes of one job, each with some of the shards: this one alone, or those that mpirun has started. The first
// one trains; the others answer what it asks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "topwolf/shard.hpp"

namespace topwolf::cli {

struct Ranks {
  int rank = 0, size = 1;

  bool first() const { return rank == 0; }
  // Neighbours, so that most of what is added up lies in one process.
  int owner(std::int64_t shard, std::int64_t shards) const { return static_cast<int>(shard * size / shards); }
};

// Error{option} where there are several, and this program was built without MPI.
Ranks join_ranks();

// What the first process says, in all of them.
std::string from_first_rank(const Ranks& ranks, const std::string& text);

// In the first process: `own` are those shards of all that it owns, from 0. What goes wrong elsewhere is thrown here.
std::unique_ptr<Shards> shards_of_ranks(const Ranks& ranks, std::vector<Shard> own, std::int64_t shards);
// In the others, until the first one is done. `own` is called first; what it throws is told to whoever asks.
void answer_first_rank(const Ranks& ranks, const std::function<std::vector<Shard>()>& own, std::int64_t shards);

}  // namespace topwolf::cli
