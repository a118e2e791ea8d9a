#include "core/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

namespace topwolf {

void for_control_groups(
    const std::string& root, const std::string& controller,
    const std::function<void(int version, const std::string& folder, const std::string& path)>& visit) {
  // The group and all above it: in a container the path may be that of the host, of which only the end is there.
  const auto climb = [&](int version, const std::string& folder, std::string path) {
    while (true) {
      visit(version, root + folder + path + "/", path.empty() ? "/" : path);
      if (path.empty()) return;
      path.resize(path.rfind('/'));
    }
  };
  // Lines "NUMBER:CONTROLLERS:PATH"; version 2 has the number 0 and no controllers.
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/" || !path.starts_with('/')) path.clear();
    if (controllers == ",,") climb(2, "/sys/fs/cgroup", path);
    if (controllers.find("," + controller + ",") != std::string::npos) climb(1, "/sys/fs/cgroup/" + controller, path);
  }
}

// Microseconds of core time in a period of so many. Version 1 has -1 where there is no quota, version 2 "max".
double cores_allowed(const std::string& root) {
  double cores = std::numeric_limits<double>::infinity();
  for_control_groups(root, "cpu", [&](int version, const std::string& folder, const std::string&) {
    double quota = 0.0, period = 0.0;
    if (version == 2) {
      std::ifstream(folder + "cpu.max") >> quota >> period;
    } else {
      std::ifstream(folder + "cpu.cfs_quota_us") >> quota;
      std::ifstream(folder + "cpu.cfs_period_us") >> period;
    }
    if (quota > 0.0 && period > 0.0) cores = std::min(cores, quota / period);
  });
  return cores;
}

}  // namespace topwolf
