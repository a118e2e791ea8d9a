// A shard as others see it: says what rows it has, is told what problem they belong to, and answers then as the part of
// a sharded engine that it is.
#include "topwolf/shard.hpp"

#include <algorithm>
#include <utility>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "data/check_dataset.hpp"
#include "data/features.hpp"
#include "data/fingerprint.hpp"
#include "data/labels.hpp"
#include "data/readers.hpp"
#include "engine/shards/shard.hpp"
#include "train/shard_terms.hpp"

namespace topwolf {

struct Shard::Impl {
  Dataset data;
  std::int64_t number = 0;
  int threads = 0;
  std::vector<double> lengths2;  // of the rows as they are
  ShardPlan plan;
  Features X;                   // as wide as all rows, dense where that is faster
  std::vector<std::int32_t> y;  // by the classes of all
  std::vector<double> cost;     // of the loss
  std::shared_ptr<const std::vector<double>> mean;
  std::unique_ptr<EngineShard> engine;

  ShardAnswer describe() const {
    ShardRows rows;
    rows.n = data.X.rows();
    rows.d = data.X.cols();
    rows.sparse = data.X.sparse();
    rows.precision = data.X.precision();
    rows.index_base = data.index_base;
    rows.normalization = data.normalization.kind;
    rows.classes = data.classes;
    rows.source = data.source;
    rows.hash = fingerprint(data);
    rows.weight = rows.n > 0 ? weight_sum(data) : 0.0;
    if (!lengths2.empty()) {
      rows.shortest2 = *std::min_element(lengths2.begin(), lengths2.end());
      rows.longest2 = *std::max_element(lengths2.begin(), lengths2.end());
    }
    ShardAnswer out;
    out.states = {pack_value(rows)};
    return out;
  }

  // Labels by the classes of all, rows as wide as all; the sum of the rows towards their mean.
  ShardAnswer prepare(const ShardQuestion& question) {
    plan = unpack_value<ShardPlan>(question.states.at(0));
    RawDataset labels;
    labels.label = data.y;
    labels.spelling = data.classes.names;
    labels.label_type = data.classes.type;
    y = map_labels(labels, plan.classes);
    const FeatureView wide = std::visit(
        [&](auto view) -> FeatureView {
          view.cols = plan.d;
          if constexpr (requires { view.stride; }) {
            if (view.rows == 0) view.stride = plan.d;
          }
          return view;
        },
        data.X.view());
    X = dense_where_faster(Features(wide));
    engine.reset();
    ShardAnswer out;
    if (plan.center) out.W = mean_of(X.view(), data.weights, plan.N, resolve_threads(threads));
    return out;
  }

  void set_problem(const ShardQuestion& question) {
    ShardProblem terms = unpack_value<ShardProblem>(question.states.at(0));
    Problem problem;
    problem.X = X.view();
    problem.y = y;
    problem.omega = data.weights;
    problem.n = X.rows();
    problem.d = plan.d;
    problem.m = plan.classes.size();
    problem.N = plan.N;
    problem.bias = plan.bias;
    if (!terms.mean.empty()) problem.mean = std::make_shared<const std::vector<double>>(std::move(terms.mean));
    problem.lambda = terms.lambda;
    problem.loss = terms.loss;
    if (!terms.cost.empty()) problem.cost = std::make_shared<const std::vector<double>>(std::move(terms.cost));
    if (engine) return engine->set_problem(problem);
    const std::int64_t first = plan.first_rows.at(static_cast<std::size_t>(number));
    EngineOptions options{.threads = threads};
    engine = std::make_unique<EngineShard>(number, first, problem, make_engine, options);
  }

  ShardAnswer answer(const ShardQuestion& question) {
    switch (question.verb) {
      case ShardVerb::describe:
        return describe();
      case ShardVerb::prepare:
        return prepare(question);
      case ShardVerb::problem:
        set_problem(question);
        return {};
      default:
        if (!engine) fail(ErrorKind::internal, "a shard was asked before it was prepared");
        return engine->answer(question);
    }
  }
};

Shard::Shard(Dataset rows, std::int64_t number, int threads) : impl_(std::make_unique<Impl>()) {
  const IeeeArithmetic ieee;
  if (number < 0) fail(ErrorKind::option, "a shard has the number {}, but shards are counted from 0", number);
  if (rows.margins.given() || rows.class_features.rows() > 0) {
    fail(ErrorKind::option, "shards have neither margins row by row nor class features");
  }
  check_labels(rows.y, rows.X.rows(), rows.classes.size());
  impl_->lengths2 = check_features(rows.X, threads, rows.source);
  if (std::any_of(rows.weights.begin(), rows.weights.end(), [](double w) { return w > 0.0; })) {
    check_weights(rows.weights, rows.X.rows());
  } else if (!rows.weights.empty() && rows.weights.size() != rows.y.size()) {
    fail(ErrorKind::data, "there are {} weights for {} rows", rows.weights.size(), rows.y.size());
  }
  impl_->data = std::move(rows);
  impl_->number = number;
  impl_->threads = threads;
}
Shard::Shard(Shard&&) noexcept = default;
Shard& Shard::operator=(Shard&&) noexcept = default;
Shard::~Shard() = default;

std::string Shard::answer(std::string_view question) {
  const IeeeArithmetic ieee;
  return pack(impl_->answer(unpack_question(question)));
}

std::string Shard::add(std::string_view left, std::string_view right) {
  const IeeeArithmetic ieee;
  ShardAnswer sum = unpack_answer(left);
  topwolf::add(unpack_answer(right), sum);
  return pack(std::move(sum));
}

std::string Shard::lost() {
  ShardAnswer answer;
  answer.lost = true;
  return pack(std::move(answer));
}

bool Shard::prepares(std::string_view question) {
  const ShardVerb verb = verb_of(question);
  return verb == ShardVerb::prepare || verb == ShardVerb::problem || verb == ShardVerb::begin;
}

bool Shard::revives(std::string_view question) {
  const ShardVerb verb = verb_of(question);
  return verb == ShardVerb::forget || verb == ShardVerb::describe;
}

std::string add_answers(std::int64_t count, const std::function<std::string(std::int64_t)>& of) {
  return pack(add_in_tree(0, count, [&](std::int64_t k) { return unpack_answer(of(k)); }));
}

std::string ShardsHere::ask(const std::string& question) {
  return add_answers(static_cast<std::int64_t>(shards_.size()),
                     [&](std::int64_t k) { return shards_[static_cast<std::size_t>(k)].answer(question); });
}

Dataset load_shard(const LoadOptions& options, NormalizeKind normalize) {
  const IeeeArithmetic ieee;
  if (normalize == NormalizeKind::maxabs) {
    fail(ErrorKind::option, "{} is {}, which takes all rows together; shards are normalised each for itself",
         Field{"normalize"}, to_string(normalize));
  }
  ReadOptions asked = options;
  asked.keep_sparse = true;  // a file of text may know fewer features than the others
  RawDataset raw = read_raw(asked);
  const Normalization normalization = fit_normalization(normalize, raw.X);
  apply_normalization(normalization, raw.X);
  Dataset data = labelled(std::move(raw));
  data.normalization = normalization;
  return data;
}

}  // namespace topwolf
