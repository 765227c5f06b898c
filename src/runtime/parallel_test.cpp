// SPDX-License-Identifier: Apache-2.0
#include "runtime/parallel.h"
#include "runtime/environment.h"

#include <gtest/gtest.h>
#include <masu/device.h>
#include <sched.h>
#include <tbb/task_arena.h>

#include "expect_error.h"
#include "temporary_directory.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace masu {
namespace {

namespace fs = std::filesystem;

class ParallelTest : public ::testing::Test {
 protected:
  ~ParallelTest() override { set_cpu_threads(0); }
};

TEST_F(ParallelTest, RunsEveryTaskOnce) {
  for (const unsigned threads : {0U, 1U, 2U, 7U, 64U}) {
    set_cpu_threads(threads);
    for (const std::uint64_t tasks : {0U, 1U, 2U, 3U, 101U, 10007U}) {
      std::vector<std::atomic<int>> runs(tasks);
      runtime::parallel_tasks(tasks, [&](std::uint64_t task) { ++runs[task]; });
      for (const auto& count : runs) ASSERT_EQ(count, 1);
    }
  }
}

TEST_F(ParallelTest, OneThreadIsTheCallersInOrder) {
  set_cpu_threads(1);
  const auto caller = std::this_thread::get_id();
  std::vector<std::uint64_t> order;
  runtime::parallel_tasks(100, [&](std::uint64_t task) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(task, order.size());
    order.push_back(task);
  });
  EXPECT_EQ(order.size(), 100U);
}

TEST_F(ParallelTest, NeverMoreThreadsThanAsked) {
  set_cpu_threads(2);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  runtime::parallel_tasks(200, [&](std::uint64_t) {
    const int now = ++running;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    --running;
  });
  EXPECT_LE(most, 2);
}

TEST_F(ParallelTest, ExceptionsReachTheCaller) {
  for (const unsigned threads : {1U, 4U}) {
    set_cpu_threads(threads);
    EXPECT_THROW(runtime::parallel_tasks(100,
                                         [](std::uint64_t task) {
                                           if (task == 42) throw std::runtime_error("42");
                                         }),
                 std::runtime_error);
  }
}

TEST_F(ParallelTest, NestedCallsFinish) {
  set_cpu_threads(3);
  std::atomic<int> runs{0};
  runtime::parallel_tasks(10, [&](std::uint64_t) { runtime::parallel_tasks(10, [&](std::uint64_t) { ++runs; }); });
  EXPECT_EQ(runs, 100);
}

TEST_F(ParallelTest, ThreadsFollowSettingEnvironmentAndArena) {
  EXPECT_GE(cpu_threads(), 1U);
  EXPECT_LE(cpu_threads(), runtime::usable_cpus());
  set_cpu_threads(5);
  EXPECT_EQ(cpu_threads(), 5U);
  set_cpu_threads(0);
  tbb::task_arena arena(1);
  arena.execute([] { EXPECT_EQ(cpu_threads(), 1U); });
}

// The variable is read once, so this needs a process. What is written to it later, perhaps while a call runs, is not
// read.
TEST_F(ParallelTest, EnvironmentIsReadOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto once = [] {
    for (const char* wrong : {"0", "-1", "two", "3x", "1.5", "99999999999999"}) {
      ::setenv("MASU_THREADS", wrong, 1);
      MASU_EXPECT_ERROR((void)cpu_threads(), invalid_argument, std::string("got \"") + wrong);
    }
    ::setenv("MASU_THREADS", "3", 1);
    runtime::parallel_tasks(1, [](std::uint64_t) {});  // a call on little data
    ::setenv("MASU_THREADS", "two", 1);
    EXPECT_EQ(cpu_threads(), 3U);
    set_cpu_threads(5);
    EXPECT_EQ(cpu_threads(), 5U);
    set_cpu_threads(0);
    EXPECT_EQ(cpu_threads(), 3U);
    std::_Exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(once(), testing::ExitedWithCode(0), "");
}

TEST_F(ParallelTest, FollowsTheAffinityMask) {
  unsigned cpus = 0;
  std::thread([&] {
    cpu_set_t now;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(now), &now), 0);
    int first = 0;
    while (!CPU_ISSET(first, &now)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_GE(cpu_threads(), 1U);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    do {
      cpus = cpu_threads();
    } while (cpus != 1 && std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
  }).join();
  EXPECT_EQ(cpus, 1U);
}

class CgroupTest : public ::testing::Test {
 protected:
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((mount.path() / file).parent_path());
    std::ofstream(mount.path() / file) << text;
  }
  [[nodiscard]] unsigned cpus(std::string_view groups) const { return runtime::cgroup_cpus(groups, mount.path()); }
  [[nodiscard]] std::optional<std::uint64_t> memory(std::string_view groups) const {
    return runtime::cgroup_memory(groups, mount.path());
  }
  const test::TemporaryDirectory mount;
};

