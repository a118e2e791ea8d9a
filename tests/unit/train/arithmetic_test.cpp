// A caller's thread that flushes subnormal numbers, or rounds elsewhere, as a library linked with -ffast-math leaves
// it: what the library computes has the same bits, and the caller finds its mode as it was.
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <cmath>
#include <limits>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "support/threads_meet.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {
#if defined(__x86_64__)

constexpr unsigned flushing = 0x8040;

struct Flushing {
  const unsigned before = _mm_getcsr();
  Flushing() { _mm_setcsr(before | flushing); }
  ~Flushing() { _mm_setcsr(before); }
};

// Where nothing is known at compile time.
double halved(double value) {
  const volatile double given = value;
  return given / 2.0;
}

constexpr double least = std::numeric_limits<double>::min();

Dataset tiny_rows() {
  static const std::vector<float> x{1e-40F, -1e-40F, 2e-40F};
  Dataset data;
  data.X = Features::dense(x.data(), 3, 1, 1);
  data.y = {0, 1, 2};
  data.classes.names = {"0", "1", "2"};
  return data;
}

TrainOptions options_for(int threads) {
  TrainOptions options;
  options.C = 1e80;
  options.max_iterations = 50;
  options.threads = threads;
  options.solver = SolverName::lsfw;
  options.keep_dual = true;
  return options;
}

TEST(Arithmetic, IsIeeeInsideAndTheCallersAfterwards) {
  const Flushing mode;
  EXPECT_EQ(halved(least), 0.0);
  {
    const IeeeArithmetic ieee;
    EXPECT_EQ(halved(least), std::ldexp(1.0, -1023));
  }
  EXPECT_EQ(halved(least), 0.0);
  EXPECT_EQ(_mm_getcsr() & flushing, flushing);
}

TEST(Arithmetic, RoundsToNearestInside) {
  std::fesetround(FE_UPWARD);
  {
    const IeeeArithmetic ieee;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
}

TEST(Arithmetic, IsIeeeInHelpersWhoeverStartedThem) {
  const Flushing mode;
  std::atomic<int> flushed = 0;
  const unsigned caller = _mm_getcsr();
  EXPECT_TRUE(
      testing::threads_meet(4, [&] { flushed += thread_number() != 0 && (_mm_getcsr() & flushing) != 0 ? 1 : 0; }));
  EXPECT_EQ(flushed, 0);
  EXPECT_EQ(_mm_getcsr() & flushing, caller & flushing);
}

TEST(Arithmetic, NoAnswerOfTheLibraryDependsOnTheCallersMode) {
  for (const int threads : {1, 2}) {
    const Dataset data = tiny_rows();
    const TrainOptions options = options_for(threads);
    const TrainResult expected = train(data, options);
    ASSERT_GT(expected.certificate.dual, 0.0);
    const Verification verified = verify(data, expected.model, expected.dual);
    const std::vector<double> scores = Predictor(expected.model).scores(data.X, threads);
    const double value = objective(data, options, expected.model.W);
    SweepOptions grid;
    grid.train = options;
    grid.C = {1e79, 1e80};
    const SweepResult swept = sweep(data, grid);
    const AuditResult audited = audit(data, expected.model, options);

    const Flushing mode;
    const TrainResult found = train(data, options);
    EXPECT_EQ(found.certificate.primal, expected.certificate.primal);
    EXPECT_EQ(found.certificate.dual, expected.certificate.dual);
    EXPECT_EQ(found.model.W, expected.model.W);
    const Verification again = verify(data, expected.model, expected.dual);
    EXPECT_EQ(again.primal, verified.primal);
    EXPECT_EQ(again.dual, verified.dual);
    EXPECT_EQ(Predictor(expected.model).scores(data.X, threads), scores);
    EXPECT_EQ(objective(data, options, expected.model.W), value);
    EXPECT_EQ(sweep(data, grid).points.back().certificate.dual, swept.points.back().certificate.dual);
    EXPECT_EQ(audit(data, expected.model, options).optimum.dual, audited.optimum.dual);
    EXPECT_EQ(_mm_getcsr() & flushing, flushing);
  }
}

#endif
}  // namespace TOPWOLF_FILE
}  // namespace topwolf
