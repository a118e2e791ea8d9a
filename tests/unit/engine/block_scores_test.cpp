// The products that steps in many rows need, from W and from the Gram matrix, against naive loops; what a product adds
// is what reset() computes anew.

#include "engine/cpu/cpu_engine.hpp"

#include <gtest/gtest.h>

#include "data/rows.hpp"
#include "engine/host/dual.hpp"
#include "support/plain_problem.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::Samples;
using testing::Storage;

constexpr double lambda = 0.01, bias = 0.5;

struct Setting {
  Storage storage;
  bool gram;
  std::int64_t m;
};

std::string name_of(const ::testing::TestParamInfo<Setting>& info) {
  const auto& [storage, gram, m] = info.param;
  return std::string(gram ? "Gram" : "Weights") + std::to_string(static_cast<int>(storage)) + "With" +
         std::to_string(m) + "Classes";
}

class EntryProducts : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    samples_ = testing::random_samples(60, 37, GetParam().m, 5);
    Rng rng(11);
    for (std::int64_t i = 0; i < samples_.n; ++i) samples_.omega.push_back(0.5 + rng.uniform());
    data_ = testing::dataset_of(samples_, GetParam().storage);
    problem_ = testing::problem_of(data_, Loss{}, lambda, bias);
    lengths2_ = squared_lengths(problem_.X, bias, 1);
    scores_ = make(1);
    // A third of the rows has two entries or three.
    list_.row_begin.push_back(0);
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      for (std::int64_t j = i % 3; i % 3 != 2 && j < samples_.m; j += 1 + samples_.m / 3) {
        list_.column.push_back(static_cast<std::int32_t>(j));
        P_.push_back(rng.normal());
      }
      list_.row_begin.push_back(static_cast<std::int64_t>(list_.size()));
    }
  }

  std::unique_ptr<BlockScores> make(int threads) const {
    return GetParam().gram ? make_gram_scores(problem_, nullptr, threads, {})
                           : make_weights_scores(problem_, lengths2_, threads);
  }

  double feature(std::int64_t i, std::int64_t f) const {
    return f == samples_.d ? bias : samples_.X[static_cast<std::size_t>(i * samples_.d + f)];
  }

  // W(P), (m x D).
  Vector weights() const {
    const std::int64_t D = samples_.d + 1;
    Vector W(static_cast<std::size_t>(samples_.m * D), 0.0);
    for_entries([&](std::int64_t i, std::size_t e) {
      for (std::int64_t f = 0; f < D; ++f) {
        W[static_cast<std::size_t>(list_.column[e] * D + f)] +=
            samples_.weight(i) * P_[e] * feature(i, f) / (lambda * samples_.N());
      }
    });
    return W;
  }

  Vector scores_under(const Vector& W) const {
    const std::int64_t D = samples_.d + 1;
    Vector S(list_.size(), 0.0);
    for_entries([&](std::int64_t i, std::size_t e) {
      for (std::int64_t f = 0; f < D; ++f) {
        S[e] += feature(i, f) * W[static_cast<std::size_t>(list_.column[e] * D + f)];
      }
    });
    return S;
  }

  template <class Body>
  void for_entries(const Body& body) const {
    for (std::int64_t i = 0; i < samples_.n; ++i) {
      for (auto e = list_.row_begin[static_cast<std::size_t>(i)]; e < list_.row_begin[static_cast<std::size_t>(i) + 1];
           ++e) {
        body(i, static_cast<std::size_t>(e));
      }
    }
  }

  double tolerance() const {
    return GetParam().storage == Storage::dense32 || GetParam().storage == Storage::csr32 ? 2e-4 : 1e-10;
  }

  Samples samples_;
  Dataset data_;
  Problem problem_;
  Vector lengths2_;
  std::unique_ptr<BlockScores> scores_;
  EntryList list_;
  Vector P_;
};

TEST_P(EntryProducts, AreThoseOfNaiveLoops) {
  const Vector W = weights(), expected = scores_under(W);
  const double norm2 = std::inner_product(W.begin(), W.end(), W.begin(), 0.0);
  scores_->face()->set_entries(list_);
  Vector S;
  EXPECT_NEAR(scores_->face()->product(P_, &S), lambda * samples_.N() * norm2,
              tolerance() * lambda * samples_.N() * norm2);
  ASSERT_EQ(S.size(), expected.size());
  for (std::size_t e = 0; e < S.size(); ++e)
    EXPECT_NEAR(S[e], expected[e], tolerance() * (1.0 + std::abs(expected[e])));
}

TEST_P(EntryProducts, AddingOneIsAsGoodAsStartingAnew) {
  scores_->face()->set_entries(list_);
  scores_->face()->product(P_, nullptr);
  scores_->face()->add_product(0.25);
  scores_->face()->add_product(0.75);
  Vector added, anew;
  scores_->face()->entry_scores(added);
  scores_->reset(weights(), HostDual(samples_.n));
  scores_->face()->entry_scores(anew);
  const Vector expected = scores_under(weights());
  ASSERT_EQ(added.size(), expected.size());
  for (std::size_t e = 0; e < expected.size(); ++e) {
    EXPECT_NEAR(added[e], expected[e], tolerance() * (1.0 + std::abs(expected[e])));
    EXPECT_NEAR(anew[e], expected[e], tolerance() * (1.0 + std::abs(expected[e])));
  }
}

TEST_P(EntryProducts, DoNotDependOnTheNumberOfThreads) {
  const auto many = make(3);
  Vector one, three;
  scores_->face()->set_entries(list_);
  many->face()->set_entries(list_);
  EXPECT_EQ(scores_->face()->product(P_, &one), many->face()->product(P_, &three));
  EXPECT_EQ(one, three);
}

std::vector<Setting> settings() {
  std::vector<Setting> out;
  for (const Storage storage : testing::all_storages) {
    for (const bool gram : {false, true}) {
      for (const std::int64_t m : {7, 100}) out.push_back({storage, gram, m});
    }
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, EntryProducts, ::testing::ValuesIn(settings()), name_of);

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
