// Training on shards (B3): certificates are checked by plain loops on all rows, whatever shards there are, whoever asks
// them, and whatever is lost on the way.
#include "topwolf/shard.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "core/rng.hpp"
#include "support/oracles.hpp"
#include "topwolf/verify.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

struct Rows {
  std::int64_t n = 240, d = 7, m = 5;
  std::uint64_t seed = 1;
  bool sorted = false;  // by class
};

Dataset rows_of(const Rows& rows) {
  Rng rng(rows.seed);
  DenseStore<float> store{{}, rows.n, rows.d};
  Dataset data;
  for (std::int64_t i = 0; i < rows.n; ++i) {
    const std::int64_t y = rows.sorted ? i * rows.m / rows.n : i % rows.m;
    for (std::int64_t f = 0; f < rows.d; ++f) {
      store.values.push_back(static_cast<float>(0.4 + rng.normal() + (f == y % rows.d ? 1.2 : 0.0)));
    }
    data.y.push_back(static_cast<std::int32_t>(y));
  }
  for (std::int64_t j = 0; j < rows.m; ++j) data.classes.names.push_back(std::to_string(j));
  data.X = Features(FeatureStore(std::move(store)));
  return data;
}

// The rows [from, to) with the classes that occur there alone, as a file of them would have.
Dataset part_of(const Dataset& data, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(to - from));
  std::iota(rows.begin(), rows.end(), from);
  Dataset part = subset(data, rows);
  ClassList own;
  std::vector<std::int32_t> number(data.classes.names.size(), -1);
  for (std::int32_t& y : part.y) {
    auto& place = number[static_cast<std::size_t>(y)];
    if (place < 0) {
      place = static_cast<std::int32_t>(own.names.size());
      own.names.push_back(data.classes.names[static_cast<std::size_t>(y)]);
    }
    y = place;
  }
  part.classes = own;
  return part;
}

using Bounds = std::vector<std::int64_t>;  // of the shards

Bounds even(std::int64_t n, std::int64_t shards) {
  Bounds bounds;
  for (std::int64_t k = 0; k <= shards; ++k) bounds.push_back(n * k / shards);
  return bounds;
}

Shard shard_of(const Dataset& data, const Bounds& bounds, std::size_t k) {
  return Shard(part_of(data, bounds[k], bounds[k + 1]), static_cast<std::int64_t>(k), 1);
}

std::vector<Shard> shards_of(const Dataset& data, const Bounds& bounds) {
  std::vector<Shard> out;
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) out.push_back(shard_of(data, bounds, k));
  return out;
}

TrainOptions options_of(const char* loss = "max-hinge") {
  TrainOptions options;
  options.loss = parse_loss(loss);
  options.keep_dual = true;
  options.threads = 1;
  options.C = 1.0;
  return options;
}

void expect_certified(const Dataset& data, const TrainResult& found) {
  const Verification checked = verify(data, found.model, found.dual);
  EXPECT_TRUE(checked.holds) << checked.finding;
  EXPECT_EQ(found.rows, data.X.rows());
}

void expect_same(const TrainResult& a, const TrainResult& b) {
  EXPECT_EQ(a.certificate, b.certificate);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.model.W, b.model.W);
  EXPECT_EQ(a.dual.values, b.dual.values);
}

TEST(Shards, CertifyTheOptimumOfAllRows) {
  Dataset data = rows_of({});
  for (std::int64_t i = 0; i < data.X.rows(); ++i) data.weights.push_back(i % 9 == 0 ? 0.0 : 1.0 + 0.5 * (i % 3));
  for (const char* loss : {"max-hinge", "top-k:2", "usunier:3", "weighted-usunier", "softmax"}) {
    for (const std::int64_t shards : {1, 2, 3, 8}) {
      for (const bool center : {false, true}) {
        SCOPED_TRACE(std::string(loss) + " on " + std::to_string(shards) + (center ? ", centred" : ""));
        TrainOptions options = options_of(loss);
        options.bias = 1.0;
        options.center = center;
        ShardsHere here(shards_of(data, even(data.X.rows(), shards)));
        const TrainResult found = train(here, options), whole = train(data, options);
        EXPECT_EQ(found.status, Status::converged);
        expect_certified(data, found);
        EXPECT_LE(found.certificate.dual, whole.certificate.primal);
        EXPECT_GE(found.certificate.primal, whole.certificate.dual);
      }
    }
  }
}

TEST(Shards, SmoothedLossesToo) {
  const Dataset data = rows_of({});
  TrainOptions options = options_of("usunier:2");
  options.loss.smoothing = 0.3;
  ShardsHere here(shards_of(data, even(data.X.rows(), 4)));
  const TrainResult found = train(here, options);
  EXPECT_EQ(found.status, Status::converged);
  expect_certified(data, found);
}

