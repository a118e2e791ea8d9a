// One pool of helpers for the whole process. A call of on_threads() opens a team; helpers that are free join it. The
// caller works too, and waits only for helpers that have joined: loops inside loops, and loops of several callers at
// once, never wait for each other. Joining and leaving take no lock: a batch of block ascent is three loops of some
// tens of microseconds.
#include "core/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "core/control_group.hpp"
#include "core/fail.hpp"
#include "core/ieee.hpp"

namespace topwolf {
namespace {

thread_local int number = 0;
thread_local int worker = 0;

// In a child process: how many forks lie between it and the first one.
int forks = 0;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Most gaps between two loops of a solver are shorter than waking a thread takes.
template <class Condition>
void spin_until(const Condition& holds) {
  using Clock = std::chrono::steady_clock;
  constexpr auto longest = std::chrono::microseconds(50);
  for (const auto begin = Clock::now(); !holds() && Clock::now() - begin < longest;) relax();
}

// A call of on_threads(). Teams outlive their calls and are used again, so that a helper may look at one at any time.
struct alignas(64) Team {
  std::atomic<bool> taken = false;
  // Helpers inside, and in the upper half the places that are left for others to join: both change in one go, so that
  // nobody joins a team that has closed.
  std::atomic<std::uint32_t> control = 0;
  static constexpr std::uint32_t place = 1 << 16, inside = place - 1;

  const std::function<void()>* work = nullptr;
  std::uint32_t places = 0;  // at the beginning
  std::mutex guard;          // of the error
  std::exception_ptr error;
};

class Pool {
 public:
  void run(int threads, const std::function<void()>& work) {
    const int helpers = std::min(threads - 1, allowed());
    Team* const team = helpers > 0 ? take_team() : nullptr;
    if (!team) return work();  // more loops inside loops than there are teams, or a machine that is busy elsewhere
    const int forks_before = forks;
    const auto begin = Clock::now();
    open(*team, static_cast<std::uint32_t>(helpers), work);
    std::exception_ptr error = call(work);
    if (forks != forks_before) {
      fail(ErrorKind::internal,
           "the process was forked inside a parallel loop; the child has lost what the others did");
    }
    const auto alone = Clock::now();
    close(*team);
    judge(helpers, alone - begin, Clock::now() - alone);
    if (!error) error = std::exchange(team->error, nullptr);
    team->error = nullptr;
    team->taken.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
  }

  bool refused() const { return refused_; }

 private:
  using Clock = std::chrono::steady_clock;

