// One pool of helpers for the whole process. A call of on_threads() opens a team; helpers that are free join it. The
// caller works too, and waits only for helpers that have joined: loops inside loops, and loops of several callers at
// once, never wait for each other.
#include "core/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "core/fail.hpp"
#include "core/ieee.hpp"

namespace topwolf {
namespace {

thread_local int number = 0;

// In a child process: how many forks lie between it and the first one.
int forks = 0;

// Most gaps between two loops of a solver are shorter than waking a thread takes.
template <class Condition>
void spin_until(const Condition& holds) {
  using Clock = std::chrono::steady_clock;
  constexpr auto longest = std::chrono::microseconds(50);
  for (const auto begin = Clock::now(); !holds() && Clock::now() - begin < longest;) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

// A call of on_threads(), on the stack of its caller; guarded by the pool's mutex.
struct Team {
  const std::function<void()>& work;
  int places;  // for helpers that may still join
  int joined = 0;
  std::atomic<int> inside = 0;  // helpers at work
  std::exception_ptr error = nullptr;
  std::condition_variable all_left = {};
  Team* next = nullptr;
};

class Pool {
 public:
  void run(int threads, const std::function<void()>& work) {
    Team team{work, threads - 1};
    const int forks_before = forks;
    open(team);
    std::exception_ptr error = call(work);
    if (forks != forks_before) {
      fail(ErrorKind::internal,
           "the process was forked inside a parallel loop; the child has lost what the others did");
    }
    close(team);
    if (!error) error = team.error;
    if (error) std::rethrow_exception(error);
  }

  bool refused() {
    const std::lock_guard lock(guard_);
    return refused_;
  }

 private:
  static std::exception_ptr call(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  void open(Team& team) {
    const std::lock_guard lock(guard_);
    Team** last = &teams_;
    while (*last) last = &(*last)->next;
    *last = &team;
    places_ += team.places;
    while (idle_ < places_ && !refused_) start_helper();
    ++opened_;
    for (int k = std::min(team.places, asleep_); k > 0; --k) wake_.notify_one();
  }

  void close(Team& team) {
    std::unique_lock lock(guard_);
    Team** at = &teams_;
    while (*at != &team) at = &(*at)->next;
    *at = team.next;
    places_ -= team.places;
    if (team.inside == 0) return;
    lock.unlock();
    spin_until([&] { return team.inside == 0; });
    lock.lock();
    team.all_left.wait(lock, [&] { return team.inside == 0; });
  }

  void start_helper() {
    try {
      std::thread([this] { help(); }).detach();
      ++idle_;
    } catch (const std::exception&) {  // no thread, or no memory for one
      refused_ = true;
    }
  }

  // What a helper does all its life.
  void help() {
    const IeeeArithmetic ieee;
    const int forks_before = forks;
    std::unique_lock lock(guard_);
    for (;;) {
      if (places_ == 0) {
        await_team(lock);
        continue;
      }
      Team* team = teams_;
      while (team->places == 0) team = team->next;
      --places_, --team->places, --idle_;
      number = ++team->joined;
      ++team->inside;
      lock.unlock();
      const std::exception_ptr error = call(team->work);
      if (forks != forks_before) return;  // the work forked: nobody waits for this thread in the child
      lock.lock();
      ++idle_;
      if (error && !team->error) team->error = error;
      if (--team->inside == 0) team->all_left.notify_one();
    }
  }

  void await_team(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t seen = opened_;
    lock.unlock();
    spin_until([&] { return opened_ != seen; });
    lock.lock();
    ++asleep_;
    wake_.wait(lock, [&] { return opened_ != seen; });
    --asleep_;
  }

  std::mutex guard_;
  std::condition_variable wake_;
  Team* teams_ = nullptr;  // those that are open, in the order of opening
  int places_ = 0;         // in all of them
  int idle_ = 0;           // helpers in no team
  int asleep_ = 0;
  bool refused_ = false;
  std::atomic<std::uint64_t> opened_ = 0;
};

// Never destroyed: helpers sleep in it until the process ends.
Pool& pool = *new Pool;

// The helpers are not in the child, nor is whoever held the mutex: the pool of the parent is forgotten.
void begin_anew() {
  ++forks;
  new (&pool) Pool;
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, begin_anew);

int available_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int>(std::thread::hardware_concurrency());  // more than 1024 cores
}

}  // namespace

int resolve_threads(int requested) {
  if (requested < 0 || requested > most_threads) {
    fail(ErrorKind::option, "{} is {}, but it must be from 0 to {}", Field{"threads"}, requested, most_threads);
  }
  if (requested > 0) return requested;
  const char* asked = std::getenv("OMP_NUM_THREADS");
  const long count = asked ? std::strtol(asked, nullptr, 10) : 0;
  return static_cast<int>(std::clamp<long>(count > 0 ? count : available_cores(), 1, most_threads));
}

void on_threads(int threads, const std::function<void()>& work) {
  struct Inner {
    const int outer = std::exchange(number, 0);
    ~Inner() { number = outer; }
  } const inner;
  if (threads > 1) {
    pool.run(threads, work);
  } else {
    work();
  }
}

int thread_number() {
  return number;
}

bool threads_refused() {
  return pool.refused();
}

}  // namespace topwolf
