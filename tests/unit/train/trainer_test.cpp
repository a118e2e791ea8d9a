// The engine is given to the trainer: another one ends at the same optimum.
#include "train/trainer.hpp"

#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "support/toy_engine.hpp"
#include "support/windows_of_few.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

// Four classes of ten rows each, apart but for some of them.
Dataset rows_of_four_classes() {
  constexpr std::int64_t n = 40, d = 5, m = 4;
  Rng rng(3);
  DenseStore<double> store{{}, n, d};
  Dataset data;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t f = 0; f < d; ++f) store.values.push_back(rng.normal() + (f == i % m ? 1.5 : 0.0));
    data.y.push_back(static_cast<std::int32_t>(i % m));
  }
  for (std::int64_t j = 0; j < m; ++j) data.classes.names.push_back(std::to_string(j));
  data.X = Features(FeatureStore(std::move(store)));
  return data;
}

TEST(TrainerEngine, AnotherOneEndsAtTheSameOptimumByEverySolver) {
  const Dataset data = rows_of_four_classes();
  TrainOptions options;
  options.loss = parse_loss("usunier:2");
  options.C = 0.1;
  options.bias = 1.0;
  options.tolerance = 1e-10;
  const Certificate optimum = train(data, options).certificate;
  options.tolerance = 1e-3;
  options.max_iterations = 100000;
  for (const SolverName solver :
       {SolverName::block, SolverName::newton, SolverName::apg, SolverName::lsfw, SolverName::stdfw, SolverName::pg}) {
    options.solver = solver;
    options.scores = solver == SolverName::block ? ScoresName::weights : ScoresName::automatic;
    int made = 0;
    const EngineFactory factory = [&](const Problem& problem, const EngineOptions& asked) {
      ++made;
      return testing::make_toy_engine(problem, asked);
    };
    Trainer trainer(data, options, 1, 1, factory);
    const Fit fit = trainer.fit(options, Stopwatch());
    EXPECT_EQ(made, 1);
    EXPECT_EQ(fit.status, Status::converged) << to_string(solver);
    EXPECT_LE(fit.certificate.dual, optimum.primal) << to_string(solver);
    EXPECT_GE(fit.certificate.primal, optimum.dual) << to_string(solver);
    // The range of the toy's weights is found by the toy, too.
    EXPECT_LE(trainer.primal(options, fit.W).least, fit.certificate.primal);
    EXPECT_EQ(made, 2);
  }
}

TEST(WindowsOf, EndAtTheOptimumOfRowsInMemoryWithTheSameBitsOnAnyThreads) {
  const Dataset data = rows_of_four_classes();
  for (const char* loss : {"max-hinge", "top-k:2", "usunier:3", "softmax"}) {
    TrainOptions options;
    options.loss = parse_loss(loss);
    options.bias = 1.0;
    options.tolerance = 1e-9;
    options.solver = SolverName::block;
    options.scores = ScoresName::weights;
    const Certificate optimum = train(data, options).certificate;
    std::vector<Fit> fits;
    for (const int threads : {1, 3}) {
      options.threads = threads;
      fits.push_back(Trainer(data, options, 1, 1, testing::make_windows_of_few).fit(options, Stopwatch()));
    }
    EXPECT_EQ(fits[0].status, Status::converged) << loss;
    EXPECT_NEAR(fits[0].certificate.primal, optimum.primal, 1e-8 * optimum.primal) << loss;
    EXPECT_NEAR(fits[0].certificate.dual, optimum.dual, 1e-8 * optimum.dual) << loss;
    EXPECT_EQ(fits[0].W, fits[1].W) << loss;
    EXPECT_EQ(fits[0].iterations, fits[1].iterations) << loss;
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
