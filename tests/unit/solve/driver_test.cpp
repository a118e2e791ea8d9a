// The driver's decisions, with a solver that does as it is told.

#include <gtest/gtest.h>

#include "solve/driver.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

// Halves its gap at every step; what it certifies is its estimate plus a surplus.
class Halving final : public Solver {
 public:
  explicit Halving(double surplus = 0.0, double step = 0.5) : surplus_(surplus), step_(step) {}
  void set_should_stop(std::function<bool()> should_stop) override { should_stop_ = std::move(should_stop); }
  Pass step() override {
    for (int block = 0; block < 1000; ++block) {
      if (should_stop_ && should_stop_()) throw Stopped{};
    }
    gap_ *= 0.5;
    return {{1.0 + gap_, 1.0}, 1.0 + gap_, 1.0, step_};
  }
  Certificate certify() override {
    ++certified_;
    return {1.0 + gap_ + surplus_, 1.0};
  }
  const std::vector<double>& weights() const override { return none_; }
  std::vector<double> current_weights() override { return {gap_}; }
  const std::vector<std::int32_t>& ranks() const override { return no_ranks_; }
  const Dual* dual() const override { return nullptr; }
  std::unique_ptr<Dual> take_dual() override { return nullptr; }
  std::int64_t row_visits() const override { return 0; }
  void exchange(State& state) override { state("gap", gap_); }
  int certified() const { return certified_; }

 private:
  double gap_ = 1.0, surplus_, step_;
  int certified_ = 0;
  std::function<bool()> should_stop_;
  std::vector<double> none_;
  std::vector<std::int32_t> no_ranks_;
};

RunResult go(Solver& solver, const StopRule& rule, const std::function<bool(const Progress&)>& observer = {}) {
  return run(solver, rule, Stopwatch(), observer);
}

TEST(Driver, ConvergesOnARelativeGap) {
  Halving solver;
  const RunResult result = go(solver, {.tolerance = 1e-3, .max_iterations = 100});
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.iterations, 10);
  EXPECT_LE(result.certificate.relative_gap(), 1e-3);
  EXPECT_EQ(solver.certified(), 1);
}

TEST(Driver, ConvergesOnAnAbsoluteGapAlone) {
  Halving solver;
  const RunResult result = go(solver, {.absolute_gap = 0.26, .max_iterations = 100});
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.iterations, 2);
}

TEST(Driver, StopsInTheMiddleOfAPassWhereItIsAsked) {
  Halving solver;
  int asked = 0, left = 0;
  const StopRule rule{.max_iterations = 100, .should_stop = [&] { return ++asked == 5; }};
  const RunResult result = run(solver, rule, Stopwatch(), {}, nullptr, [&](bool leaving) { left += leaving ? 1 : 0; });
  EXPECT_EQ(result.status, Status::interrupted);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_EQ(left, 1) << "there is something to write down";
  EXPECT_EQ(solver.certified(), 1);
  EXPECT_EQ(go(solver, {.max_iterations = 3}).iterations, 3) << "nobody is asked after the run";
}

TEST(Driver, StopsAtTheIterationLimitAndCertifiesAllTheSame) {
  Halving solver;
  const RunResult result = go(solver, {.tolerance = 1e-9, .max_iterations = 3});
  EXPECT_EQ(result.status, Status::iteration_limit);
  EXPECT_EQ(result.iterations, 3);
  EXPECT_DOUBLE_EQ(result.certificate.gap(), 0.125);
}

TEST(Driver, StopsAtTheTimeLimit) {
  Halving solver;
  const RunResult result = go(solver, {.tolerance = 0.0, .max_iterations = 100, .time_limit_s = 1e-12});
  EXPECT_EQ(result.status, Status::time_limit);
  EXPECT_EQ(result.iterations, 0) << "the clock is looked at within a pass";
}

TEST(Driver, StopsWhenTheObserverSaysSo) {
  Halving solver;
  const RunResult result = go(solver, {.tolerance = 1e-9, .max_iterations = 100},
                              [](const IterationRecord& record) { return record.iteration < 4; });
  EXPECT_EQ(result.status, Status::interrupted);
  EXPECT_EQ(result.iterations, 4);
}

TEST(Driver, ClaimsNothingThatTheCertificateDoesNotSupport) {
  Halving solver(0.01);
  const RunResult result = go(solver, {.tolerance = 1e-3, .max_iterations = 60});
  EXPECT_NE(result.status, Status::converged);
  EXPECT_GT(result.certificate.gap(), 0.009);
  EXPECT_LT(solver.certified(), 25) << "a refused certificate must not be asked for again at every step";
}

TEST(Driver, StallsWhenThereIsNowhereToGo) {
  Halving solver(0.5, 0.0);
  const RunResult result = go(solver, {.tolerance = 1e-3, .max_iterations = 60});
  EXPECT_EQ(result.status, Status::stalled);
  EXPECT_EQ(result.iterations, 1);
}

TEST(Driver, ShowsTheWeightsToAnObserverThatAsks) {
  Halving solver;
  std::vector<double> seen;
  go(solver, {.tolerance = 1e-9, .max_iterations = 3}, [&](const Progress& progress) {
    seen.push_back(progress.weights().at(0));
    return true;
  });
  EXPECT_EQ(seen, (std::vector<double>{0.5, 0.25, 0.125}));
}

// Guesses: at first far too good a primal, then a dual above it.
class Guessing final : public Solver {
 public:
  Pass step() override {
    const bool first = ++steps_ == 1;
    const Certificate guess{first ? 0.3 : 0.9, first ? 0.2 : 0.5};
    return {guess, guess.primal, guess.dual, 1.0, true};
  }
  void set_should_stop(std::function<bool()>) override {}
  Certificate certify() override { return {1.0, 0.5}; }
  const std::vector<double>& weights() const override { return none_; }
  std::vector<double> current_weights() override { return none_; }
  const std::vector<std::int32_t>& ranks() const override { return no_ranks_; }
  const Dual* dual() const override { return nullptr; }
  std::unique_ptr<Dual> take_dual() override { return nullptr; }
  std::int64_t row_visits() const override { return 0; }
  void exchange(State&) override {}

 private:
  int steps_ = 0;
  std::vector<double> none_;
  std::vector<std::int32_t> no_ranks_;
};

TEST(Driver, AGuessIsNotTheLowestSoFar) {
  Guessing solver;
  std::vector<double> primal;
  go(solver, {.tolerance = 1e-3, .max_iterations = 2}, [&](const Progress& progress) {
    primal.push_back(progress.primal);
    EXPECT_GE(progress.primal, progress.dual);
    return true;
  });
  EXPECT_EQ(primal, (std::vector<double>{0.3, 0.9}));
}

TEST(Driver, RecordsTheBestSoFarAndTheIterate) {
  Halving solver;
  std::vector<IterationRecord> records;
  go(solver, {.tolerance = 1e-9, .max_iterations = 5}, [&](const IterationRecord& record) {
    records.push_back(record);
    return true;
  });
  ASSERT_EQ(records.size(), 5u);
  for (std::size_t t = 0; t < records.size(); ++t) {
    EXPECT_EQ(records[t].iteration, static_cast<std::int64_t>(t + 1));
    EXPECT_DOUBLE_EQ(records[t].primal, records[t].iterate_primal);
    EXPECT_DOUBLE_EQ(records[t].relative_gap, (records[t].primal - 1.0) / records[t].primal);
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
