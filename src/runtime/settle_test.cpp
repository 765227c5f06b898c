// SPDX-License-Identifier: Apache-2.0
#include "counting_device.h"
#include "each_device.h"
#include "scoped_env.h"

#include <masu/masu.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace masu {
namespace {

class SettleTest : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(SettleTest);

// How often a sum that is only enqueued waits. The first one may, to compile.
unsigned waits(const Device& device) {
  const auto counting = std::make_shared<test::CountingDevice>(device.implementation());
  const Device counted(counting);
  const Buffer<float> data = counted.upload(std::vector<float>(1000, 1.0F));
  const Buffer<double> result(counted, 1);
  const Buffer<std::byte> workspace(counted, 1 << 20);
  Stream stream(counted, Timing::off);
  sum(stream, data, Dtype::f32, result, {.workspace = &workspace}).get();
  counting->counts().waits = 0;
  const auto enqueued = sum(stream, data, Dtype::f32, result, {.workspace = &workspace});
  return counting->counts().waits;
}

// The variable is read once, so each value needs a process.
TEST_P(SettleTest, WaitsAfterEachLaunchWhereAsked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  {
    const test::ScopedEnv sync("MASU_SYNC", "1");
    EXPECT_EXIT(std::_Exit(waits(device) == 0 ? 1 : 0), testing::ExitedWithCode(0), "");
  }
  const test::ScopedEnv sync("MASU_SYNC", "0");
  EXPECT_EXIT(std::_Exit(waits(device) == 0 ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace masu
