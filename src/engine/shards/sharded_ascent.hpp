// Block ascent in rounds (ledger, B3): shards step at once from common weights, and what they have done together is
// taken whole or in part. By how much they raise their curvature follows from what the rounds were worth.
#pragma once

#include <vector>

#include "engine/shards/sharded_engine.hpp"

namespace topwolf {

// What stands for a dual whose rows the shards have.
class ShardedDual final : public Dual {
 public:
  ShardedDual(std::int64_t number, std::shared_ptr<std::vector<std::int64_t>> dropped)
      : number_(number), dropped_(std::move(dropped)) {}
  ~ShardedDual() override { dropped_->push_back(number_); }
  ShardedDual(const ShardedDual&) = delete;
  ShardedDual& operator=(const ShardedDual&) = delete;
  std::int64_t number() const { return number_; }

 private:
  const std::int64_t number_;
  const std::shared_ptr<std::vector<std::int64_t>> dropped_;
};

inline std::int64_t number_of(const Dual& A) {
  return static_cast<const ShardedDual&>(A).number();
}
inline std::int64_t number_of(const Dual* A) {
  return A ? number_of(*A) : -1;
}

class ShardedEngine::Ascent final : public BlockAscent {
 public:
  explicit Ascent(ShardedEngine& engine) : engine_(engine) {}

  void begin(const BlockOptions& options, double scores_times) override;
  void reset(const std::vector<double>& W, const Dual& A) override;
  Epoch begin_epoch(std::int64_t epoch) override;
  Step step(Dual& A) override;
  double gap() const override { return gap_; }
  void wake() override { wake_ = true; }
  void exchange(State& state) override;

  void see_gap(double gap) { gap_ = gap; }

 private:
  double take(double slope, double curvature);
  void steer(double gamma);

  ShardedEngine& engine_;
  std::vector<double> W_;  // common
  double sigma_ = 1.0;     // what shards multiply their curvature with
  double gap_ = 0.0;
  bool wake_ = false;      // in the next epoch
  std::int64_t left_ = 0;  // rows of the epoch
};

}  // namespace topwolf
