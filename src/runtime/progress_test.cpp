// SPDX-License-Identifier: Apache-2.0
#include "runtime/progress.h"

#include <gtest/gtest.h>
#include <masu/device.h>
#include <masu/interrupt.h>
#include <masu/sort.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace masu::runtime {
namespace {

template <class T>
std::vector<T> random_keys(std::size_t count) {
  std::mt19937_64 random(3);
  std::vector<T> keys(count);
  for (T& key : keys) key = static_cast<T>(random() >> 12);
  return keys;
}

TEST(Progress, OfSorts) {
  for (const unsigned threads : {1U, 3U}) {
    set_cpu_threads(threads);
    for (const std::size_t count : {std::size_t{200'000}, std::size_t{3'000'017}}) {
      auto keys = random_keys<double>(count);
      std::vector<std::uint64_t> told;
      const Progress* shown = nullptr;
      const InterruptScope scope([&] {
        told.push_back(shown->finished());
        return false;
      });
      const Progress progress;
      shown = &progress;
      sort(masu::Device::open("cpu"), keys);
      EXPECT_TRUE(std::ranges::is_sorted(keys));
      EXPECT_TRUE(std::ranges::is_sorted(told));
      EXPECT_EQ(progress.finished(), count);
      auto rows = random_keys<std::int32_t>(count / 10 * 10);
      sort(masu::Device::open("cpu"), rows, {.rows = count / 10});
      EXPECT_EQ(progress.finished(), count + rows.size());
    }
  }
  set_cpu_threads(0);
}

// Calls of other threads, and of other scopes, are not counted.
TEST(Progress, OfItsScopeAlone) {
  const Progress outside;
  const InterruptScope scope([] { return false; });
  const Progress progress;
  std::thread other([] {
    auto keys = random_keys<std::int64_t>(200'000);
    sort(masu::Device::open("cpu"), keys);
  });
  other.join();
  EXPECT_EQ(progress.finished(), 0U);
  {
    const InterruptScope inner([] { return false; });
    const Progress within;
    add_finished(7);
    EXPECT_EQ(within.finished(), 7U);
  }
  add_finished(5);
  EXPECT_EQ(progress.finished(), 5U);
  EXPECT_EQ(outside.finished(), 0U);
}

}  // namespace
}  // namespace masu::runtime
