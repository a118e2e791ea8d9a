#include "core/threads.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/clock.hpp"
#include "support/threads_meet.hpp"
#include "topwolf/error.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

std::int64_t sum_below(std::int64_t count, int threads) {
  std::atomic<std::int64_t> sum = 0;
  parallel_for(count, threads, [&](std::int64_t i) { sum += i; });
  return sum;
}

TEST(Threads, ALoopVisitsEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      parallel_for(count, threads, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
      for (const auto& visit : visits) EXPECT_EQ(visit, 1);
    }
  }
}

TEST(Threads, SeveralThreadsWorkAtTheSameTime) {
  EXPECT_TRUE(testing::threads_meet(3));
}

TEST(Threads, NoTwoThreadsOfALoopHaveTheSameNumber) {
  constexpr int threads = 4;
  std::vector<std::atomic<int>> busy(threads);
  std::atomic<int> wrong = 0;
  parallel_for(200, threads, [&](std::int64_t) {
    const int number = thread_number();
    if (number < 0 || number >= threads || busy[static_cast<std::size_t>(number)]++ != 0) ++wrong;
    std::this_thread::yield();
    --busy[static_cast<std::size_t>(number)];
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ALoopInsideALoopCountsItsThreadsFromZero) {
  std::atomic<int> wrong = 0;
  std::atomic<std::int64_t> sum = 0;
  parallel_for(8, 4, [&](std::int64_t) {
    const int outer = thread_number();
    parallel_for(5, 1, [&](std::int64_t) { wrong += thread_number() != 0; });
    parallel_for(100, 2, [&](std::int64_t i) {
      wrong += thread_number() > 1;
      sum += i;
    });
    wrong += thread_number() != outer;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(sum, 8 * 4950);
}

TEST(Threads, LoopsOfSeveralCallersRunAtOnce) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) wrong += sum_below(100, 3) != 4950;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, AnExceptionIsThrownAgainAndEndsTheLoop) {
  for (const int threads : {1, 4}) {
    std::atomic<std::int64_t> begun = 0;
    EXPECT_THROW(parallel_for(1 << 30, threads,
                              [&](std::int64_t i) {
                                ++begun;
                                if (i == 10) throw std::runtime_error("ten");
                              }),
                 std::runtime_error);
    EXPECT_LT(begun, 1 << 30);
    EXPECT_EQ(sum_below(100, threads), 4950);
  }
}

TEST(Threads, OmpNumThreadsIsTheDefault) {
  const char* before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  setenv("OMP_NUM_THREADS", "3,2", 1);
  EXPECT_EQ(resolve_threads(0), 3);
  EXPECT_EQ(resolve_threads(5), 5);
  setenv("OMP_NUM_THREADS", "many", 1);
  EXPECT_GE(resolve_threads(0), 1);
  setenv("OMP_NUM_THREADS", "99999", 1);
  EXPECT_EQ(resolve_threads(0), most_threads);
  before ? setenv("OMP_NUM_THREADS", kept.c_str(), 1) : unsetenv("OMP_NUM_THREADS");
}

TEST(Threads, ThereIsOneLimit) {
  EXPECT_EQ(resolve_threads(most_threads), most_threads);
  EXPECT_THROW(resolve_threads(most_threads + 1), Error);
  EXPECT_THROW(resolve_threads(-1), Error);
}

// What work() returns in a forked child, whom an alarm ends if it hangs.
template <class Work>
bool holds_in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Threads, AForkedChildStartsItsOwn) {
  EXPECT_EQ(sum_below(1000, 4), 499500);
  const auto both_meet = [] { return testing::threads_meet(2); };
  EXPECT_TRUE(holds_in_child(both_meet));
  EXPECT_TRUE(holds_in_child([&] { return both_meet() && holds_in_child(both_meet); }));
  EXPECT_TRUE(both_meet());
}

TEST(Threads, AChildForkedWhileOthersAreAtWorkStartsItsOwn) {
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) sum_below(100, 3);
  });
  for (int k = 0; k < 50; ++k) EXPECT_TRUE(holds_in_child([] { return sum_below(1000, 4) == 499500; }));
  stop = true;
  other.join();
}

// Many short loops, whose helpers come, are late, sleep and leave at every moment there is.
TEST(Threads, ShortLoopsAllEnd) {
  std::atomic<std::int64_t> done = 0;
  for (int loop = 0; loop < 20000; ++loop) {
    parallel_for(6, 6, [&](std::int64_t i) {
      ++done;
      if (loop % 50 == 0 && i % 3 == 1) std::this_thread::sleep_for(std::chrono::microseconds(60));
    });
  }
  EXPECT_EQ(done, 6 * 20000);
}

// A loop may be left to one thread, as on a busy machine: it is tried until a helper takes part.
TEST(Threads, AChildForkedInsideALoopIsToldThatWorkIsLost) {
  const pid_t parent = getpid();
  int status = -1;
  for (int attempt = 0; attempt < 1000 && status == -1; ++attempt) {
    std::atomic<bool> helped = false;
    try {
      parallel_for(2, 2, [&](std::int64_t) {
        if (thread_number() != 0) helped = true;
        for (const Stopwatch clock; !helped && clock.seconds() < 0.05;) std::this_thread::yield();
        if (!helped || thread_number() != 0) return;
        const pid_t child = fork();
        if (child != 0) waitpid(child, &status, 0);
      });
    } catch (const std::exception& error) {
      if (getpid() != parent) _exit(std::string(error.what()).find("forked") == std::string::npos ? 1 : 42);
      throw;
    }
    if (getpid() != parent) _exit(0);
  }
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

// Whoever waits for helpers that have lost their cores does without them for a while.
TEST(Threads, HelpersThatAreLateAreFewerTheNextTime) {
  const auto most_at_once = [] {
    std::atomic<int> inside = 0, most = 0;
    parallel_for(8, 4, [&](std::int64_t) {
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      --inside;
    });
    return most.load();
  };
  // The caller ends at once and waits for a helper, as for one that was put to sleep in the midst of a task.
  bool late = false;
  for (int attempt = 0; attempt < 1000 && !late; ++attempt) {
    parallel_for(2, 2, [&](std::int64_t) {
      if (thread_number() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      late = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    });
  }
  ASSERT_TRUE(late);
  EXPECT_EQ(most_at_once(), 1);
  for (int attempt = 0; attempt < 1000 && most_at_once() == 1; ++attempt) {
  }
  EXPECT_GT(most_at_once(), 1) << "they never came back";
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