TEST(Shards, EverySolverButNewton) {
  const Dataset data = rows_of({.n = 90});
  for (const SolverName solver : {SolverName::apg, SolverName::lsfw, SolverName::stdfw, SolverName::pg}) {
    TrainOptions options = options_of();
    options.solver = solver;
    options.tolerance = 0.05;
    ShardsHere here(shards_of(data, even(data.X.rows(), 3)));
    expect_certified(data, train(here, options));
  }
  TrainOptions options = options_of();
  options.solver = SolverName::newton;
  ShardsHere here(shards_of(data, even(data.X.rows(), 3)));
  EXPECT_THROW(train(here, options), Error);
}

TEST(Shards, ALossByItsOracleIsRefused) {
  const Dataset data = rows_of({.n = 60});
  TrainOptions options = options_of();
  options.loss = loss_by_oracle(testing::three_groups(5));
  ShardsHere here(shards_of(data, even(data.X.rows(), 3)));
  try {
    train(here, options);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::option);
    EXPECT_STREQ(
        error.what(),
        "the loss group hinge is known by its oracle, a function of this process, but shards may be in others: "
        "train on rows that are in one place, or stay on disk");
  }
}

// A class on one shard alone, every class on a shard of its own, shards without rows, with one, all of weight 0, and
// rows that are all 0.
TEST(Shards, AnySplitIsCertified) {
  Dataset sorted = rows_of({.sorted = true});
  const Bounds splits[]{even(240, 5), {0, 0, 10, 11, 11, 200, 240, 240}, {0, 239, 240}, even(240, 24)};
  for (const Bounds& bounds : splits) {
    int warned = 0;
    TrainOptions options = options_of("usunier:2");
    options.max_iterations = 3000;
    options.warn = [&](const Sentence&) { ++warned; };
    ShardsHere here(shards_of(sorted, bounds));
    const TrainResult found = train(here, options);
    EXPECT_EQ(found.status, Status::converged);
    expect_certified(sorted, found);
    EXPECT_EQ(warned > 0, bounds.size() > 8 || bounds == even(240, 5)) << "rows of one class alone are in the way";
  }
  DenseStore<float> store{std::vector<float>(60 * 3, 0.0f), 60, 3};
  for (std::size_t at = 0; at < 90; ++at) store.values[at] = static_cast<float>(at % 7) - 3.0f;
  Dataset zeros;
  zeros.X = Features(FeatureStore(std::move(store)));
  zeros.classes.names = {"0", "1", "2"};
  for (std::int32_t i = 0; i < 60; ++i) {
    zeros.y.push_back(i % 3);
    zeros.weights.push_back(i >= 20 && i < 30 ? 0.0 : 1.0);
  }
  ShardsHere here(shards_of(zeros, even(60, 6)));
  expect_certified(zeros, train(here, options_of()));
}

// Loses a shard now and then: it begins anew with its rows, and is told what it must know.
class Forgetful final : public Shards {
 public:
  Forgetful(const Dataset& data, const Bounds& bounds, std::uint64_t seed, std::int64_t every)
      : data_(data), bounds_(bounds), shards_(shards_of(data, bounds)), rng_(seed), every_(every) {}

  std::string ask(const std::string& question) override {
    ++asked_;
    if (Shard::prepares(question)) told_.push_back(question);
    const auto count = static_cast<std::int64_t>(shards_.size());
    std::int64_t lost = -1;
    if (asked_ > 8 && losses < 40 && rng_.below(static_cast<std::uint64_t>(every_)) == 0) {
      lost = static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(count)));
      ++losses;
    }
    return add_answers(count, [&](std::int64_t k) {
      auto& shard = shards_[static_cast<std::size_t>(k)];
      if (k != lost) return shard.answer(question);
      shard = shard_of(data_, bounds_, static_cast<std::size_t>(k));
      for (const std::string& earlier : told_) shard.answer(earlier);
      return Shard::revives(question) || Shard::prepares(question) ? shard.answer(question) : Shard::lost();
    });
  }

  int losses = 0;

 private:
  const Dataset& data_;
  const Bounds bounds_;
  std::vector<Shard> shards_;
  std::vector<std::string> told_;
  Rng rng_;
  std::int64_t every_, asked_ = 0;
};

TEST(Shards, WhatIsLostCostsTimeAndNotTruth) {
  const Dataset data = rows_of({});
  int losses = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    TrainOptions options = options_of(seed % 2 == 0 ? "usunier:2" : "softmax");
    options.tolerance = 1e-4;
    options.max_iterations = 2000;
    Forgetful forgetful(data, even(data.X.rows(), 4), seed, 12);
    const TrainResult found = train(forgetful, options);
    EXPECT_EQ(found.status, Status::converged);
    expect_certified(data, found);
    losses += forgetful.losses;
  }
  EXPECT_GT(losses, 50);
}

