// The kernel's own words, from /proc and /sys: what it does not say is no limit.
#include "core/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "core/control_group.hpp"

namespace topwolf {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

void bound(ProcessMemory& memory, double limit, double used, const std::string& reason) {
  memory.limit = std::min(memory.limit, limit);
  const double left = std::max(0.0, limit - used);
  if (left >= memory.available) return;
  memory.available = left;
  memory.bound = reason;
}

// The number after `key`, in a file of lines such as "MemAvailable:  123 kB" or "inactive_file 123".
std::optional<double> number_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    double value = 0.0;
    if (words >> word >> value && word == key) return value;
  }
  return std::nullopt;
}

// A file that holds one number; "max" and what is not there are no limit.
double number_in(const std::string& path) {
  std::ifstream file(path);
  double value = 0.0;
  return file >> value ? value : no_limit;
}

void bound_by_machine(const std::string& root, ProcessMemory& memory) {
  constexpr double kilo = 1024.0;
  const std::string path = root + "/proc/meminfo";
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const std::optional<double> total = number_after(path, "MemTotal:"), free = number_after(path, "MemAvailable:");
  const double limit = total ? kilo * *total : pages;
  bound(memory, limit, free ? limit - kilo * *free : 0.0, "the machine");
}

void bound_by_rlimits(const std::string& root, ProcessMemory& memory) {
  constexpr double kilo = 1024.0;
  const std::string status = root + "/proc/self/status";
  const auto by = [&](auto resource, const char* used, const char* reason) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    bound(memory, static_cast<double>(limit.rlim_cur), kilo * number_after(status, used).value_or(0.0), reason);
  };
  by(RLIMIT_AS, "VmSize:", "ulimit -v");
  by(RLIMIT_DATA, "VmData:", "ulimit -d");
}

// What a version of control groups calls its files.
struct GroupFiles {
  const char *limit, *used, *reclaimable;
};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles version_2{"memory.max", "memory.current", "inactive_file"};

void bound_by_groups(const std::string& root, ProcessMemory& memory) {
  for_control_groups(root, "memory", [&](int version, const std::string& folder, const std::string& path) {
    const GroupFiles& files = version == 1 ? version_1 : version_2;
    const double limit = number_in(folder + files.limit);
    if (!(limit < no_limit)) return;
    const double used = number_in(folder + files.used);
    // Cached files count as used, but the kernel gives them up when somebody asks for memory.
    const double cached = number_after(folder + "memory.stat", files.reclaimable).value_or(0.0);
    bound(memory, limit, used < no_limit ? std::max(0.0, used - cached) : 0.0,
          fmt::format("the control group {}", path));
  });
}

}  // namespace

ProcessMemory process_memory(const std::string& root) {
  ProcessMemory memory{no_limit, no_limit, ""};
  bound_by_machine(root, memory);
  bound_by_rlimits(root, memory);
  bound_by_groups(root, memory);
  return memory;
}

std::string describe_bytes(double bytes) {
  if (bytes < 1024.0) return fmt::format("{:.0f} bytes", bytes);
  constexpr std::array units{"KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (bytes /= 1024.0; bytes >= 1024.0 && unit + 1 < units.size(); ++unit) bytes /= 1024.0;
  return fmt::format("{:.1f} {}", bytes, units[unit]);
}

}  // namespace topwolf
