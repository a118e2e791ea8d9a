// What the process may have, from trees of files as the kernel would show them.
#include "core/memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "core/control_group.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

constexpr double mega = 1024.0 * 1024.0;

// A machine of 1,000 MiB, 800 of them free.
class Machine {
 public:
  Machine() { put("proc/meminfo", "MemTotal: 1024000 kB\nMemFree: 1 kB\nMemAvailable: 819200 kB\n"); }

  void put(const std::string& path, const std::string& text) const {
    const std::string file = folder_.file(path);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    write_text(file, text);
  }
  std::string root() const { return folder_.file(""); }
  ProcessMemory memory() const { return process_memory(root()); }

 private:
  TempFolder folder_;
};

TEST(Memory, is_the_machines_where_nothing_else_limits_it) {
  const ProcessMemory memory = Machine().memory();
  EXPECT_EQ(memory.limit, 1000.0 * mega);
  EXPECT_EQ(memory.available, 800.0 * mega);
  EXPECT_EQ(memory.bound, "the machine");
}

TEST(Memory, of_a_group_of_version_2_counts_what_can_be_given_back) {
  const Machine machine;
  machine.put("proc/self/cgroup", "0::/a/b\n");
  machine.put("sys/fs/cgroup/a/b/memory.max", "max\n");
  machine.put("sys/fs/cgroup/a/memory.max", "300000000\n");
  machine.put("sys/fs/cgroup/a/memory.current", "250000000\n");
  machine.put("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 100000000\n");
  const ProcessMemory memory = machine.memory();
  EXPECT_EQ(memory.limit, 3e8);
  EXPECT_EQ(memory.available, 1.5e8);
  EXPECT_EQ(memory.bound, "the control group /a");
}

TEST(Memory, of_a_group_of_version_1_is_the_tightest_on_the_way_up) {
  const Machine machine;
  machine.put("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/jobs/one\n3:cpuset:/\n0::/\n");
  machine.put("sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", "9223372036854771712\n");
  machine.put("sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "1000\n");
  machine.put("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "400000000\n");
  machine.put("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "390000000\n");
  machine.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "100000000\n");
  machine.put("sys/fs/cgroup/memory/memory.usage_in_bytes", "50000000\n");
  const ProcessMemory memory = machine.memory();
  EXPECT_EQ(memory.limit, 1e8);
  EXPECT_EQ(memory.available, 1e7);
  EXPECT_EQ(memory.bound, "the control group /jobs");
}

// In a container /proc names the group as the host sees it, but only its own files are there.
TEST(Memory, of_a_container_is_found_at_the_top) {
  const Machine machine;
  machine.put("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  machine.put("sys/fs/cgroup/memory.max", "200000000\n");
  machine.put("sys/fs/cgroup/memory.current", "300000000\n");
  const ProcessMemory memory = machine.memory();
  EXPECT_EQ(memory.limit, 2e8);
  EXPECT_EQ(memory.available, 0.0);
  EXPECT_EQ(memory.bound, "the control group /");
}

TEST(Memory, of_this_process_is_more_than_nothing) {
  const ProcessMemory memory = process_memory();
  EXPECT_GT(memory.limit, 0.0);
  EXPECT_LE(memory.available, memory.limit);
  EXPECT_FALSE(memory.bound.empty());
}

TEST(DescribeBytes, UsesAUnitThatShowsSomething) {
  EXPECT_EQ(describe_bytes(0.0), "0 bytes");
  EXPECT_EQ(describe_bytes(1023.0), "1023 bytes");
  EXPECT_EQ(describe_bytes(5760.0), "5.6 KiB");
  EXPECT_EQ(describe_bytes(3.0 * 1024 * 1024), "3.0 MiB");
  EXPECT_EQ(describe_bytes(2048.0 * 1024 * 1024 * 1024), "2048.0 GiB");
}

TEST(ControlGroup, AQuotaOfCoreTimeIsSoManyCores) {
  Machine machine;
  EXPECT_EQ(cores_allowed(machine.root()), std::numeric_limits<double>::infinity());
  machine.put("proc/self/cgroup", "0::/a/b\n");
  machine.put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cores_allowed(machine.root()), std::numeric_limits<double>::infinity());
  machine.put("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cores_allowed(machine.root()), 2.5);
  machine.put("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(cores_allowed(machine.root()), 1.5);
  machine.put("proc/self/cgroup", "4:cpu,cpuacct:/jobs\n0::/\n");
  machine.put("sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "-1\n");
  machine.put("sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us", "100000\n");
  machine.put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  machine.put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores_allowed(machine.root()), 0.5);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