  static std::exception_ptr call(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  Team* take_team() {
    for (Team& team : teams_) {
      if (!team.taken.load(std::memory_order_relaxed) && !team.taken.exchange(true, std::memory_order_acquire)) {
        return &team;
      }
    }
    return nullptr;
  }

  void open(Team& team, std::uint32_t helpers, const std::function<void()>& work) {
    team.work = &work;
    team.places = helpers;
    team.control.store(helpers * Team::place, std::memory_order_release);
    if (idle_ < static_cast<int>(helpers) && !refused_) start_helpers(static_cast<int>(helpers));
    ++opened_;
    for (int k = std::min(static_cast<int>(helpers), asleep_.load()); k > 0; --k) opened_.notify_one();
  }

  // Waits only for helpers that have joined.
  void close(Team& team) {
    team.control.fetch_and(Team::inside, std::memory_order_acq_rel);
    spin_until([&] { return team.control.load(std::memory_order_acquire) == 0; });
    // Looked at once in every round: whoever waits for a change from 0 would wait for ever.
    while (const std::uint32_t inside = team.control.load(std::memory_order_acquire)) team.control.wait(inside);
  }

  // How many helpers a loop may have. On a machine that is busy elsewhere a helper may lose its core in the midst of a
  // task, for milliseconds, and everybody waits for it: then fewer take part for a while, of which the wait was a small
  // part. Results do not depend on it.
  int allowed() {
    const int limit = limit_.load(std::memory_order_relaxed);
    if (limit < most_threads &&
        Clock::now().time_since_epoch().count() > quiet_until_.load(std::memory_order_relaxed)) {
      limit_.store(std::min(most_threads, limit + 1 + limit / 2), std::memory_order_relaxed);
      return limit + 1 + limit / 2;
    }
    return limit;
  }

  void judge(int helpers, Clock::duration worked, Clock::duration waited) {
    constexpr auto short_wait = std::chrono::microseconds(300);
    constexpr int rest = 20;  // times the wait
    if (waited < short_wait || waited < 2 * worked) return;
    limit_.store(helpers * 3 / 4, std::memory_order_relaxed);
    quiet_until_.store((Clock::now().time_since_epoch() + rest * waited).count(), std::memory_order_relaxed);
  }

  void start_helpers(int wanted) {
    const std::lock_guard lock(starting_);
    while (idle_ < wanted && !refused_) {
      try {
        std::thread([this, id = ++started_] {
          worker = id;
          help();
        }).detach();
        ++idle_;
      } catch (const std::exception&) {  // no thread, or no memory for one
        refused_ = true;
      }
    }
  }

  // What a helper does all its life.
  void help() {
    const IeeeArithmetic ieee;
    const int forks_before = forks;
    for (;;) {
      const std::uint32_t seen = opened_;
      if (Team* const team = join_team()) {
        const std::exception_ptr error = call(*team->work);
        if (forks != forks_before) return;  // the work forked: nobody waits for this thread in the child
        if (error) {
          const std::lock_guard lock(team->guard);
          if (!team->error) team->error = error;
        }
        ++idle_;
        if (team->control.fetch_sub(1, std::memory_order_acq_rel) == 1) team->control.notify_one();
        continue;
      }
      spin_until([&] { return opened_ != seen; });
      ++asleep_;
      opened_.wait(seen);
      --asleep_;
    }
  }

  Team* join_team() {
    for (Team& team : teams_) {
      std::uint32_t control = team.control.load(std::memory_order_acquire);
      // The first helpers come first, so that small loops that follow each other have the same ones.
      for (int k = 8 * (worker - static_cast<int>(control / Team::place)); control >= Team::place && k > 0; --k) {
        relax();
        control = team.control.load(std::memory_order_acquire);
      }
      while (control >= Team::place) {
        if (!team.control.compare_exchange_weak(control, control - Team::place + 1, std::memory_order_acq_rel))
          continue;
        number = static_cast<int>(team.places - control / Team::place) + 1;
        --idle_;
        return &team;
      }
    }
    return nullptr;
  }

  std::array<Team, 32> teams_;
  std::atomic<std::uint32_t> opened_ = 0;  // how many there were
  std::atomic<int> idle_ = 0;              // helpers in no team
  std::atomic<int> asleep_ = 0;
  std::atomic<bool> refused_ = false;
  std::mutex starting_;
  int started_ = 0;
  std::atomic<int> limit_ = most_threads;
  std::atomic<Clock::rep> quiet_until_ = 0;
};

// Never destroyed: helpers sleep in it until the process ends.
Pool& pool = *new Pool;

// The helpers are not in the child, nor is whoever held the mutex: the pool of the parent is forgotten.
void begin_anew() {
  ++forks;
  new (&pool) Pool;
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, begin_anew);

// Those that the process may run on; a quota of core time counts as so many, to the nearest.
int available_cores() {
  cpu_set_t set;
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0
                        ? CPU_COUNT(&set)
                        : static_cast<int>(std::thread::hardware_concurrency());  // more than 1024 cores
  return static_cast<int>(std::max(1.0, std::min(static_cast<double>(cores), std::round(cores_allowed()))));
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

int worker_id() {
  return worker;
}

bool threads_refused() {
  return pool.refused();
}

}  // namespace topwolf
