// The choice of the method by what it takes, and what is said where nothing fits.
#include "solve/method.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>

#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;

Workload dense(double n, double m, double d, double number = sizeof(float)) {
  Workload work{};
  work.n = n;
  work.m = m;
  work.D = d;
  work.stored = n * d;
  work.stored_number = work.number = number;
  work.entries = 1.0;
  work.program = 48e6;
  work.faces = true;
  work.threads = work.workers = 1;
  work.fits = 1;
  return work;
}

ProcessMemory memory_of(double bytes) {
  return {bytes, bytes, "the machine"};
}

TrainOptions asking(SolverName solver, ScoresName scores = ScoresName::automatic) {
  TrainOptions options;
  options.solver = solver;
  options.scores = scores;
  return options;
}

TEST(Method, from_the_Gram_matrix_only_where_a_quarter_of_the_memory_holds_it) {
  const Workload few = dense(2000, 100, 20000);
  EXPECT_TRUE(choose_method(few, {}, memory_of(8e9)).gram);
  const Method method = choose_method(few, {}, memory_of(1e8));
  EXPECT_FALSE(method.gram);
  EXPECT_THAT(method.choice, HasSubstr("with the Gram matrix it would take"));
}

TEST(Method, is_lsfw_where_the_rows_of_block_ascent_do_not_fit) {
  const Workload many = dense(1e8, 200, 200);
  const double block = training_bytes(many, SolverName::block, false),
               lsfw = training_bytes(many, SolverName::lsfw, false);
  ASSERT_LT(2.0 * lsfw, block);
  const Method method = choose_method(many, {}, memory_of(2.0 * lsfw));
  EXPECT_EQ(method.solver, SolverName::lsfw);
  EXPECT_THAT(method.choice, HasSubstr("block ascent would take"));
  EXPECT_TRUE(method.remedy.empty());
  check_memory(method);
  EXPECT_EQ(choose_method(many, {}, memory_of(2.0 * block)).solver, SolverName::block);
}

TEST(Method, is_the_same_for_any_number_of_threads_and_jobs) {
  // With many classes the threads' own scores weigh as much as all the rest.
  Workload work = dense(700, 600, 2000);
  for (double bytes = 1e6; bytes < 1e9; bytes *= 1.1) {
    work.threads = work.workers = 1;
    const Method alone = choose_method(work, {}, memory_of(bytes));
    work.threads = 64;
    work.workers = 5;
    const Method together = choose_method(work, {}, memory_of(bytes));
    ASSERT_EQ(together.solver, alone.solver) << bytes;
    ASSERT_EQ(together.gram, alone.gram) << bytes;
    ASSERT_GT(together.bytes, alone.bytes);
  }
}

TEST(Method, is_newton_where_there_are_thousands_of_rows_for_every_weight) {
  const Workload tall = dense(1e6, 10, 5), wide = dense(1e6, 100, 50);
  const Method method = choose_method(tall, {}, memory_of(8e9));
  EXPECT_EQ(method.solver, SolverName::newton);
  EXPECT_THAT(method.choice, HasSubstr("20000 rows for every weight"));
  EXPECT_EQ(choose_method(wide, {}, memory_of(8e9)).solver, SolverName::block);
  EXPECT_EQ(choose_method(tall, asking(SolverName::automatic, ScoresName::weights), memory_of(8e9)).solver,
            SolverName::block);
  Workload shared = tall;
  shared.class_columns = 3;
  EXPECT_EQ(choose_method(shared, {}, memory_of(8e9)).solver, SolverName::block);
}

TEST(Method, is_newton_where_few_weights_make_a_badly_conditioned_problem) {
  const auto solver = [](double n, double d, double condition) {
    Workload work = dense(n, d, 5);
    work.condition = condition;
    return choose_method(work, {}, memory_of(8e9)).solver;
  };
  EXPECT_EQ(solver(20'000, 20, 60), SolverName::newton);
  EXPECT_EQ(solver(20'000, 20, 40), SolverName::block);   // not bad enough
  EXPECT_EQ(solver(20'000, 200, 60), SolverName::block);  // too many weights
  EXPECT_EQ(solver(1000, 20, 60), SolverName::block);     // too few rows for that
  EXPECT_EQ(solver(1000, 20, 2000), SolverName::newton);  // but not for this
  EXPECT_EQ(solver(1000, 20, 1e300), SolverName::block);  // nothing is known of such
  EXPECT_EQ(solver(1000, 20, std::nan("")), SolverName::block);
  TrainOptions close;
  close.tolerance = 1e-7;
  Workload work = dense(20'000, 20, 5);
  work.condition = 60;
  EXPECT_EQ(choose_method(work, close, memory_of(8e9)).solver, SolverName::block);
  EXPECT_EQ(choose_method(work, {}, memory_of(8e9)).solver, SolverName::newton);
  work.by_oracle = true;  // which tells no second derivatives
  EXPECT_EQ(choose_method(work, {}, memory_of(8e9)).solver, SolverName::block);
}

TEST(Method, that_does_not_fit_is_refused_with_what_would) {
  const auto refusal = [](const Workload& work, const TrainOptions& options, double bytes) {
    return error_of(ErrorKind::memory, [&] { check_memory(choose_method(work, options, memory_of(bytes))); });
  };
  const Workload rows = dense(50000, 10, 10);
  EXPECT_THAT(refusal(rows, asking(SolverName::block, ScoresName::gram), 1e9),
              ::testing::AllOf(HasSubstr("from the Gram matrix would take 14"), HasSubstr("the machine leaves 1.00 GB"),
                               HasSubstr("; scores = weights needs 0.0")));
  const Workload wide = dense(1000, 1000, 1e5, sizeof(double));
  const double need = training_bytes(wide, SolverName::block, false);
  EXPECT_THAT(refusal(wide, asking(SolverName::block, ScoresName::weights), need),
              HasSubstr("; precision = float32 needs 4.0"));
  EXPECT_THAT(refusal(dense(1e8, 10, 10), asking(SolverName::block), 1e10), HasSubstr("; solver = lsfw needs"));
  EXPECT_THAT(refusal(wide, asking(SolverName::apg), 1.2 * need), HasSubstr("; solver = block needs 4.8"));
  Workload folds = dense(1000, 1000, 1e5);
  folds.workers = 5;
  EXPECT_THAT(refusal(folds, asking(SolverName::block, ScoresName::weights), need), HasSubstr("; threads = 1 needs"));
  Workload crowd = dense(1000, 1000, 100);
  crowd.threads = 1024;
  EXPECT_THAT(refusal(crowd, asking(SolverName::block, ScoresName::weights), 1e8),
              HasSubstr("; threads = 1 needs 0.0"));
  EXPECT_THAT(refusal(wide, asking(SolverName::block), 1e9), HasSubstr("; fewer features or classes, or 4"));
}

TEST(Method, takes_more_memory_with_more_of_everything) {
  const Workload small = dense(1000, 100, 100);
  for (const SolverName solver :
       {SolverName::block, SolverName::newton, SolverName::apg, SolverName::lsfw, SolverName::stdfw}) {
    for (const bool gram : {false, true}) {
      if (gram && solver != SolverName::block) continue;
      const double bytes = training_bytes(small, solver, gram);
      for (double Workload::*field : {&Workload::n, &Workload::m, &Workload::D, &Workload::number}) {
        Workload larger = small;
        larger.*field *= 2.0;
        EXPECT_GT(training_bytes(larger, solver, gram), bytes);
      }
    }
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
