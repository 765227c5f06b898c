// SPDX-License-Identifier: Apache-2.0
#include "runtime/parallel.h"

#include <gtest/gtest.h>
#include <masu/device.h>
#include <masu/interrupt.h>
#include <masu/sort.h>

#include "expect_error.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace masu {
namespace {

constexpr std::chrono::milliseconds a_while{1};

class InterruptTest : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { set_cpu_threads(GetParam()); }
  ~InterruptTest() override { set_cpu_threads(0); }
};

INSTANTIATE_TEST_SUITE_P(Threads, InterruptTest, ::testing::Values(1U, 2U, 5U));

TEST_P(InterruptTest, EndsALoopThatIsAskedTo) {
  std::atomic<int> asked{0};
  std::atomic<int> runs{0};
  const auto caller = std::this_thread::get_id();
  const auto start = std::chrono::steady_clock::now();
  const InterruptScope scope([&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return ++asked == 2;
  });
  const auto loop = [&] {
    runtime::parallel_tasks(100000, [&](std::uint64_t) {
      ++runs;
      std::this_thread::sleep_for(a_while);
    });
  };
  MASU_EXPECT_ERROR(loop(), interrupted, "interrupted");
  EXPECT_EQ(asked, 2);
  EXPECT_LT(runs, 100000);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  // What comes next in this scope does not begin.
  const int before = runs;
  MASU_EXPECT_ERROR(loop(), interrupted, "interrupted");
  EXPECT_EQ(runs, before);
  EXPECT_EQ(asked, 2);
}

TEST_P(InterruptTest, EndsLoopsInsideOfTasks) {
  std::atomic<int> asked{0};
  const InterruptScope scope([&] {
    ++asked;
    return true;
  });
  std::atomic<int> whole{0};
  MASU_EXPECT_ERROR(runtime::parallel_tasks(8,
                                            [&](std::uint64_t) {
                                              runtime::parallel_tasks(
                                                  100000, [&](std::uint64_t) { std::this_thread::sleep_for(a_while); });
                                              ++whole;
                                            }),
                    interrupted, "interrupted");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(whole, 0);
}

TEST_P(InterruptTest, EndsALongTaskThatLooks) {
  const InterruptScope scope([] { return true; });
  MASU_EXPECT_ERROR(runtime::parallel_tasks(8,
                                            [&](std::uint64_t) {
                                              for (;;) {
                                                runtime::check_interrupted();
                                                std::this_thread::sleep_for(a_while);
                                              }
                                            }),
                    interrupted, "interrupted");
}

TEST_P(InterruptTest, ChangesNothingWhenItIsNotAsked) {
  std::vector<std::atomic<int>> runs(1000);
  const InterruptScope scope([] { return false; });
  runtime::parallel_tasks(runs.size(), [&](std::uint64_t task) {
    ++runs[task];
    std::this_thread::sleep_for(a_while / 4);
  });
  for (const auto& count : runs) ASSERT_EQ(count, 1);
}

TEST_P(InterruptTest, HoldsForItsScopeAndItsThread) {
  std::atomic<int> runs{0};
  const auto loop = [&] { runtime::parallel_tasks(200, [&](std::uint64_t) { ++runs; }); };
  {
    const InterruptScope outer([] { return false; });
    {
      const InterruptScope scope([] { return true; });
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      MASU_EXPECT_ERROR(loop(), interrupted, "interrupted");
      std::thread(loop).join();
      EXPECT_EQ(runs, 200);
    }
    loop();
    EXPECT_EQ(runs, 400);
  }
  EXPECT_EQ(runtime::Interruption::current(), nullptr);
  loop();
  EXPECT_EQ(runs, 600);
}

TEST_P(InterruptTest, ItsExceptionReachesTheCaller) {
  const InterruptScope scope([]() -> bool { throw std::runtime_error("asked"); });
  EXPECT_THROW(runtime::parallel_tasks(100000, [](std::uint64_t) { std::this_thread::sleep_for(a_while); }),
               std::runtime_error);
}

TEST(InterruptedCallTest, EndsASortAndTheNextOneIsWhole) {
  set_cpu_threads(2);
  std::vector<std::uint64_t> data(std::size_t{1} << 21);
  std::uint64_t state = 1;
  for (auto& value : data) value = state = state * 6364136223846793005U + 1442695040888963407U;
  {
    const InterruptScope scope([] { return true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    MASU_EXPECT_ERROR(sort(Device::open("cpu"), data), interrupted, "interrupted");
  }
  sort(Device::open("cpu"), data);
  EXPECT_TRUE(is_sorted(data));
  set_cpu_threads(0);
}

}  // namespace
}  // namespace masu
