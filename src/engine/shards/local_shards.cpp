#include "engine/shards/local_shards.hpp"

#include "core/fail.hpp"

namespace topwolf {
namespace {

template <class T>
DenseView<T> rows_of_view(const DenseView<T>& X, std::int64_t from, std::int64_t count) {
  return {X.data + from * X.stride, count, X.cols, X.stride};
}
template <class T>
CsrView<T> rows_of_view(const CsrView<T>& X, std::int64_t from, std::int64_t count) {
  return {X.row_begin + from, X.column, X.value, count, X.cols};
}

FeatureView rows_of_view(const FeatureView& view, std::int64_t from, std::int64_t count) {
  return std::visit([&](const auto& X) -> FeatureView { return rows_of_view(X, from, count); }, view);
}

}  // namespace

LocalShards::LocalShards(const Problem& problem, const EngineOptions& options, std::int64_t shards,
                         const EngineFactory& make)
    : rows_(problem.n), count_(shards), margins_(static_cast<std::size_t>(shards)) {
  if (options.psi) fail(ErrorKind::option, "with a psi of one's own there are no rows to share out");
  for (std::size_t k = 0; k < margins_.size(); ++k) {
    EngineOptions own = options;
    own.gram = false;
    own.shared_gram = nullptr;
    if (options.lengths2) {
      own.lengths2 = share({options.lengths2->begin() + begin(k), options.lengths2->begin() + begin(k + 1)});
    }
    shards_.push_back(
        std::make_unique<EngineShard>(static_cast<std::int64_t>(k), begin(k), part(problem, k), make, own));
  }
}

std::int64_t LocalShards::begin(std::size_t k) const {
  return rows_ * static_cast<std::int64_t>(k) / count_;
}

Problem LocalShards::part(const Problem& problem, std::size_t k) {
  const std::int64_t from = begin(k), count = begin(k + 1) - from;
  const auto first = static_cast<std::size_t>(from), size = static_cast<std::size_t>(count);
  Problem out = problem;
  out.X = rows_of_view(problem.X, from, count);
  out.y = problem.y.subspan(first, size);
  if (!problem.omega.empty()) out.omega = problem.omega.subspan(first, size);
  out.n = count;
  if (problem.per_example) {
    margins_[k] = *problem.per_example;
    margins_[k].values = Features(rows_of_view(problem.per_example->values.view(), from, count));
    out.per_example = &margins_[k];
  }
  return out;
}

ShardAnswer LocalShards::ask(const ShardQuestion& question) {
  return add_in_tree(0, count_, [&](std::int64_t k) { return shards_[static_cast<std::size_t>(k)]->answer(question); });
}

void LocalShards::set_problem(const Problem& problem) {
  for (std::size_t k = 0; k < shards_.size(); ++k) shards_[k]->set_problem(part(problem, k));
}

void LocalShards::set_should_stop(const std::function<bool()>& should_stop) {
  for (const auto& shard : shards_) shard->set_should_stop(should_stop);
}

std::unique_ptr<Engine> make_sharded_engine(const Problem& problem, const EngineOptions& options, std::int64_t shards,
                                            const EngineFactory& make) {
  return ShardedEngine::make(problem, std::make_unique<LocalShards>(problem, options, shards, make));
}

}  // namespace topwolf
