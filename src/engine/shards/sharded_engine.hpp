// An engine whose rows are in several places (ledger, B3): it asks all shards the same and adds up what they answer.
// Who carries questions and answers is a ShardGroup's business: shards in this process, in others, on other machines.
// Results depend on the shards and their order alone.
#pragma once

#include <memory>
#include <vector>

#include "engine/factory.hpp"
#include "engine/shards/shard.hpp"

namespace topwolf {

// Thrown where a shard has forgotten what it was told: its part of every dual is gone. Whoever catches it may go on
// after ShardedEngine::forget_round(), with a dual whose rows there are 0, which is feasible.
struct ShardLost {};

class ShardGroup {
 public:
  virtual ~ShardGroup() = default;
  // Of all shards, added by add_in_tree().
  virtual ShardAnswer ask(const ShardQuestion& question) = 0;
  virtual void set_problem(const Problem& problem) = 0;
  virtual void set_should_stop(const std::function<bool()>& /*should_stop*/) {}
};

// The problem of all rows, of which only the shards need have the features. The group must outlive the engine.
class ShardedEngine final : public Engine {
 public:
  static std::unique_ptr<ShardedEngine> make(const Problem& problem, std::unique_ptr<ShardGroup> shards);
  ~ShardedEngine() override;

  void set_problem(const Problem& problem) override;
  void set_should_stop(std::function<bool()> should_stop) override;

  PassSums pass(const std::vector<double>& W, Direction direction, const Dual* A, Dual* U,
                std::vector<double>& W_U) override;
  AscentSums ascend(const std::vector<double>& W, const Extrapolation& A_mu, double q, Dual& A_next,
                    std::vector<double>& W_next) override;
  using Engine::loss_sum;
  LossSum loss_sum(const std::vector<double>& W, const AtRows& wanted) override;
  long double loss_sum_at_zero() override;
  void weights_of(const Dual& A, std::vector<double>& W) override;
  void round_weights(std::vector<double>& W) const override;
  Curvature curvature() override;
  BlockAscent& block_ascent() override;

  std::unique_ptr<Dual> make_dual() override;
  void mix(double of_U, const Dual& U, double of_A, Dual& A) override;
  void scale(double t, Dual& A) override;
  DualSums sums(const Dual& A) override;
  InsideSums put_inside(Dual& A) override;
  void project(const SparseRows& rows, Dual& A) override;
  SparseRows rows_of(const Dual& A) override;
  void exchange(State& state, std::string_view name, Dual& A) override;

  // After ShardLost: the round that was going on is void, and duals that a shard does not know are 0 there.
  void forget_round(const Dual& A);

 private:
  class Ascent;
  ShardedEngine(const Problem& problem, const Geometry& geometry, bool single, std::unique_ptr<ShardGroup> shards);
  ShardAnswer ask(ShardQuestion question);
  void exchange_states(State& state, std::string_view name, ShardVerb save, ShardVerb restore,
                       std::vector<std::int64_t> duals);

  const bool single_;  // what shards multiply
  const std::unique_ptr<ShardGroup> shards_;
  std::int64_t next_dual_ = 0;
  // Of duals that are gone; duals may be here longer than their engine.
  std::shared_ptr<std::vector<std::int64_t>> dropped_ = std::make_shared<std::vector<std::int64_t>>();
  double gamma_ = 1.0;  // of the last round, which shards hear of when they are next asked
  std::unique_ptr<Ascent> ascent_;
};

// The rows of one problem as shards in this process, consecutive ones of nearly the same size; engines of the factory's
// have them. Class features are for all, a psi of one's own is refused.
std::unique_ptr<Engine> make_sharded_engine(const Problem& problem, const EngineOptions& options, std::int64_t shards,
                                            const EngineFactory& make = make_engine);

}  // namespace topwolf
