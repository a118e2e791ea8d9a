// Shards in this process, asked one after another, each on all threads.
#pragma once

#include <memory>
#include <vector>

#include "engine/shards/sharded_engine.hpp"

namespace topwolf {

class LocalShards final : public ShardGroup {
 public:
  LocalShards(const Problem& problem, const EngineOptions& options, std::int64_t shards, const EngineFactory& make);

  ShardAnswer ask(const ShardQuestion& question) override;
  void set_problem(const Problem& problem) override;
  void set_should_stop(const std::function<bool()>& should_stop) override;

 private:
  // The rows [begin(k), begin(k + 1)) of the problem; margins row by row are kept here.
  Problem part(const Problem& problem, std::size_t k);
  std::int64_t begin(std::size_t k) const;

  const std::int64_t rows_, count_;
  std::vector<Margins> margins_;
  std::vector<std::unique_ptr<EngineShard>> shards_;
};

}  // namespace topwolf
