// Names are .topwolf-BOOT-PROCESS-NUMBER.tmp. The lock decides who is alive: process numbers mean nothing in another
// container, and are used again. Where a folder is shared between machines locks may not reach from one to the other:
// what was not written under this boot of this machine must be a day old as well.
#include "core/temporary.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

namespace topwolf {
namespace {

constexpr std::string_view prefix = ".topwolf-", ending = ".tmp";

// Exactly what name_it() makes: whoever calls a file something like it keeps it.
bool is_our_name(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(ending) || name.size() < prefix.size() + ending.size()) return false;
  name = name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
  const std::size_t first = name.find('-'), second = first == name.npos ? first : name.find('-', first + 1);
  if (second == name.npos) return false;
  constexpr std::string_view digits = "0123456789", hex = "0123456789abcdef";
  const auto made_of = [](std::string_view part, std::string_view characters) {
    return !part.empty() && part.find_first_not_of(characters) == part.npos;
  };
  const std::string_view machine = name.substr(0, first);
  return (machine == "0" || (machine.size() == 8 && made_of(machine, hex))) &&
         made_of(name.substr(first + 1, second - first - 1), digits) && made_of(name.substr(second + 1), digits);
}

// What a signal handler may read: memory that is never given back.
struct Slot {
  enum State : int { empty, claimed, filled };
  std::atomic<int> state{empty};
  char path[PATH_MAX]{};
};
std::array<Slot, 16> slots;

// -1: there is no room. A signal will then leave the file to the next run.
int remember(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    int expected = Slot::empty;
    if (!slots[s].state.compare_exchange_strong(expected, Slot::claimed)) continue;
    std::memcpy(slots[s].path, path.c_str(), path.size() + 1);
    slots[s].state = Slot::filled;
    return static_cast<int>(s);
  }
  return -1;
}

// Eight digits that change with every start of the machine; "" where it does not tell.
std::string boot() {
  std::array<char, 8> digits{};
  const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? -1 : ::read(file, digits.data(), digits.size());
  if (file >= 0) ::close(file);
  return got == static_cast<ssize_t>(digits.size()) ? std::string(digits.data(), digits.size()) : "";
}

bool a_day_old(const struct stat& status) {
  constexpr std::time_t day = 24 * 3600;
  return std::time(nullptr) - status.st_mtime > day;
}

// Nobody writes it: its lock can be had.
bool is_stale(int file, bool same_boot) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return (same_boot || a_day_old(status)) && ::flock(file, LOCK_EX | LOCK_NB) == 0;
}

void remove_stale(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
  if (!entries) return;
  const std::string here = boot(), ours = fmt::format("{}{}-", prefix, here);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!is_our_name(name)) continue;
    const int file = ::openat(::dirfd(entries.get()), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    if (is_stale(file, !here.empty() && name.starts_with(ours))) ::unlinkat(::dirfd(entries.get()), entry->d_name, 0);
    ::close(file);
  }
}

// Between its making and its lock, somebody who clears up may have taken it for a dead one. Without locks nobody does.
bool is_ours(int file) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status {};
  return ::fstat(file, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

Temporary::~Temporary() {
  if (exists()) ::unlink(path_.c_str());
  forget();
}

void Temporary::name_it(const std::string& folder) {
  static std::atomic<unsigned> number{0};
  const std::string machine = boot();
  path_ = fmt::format("{}{}{}-{}-{}{}", folder, prefix, machine.empty() ? "0" : machine, ::getpid(), number++, ending);
}

void Temporary::forget() {
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].state = Slot::empty;
  slot_ = -1;
  path_.clear();
}

int Temporary::make(const std::string& folder) {
  remove_stale(folder);
  while (true) {
    name_it(folder);
    slot_ = remember(path_);
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 && is_ours(file)) return file;
    const int error = errno;
    if (file >= 0) ::close(file);
    forget();
    errno = error;
    if (file < 0 && error != EEXIST) return -1;
  }
}

bool Temporary::rename_to(const std::string& target) {
  if (::rename(path_.c_str(), target.c_str()) != 0) return false;
  forget();
  return true;
}

void remove_temporaries() noexcept {
  for (Slot& slot : slots) {
    if (slot.state == Slot::filled) ::unlink(slot.path);
  }
}

}  // namespace topwolf