TEST_F(CgroupTest, VersionTwo) {
  EXPECT_EQ(cpus("0::/a/b\n"), 0U);
  write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cpus("0::/a/b\n"), 0U);
  write("a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpus("0::/a/b\n"), 2U);
  write("a/b/cpu.max", "1000 100000\n");
  EXPECT_EQ(cpus("0::/a/b"), 1U);
  write("a/b/cpu.max", "800000 100000\n");
  write("a/cpu.max", "300000 100000\n");  // the ancestor's quota is less
  EXPECT_EQ(cpus("0::/a/b\n"), 3U);
  EXPECT_EQ(cpus("0::/\n"), 0U);
}

TEST_F(CgroupTest, VersionOne) {
  write("cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n");
  write("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpus("5:memory:/a\n4:cpu,cpuacct:/a\n"), 3U);
  write("cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cpus("4:cpu,cpuacct:/a\n"), 0U);
  write("cpu/cpu.cfs_quota_us", "400000\n");  // in a container the path is not there, the root is
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpus("4:cpu:/docker/0123\n"), 4U);
}

TEST_F(CgroupTest, MemoryOfVersionTwo) {
  EXPECT_EQ(memory("0::/a/b\n"), std::nullopt);
  write("a/b/memory.max", "max\n");
  write("a/b/memory.current", "1000\n");
  EXPECT_EQ(memory("0::/a/b\n"), std::nullopt);
  write("a/b/memory.max", "10000\n");
  EXPECT_EQ(memory("0::/a/b\n"), 9000U);
  write("a/b/memory.stat", "anon 300\nfile 700\ninactive_file_x 5\ninactive_file 400\nactive_file 200\n");
  EXPECT_EQ(memory("0::/a/b\n"), 9600U);
  write("a/memory.max", "20000\n");  // the ancestor has less left
  write("a/memory.current", "15000\n");
  EXPECT_EQ(memory("0::/a/b\n"), 5000U);
  write("a/memory.current", "30000\n");
  EXPECT_EQ(memory("0::/a/b\n"), 0U);
  EXPECT_EQ(memory("0::/\n"), std::nullopt);
}

TEST_F(CgroupTest, MemoryOfVersionOne) {
  write("memory/a/memory.limit_in_bytes", "5000\n");
  write("memory/a/memory.usage_in_bytes", "4000\n");
  write("memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\ntotal_active_file 500\n");
  EXPECT_EQ(memory("5:memory:/a\n4:cpu:/a\n"), 2500U);
  EXPECT_EQ(memory("4:cpu:/a\n"), std::nullopt);
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  write("memory/memory.usage_in_bytes", "4000\n");
  EXPECT_EQ(memory("5:memory:/docker/0123\n"), 9223372036854767712U);
}

TEST_F(CgroupTest, NonsenseIsNoMemoryLimit) {
  write("memory.max", "lots\n");
  write("memory.current", "5\n");
  EXPECT_EQ(memory("0::/\n"), std::nullopt);
  write("memory.max", "99999999999999999999\n");
  EXPECT_EQ(memory("0::/\n"), std::nullopt);
  write("memory.max", "10\n");
  write("memory.current", "");
  EXPECT_EQ(memory("0::/\n"), std::nullopt);
  write("memory.current", "4\n");
  write("memory.stat", "active_file 100\n");
  EXPECT_EQ(memory("0::/\n"), 10U);
  EXPECT_GT(runtime::available_memory(), 0U);
}

TEST_F(CgroupTest, NonsenseIsNoQuota) {
  write("cpu.max", "");
  for (const char* text : {"", "\n\n", "x", "1:2", ":::", "0::relative", "0::/../..\n"})
    EXPECT_EQ(cpus(text), 0U) << text;
  write("cpu.max", "0 0");
  EXPECT_EQ(cpus("0::/\n"), 0U);
  write("cpu.max", "99999999999999999999 1");
  EXPECT_EQ(cpus("0::/\n"), 1000000U);
}

}  // namespace
}  // namespace masu
