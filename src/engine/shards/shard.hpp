// Some of the rows of a problem, with their part of every dual (ledger, B3): answers what a sharded engine asks. The
// rows are an engine's of their own, whose problem differs from the whole one in its rows alone: lambda and N are those
// of all, so that what its verbs say adds up.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/factory.hpp"
#include "engine/host/engine.hpp"
#include "engine/shards/message.hpp"

namespace topwolf {

class EngineShard {
 public:
  // The problem is that of these rows, but for N; `first_row` is the number of the first among all. The engine that the
  // factory makes must keep its duals on the host.
  EngineShard(std::int64_t number, std::int64_t first_row, const Problem& problem, const EngineFactory& make,
              const EngineOptions& options);

  ShardAnswer answer(const ShardQuestion& question);

  // The same rows and labels.
  void set_problem(const Problem& problem);
  void set_should_stop(std::function<bool()> should_stop) { engine_->set_should_stop(std::move(should_stop)); }
  const Problem& problem() const { return problem_; }

 private:
  HostDual& dual(std::int64_t number);
  HostDual* dual_or_none(std::int64_t number) { return number < 0 ? nullptr : &dual(number); }
  Problem rescaled(double sigma) const;
  void copy(const HostDual& from, HostDual& to) const;
  void settle(double gamma, ShardAnswer* out);
  void pass(const ShardQuestion& question, ShardAnswer& out);
  void ascend(const ShardQuestion& question, ShardAnswer& out);
  void loss_sum(const ShardQuestion& question, ShardAnswer& out);
  void put_inside(HostDual& A, ShardAnswer& out);
  void project(const SparseRows& all, HostDual& A);
  void epoch(const ShardQuestion& question, ShardAnswer& out);
  void step(const ShardQuestion& question, ShardAnswer& out);
  void measure(const HostDual& A, ShardAnswer& out);
  void save(const ShardQuestion& question, ShardAnswer& out);
  void restore(const ShardQuestion& question);

  const std::int64_t number_, first_row_;
  Problem problem_;
  double own_N_ = 0.0;  // what its rows weigh
  const int threads_;
  const std::unique_ptr<HostEngine> engine_;
  std::map<std::int64_t, std::unique_ptr<HostDual>> duals_;

  // Of a round that nobody has taken yet: `now_` is where the dual of this number would be.
  std::int64_t pending_ = -1;
  std::unique_ptr<HostDual> now_, change_;
  std::int64_t epoch_rows_ = 0;
};

}  // namespace topwolf
