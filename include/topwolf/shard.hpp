// Rows in several places: files, processes, other machines. Each place has a shard, which owns rows, labels and their
// part of the dual, and answers questions; whoever trains asks all shards the same, and adds up what they answer. Rows
// and duals never travel, and the result depends on the shards and their order alone: not on who carries questions and
// answers, nor on when they arrive. How, and what a lost shard costs: scale.md; the formulas: ledger, B3.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "topwolf/dataset.hpp"
#include "topwolf/options.hpp"
#include "topwolf/train.hpp"

namespace topwolf {

// One of them, wherever it is. Questions and answers are bytes for machines of the same kind; what they say is between
// shards and train().
class Shard {
 public:
  // `rows` may be none at all, or of one class; data.classes are those that occur here. The rows are kept alive by the
  // Features, or by the caller. Throws Error{data} for rows that cannot be trained on. `number`: which one it is, from
  // 0.
  Shard(Dataset rows, std::int64_t number, int threads = 0);
  // The other one is of no use any more.
  Shard(Shard&&) noexcept;
  // The same.
  Shard& operator=(Shard&&) noexcept;
  ~Shard();

  // Not from two threads at once.
  std::string answer(std::string_view question);

  // What neighbours have answered, as the answer of both: `left` is of the shards before those of `right`.
  static std::string add(std::string_view left, std::string_view right);

  // ---- For those whose shards can be lost with what they were told

  // In the place of an answer, where a shard has begun anew since it was told something: training goes on with a dual
  // of 0 for its rows, which is feasible, so that certificates hold.
  static std::string lost();
  // Whether a shard that begins anew must be asked this first, in the order in which it was asked.
  static bool prepares(std::string_view question);
  // Whether a shard that began anew, and was prepared, may answer this as it is.
  static bool revives(std::string_view question);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Who carries questions to all shards.
class Shards {
 public:
  virtual ~Shards() = default;
  // The answers of all shards to this question, added by add_answers().
  virtual std::string ask(const std::string& question) = 0;
};

// The answer of the shards [0, count): a binary tree over their numbers, whoever has them. of(k) is that of one.
std::string add_answers(std::int64_t count, const std::function<std::string(std::int64_t)>& of);

// Shards in this process, asked one after another.
class ShardsHere final : public Shards {
 public:
  // In the order of their numbers, from 0.
  explicit ShardsHere(std::vector<Shard> shards) : shards_(std::move(shards)) {}
  std::string ask(const std::string& question) override;

 private:
  std::vector<Shard> shards_;
};

// As train(), on the rows of all shards. Solvers but newton; options.threads is not looked at, and no class has
// features. Shards that are lost cost time, and only block goes on without them.
TrainResult train(Shards& shards, const TrainOptions& options = {}, const Observer& observer = {});

// As objective(), of the rows of all shards. What they were told and their duals are gone then.
double objective(Shards& shards, const TrainOptions& options, const std::vector<double>& W);

// The rows of a file as those of a shard, which may be of one class; normalised as asked, but not by maxima of columns,
// which depend on the other files.
Dataset load_shard(const LoadOptions& options, NormalizeKind normalize = NormalizeKind::none);

}  // namespace topwolf