// As a model has them, at weights that nobody has trained; whatever is lost meanwhile.
TEST(Shards, TheObjectiveIsThatOfAllRows) {
  Dataset data = rows_of({});
  for (std::int64_t i = 0; i < data.X.rows(); ++i) data.weights.push_back(1.0 + 0.5 * (i % 3));
  for (const char* loss : {"max-hinge", "top-k:2", "softmax"}) {
    for (const bool center : {false, true}) {
      SCOPED_TRACE(std::string(loss) + (center ? ", centred" : ""));
      TrainOptions options = options_of(loss);
      options.bias = 1.0;
      options.center = center;
      std::vector<double> W;
      for (int at = 0; at < 5 * 8; ++at) W.push_back(0.25 * (at % 11) - 1.0);
      const double whole = objective(data, options, W);
      ShardsHere here(shards_of(data, even(data.X.rows(), 3)));
      EXPECT_NEAR(objective(here, options, W), whole, 1e-12 * whole);
      Forgetful forgetful(data, even(data.X.rows(), 4), 1, 3);
      EXPECT_NEAR(objective(forgetful, options, W), whole, 1e-12 * whole);
      W.pop_back();
      EXPECT_THROW(objective(here, options, W), Error);
    }
  }
}

TEST(Shards, OtherSolversEndWhereOneIsLost) {
  const Dataset data = rows_of({});
  TrainOptions options = options_of();
  options.solver = SolverName::lsfw;
  Forgetful forgetful(data, even(data.X.rows(), 4), 3, 4);
  EXPECT_THROW(train(forgetful, options), Error);
}

// Who asks, with how many threads, and whether the answers were written down on the way: the same bits.
TEST(Shards, TheResultDependsOnTheShardsAlone) {
  const Dataset data = rows_of({.n = 400, .d = 11, .m = 9});
  const Bounds bounds = even(400, 5);
  const TrainOptions options = options_of("usunier:3");
  ShardsHere one(shards_of(data, bounds));
  std::vector<Shard> shards;
  for (std::size_t k = 0; k < 5; ++k) {
    shards.emplace_back(part_of(data, bounds[k], bounds[k + 1]), static_cast<std::int64_t>(k), 3);
  }
  ShardsHere threads(std::move(shards));
  expect_same(train(one, options), train(threads, options));
}

// An answer that was lost on the way may be asked for again: a round that nobody has taken has not happened.
TEST(Shards, AJobGoesOnFromItsCheckpointToTheSameBits) {
  const Dataset data = rows_of({.n = 300});
  const std::string path = ::testing::TempDir() + "topwolf_shards_checkpoint";
  TrainOptions options = options_of("usunier:2");
  options.tolerance = 1e-6;
  ShardsHere whole(shards_of(data, even(300, 3)));
  const TrainResult expected = train(whole, options);
  TrainOptions first = options;
  first.checkpoints.path = path;
  ShardsHere begun(shards_of(data, even(300, 3)));
  const TrainResult stopped = train(begun, first, [](const Progress& progress) { return progress.iteration < 4; });
  EXPECT_EQ(stopped.status, Status::interrupted);
  TrainOptions second = options;
  second.checkpoints.resume = path;
  ShardsHere resumed(shards_of(data, even(300, 3)));
  expect_same(train(resumed, second), expected);
  ShardsHere others(shards_of(data, even(300, 4)));
  EXPECT_THROW(train(others, second), Error) << "another job";
  std::remove(path.c_str());
}

std::string refusal(const Dataset& data, const Bounds& bounds, const TrainOptions& options = options_of()) {
  try {
    ShardsHere here(shards_of(data, bounds));
    train(here, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Shards, WhatCannotBeTrainedOnIsSaid) {
  Dataset data = rows_of({.n = 12});
  EXPECT_NE(refusal(data, {0, 0}).find("no rows"), std::string::npos);
  Dataset one = data;
  std::fill(one.y.begin(), one.y.end(), 3);
  EXPECT_NE(refusal(one, even(12, 2)).find("at least two classes"), std::string::npos);
  Dataset weightless = data;
  weightless.weights.assign(12, 0.0);
  EXPECT_NE(refusal(weightless, even(12, 2)).find("weights are 0"), std::string::npos);
  std::vector<Shard> uneven;
  uneven.emplace_back(part_of(data, 0, 6), 0);
  uneven.emplace_back(part_of(rows_of({.n = 6, .d = 8}), 0, 6), 1);
  ShardsHere here(std::move(uneven));
  try {
    train(here, options_of());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "shard 0 has 7 features, but shard 1 has 8");
  }
}

TEST(Shards, BytesThatWereCutShortAreRefused) {
  const Dataset data = rows_of({.n = 12});
  Shard shard(part_of(data, 0, 12), 0, 1);
  EXPECT_THROW(shard.answer("what"), Error);
  const std::string answer = Shard::lost();
  for (std::size_t size = 0; size < answer.size(); ++size) {
    EXPECT_THROW(Shard::add(answer, answer.substr(0, size)), Error) << size;
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
