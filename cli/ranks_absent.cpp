// Without MPI (TOPWOLF_MPI): a job is one process.
#include <cstdlib>
#include <string>

#include "core/fail.hpp"
#include "ranks.hpp"

namespace topwolf::cli {

Ranks join_ranks() {
  // What Open MPI, and others by PMI, tell those whom they start.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(name);
    if (size && std::string(size) != "1") {
      fail(ErrorKind::option, "mpirun has started {} processes, but this topwolf was built without MPI (TOPWOLF_MPI)",
           size);
    }
  }
  return {};
}

std::string from_first_rank(const Ranks&, const std::string& text) {
  return text;
}

std::unique_ptr<Shards> shards_of_ranks(const Ranks&, std::vector<Shard> own, std::int64_t) {
  return std::make_unique<ShardsHere>(std::move(own));
}

void answer_first_rank(const Ranks&, const std::function<std::vector<Shard>()>&, std::int64_t) {}

}  // namespace topwolf::cli
