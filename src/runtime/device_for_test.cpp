// SPDX-License-Identifier: Apache-2.0
#include <masu/device.h>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "scoped_env.h"

#include <cstdint>
#include <string>

namespace masu {
namespace {

TEST(DeviceFor, SmallDataAndMovingStayHere) {
  const test::ScopedEnv unset("MASU_DEVICE", nullptr);
  for (const Work work : {Work::moving, Work::reading, Work::sorting}) EXPECT_EQ(device_for(work, 1000).id(), "cpu");
  EXPECT_EQ(device_for(Work::moving, std::uint64_t{1} << 50).id(), "cpu");
}

TEST(DeviceFor, LargeDataGoToAGpuAlone) {
  const test::ScopedEnv unset("MASU_DEVICE", nullptr);
  const Device best = Device::open("auto");
  for (const Work work : {Work::reading, Work::sorting}) {
    const unsigned before = cpu_threads();
    set_cpu_threads(1);
    EXPECT_EQ(device_for(work, std::uint64_t{1} << 50).id(), best.info().gpu ? best.id() : "cpu");
    set_cpu_threads(before);
  }
}

TEST(DeviceFor, MasuDeviceNamesAnother) {
  std::string last;
  for (const DeviceInfo& info : Device::list()) {
    if (info.why.empty()) last = info.id;
  }
  const test::ScopedEnv named("MASU_DEVICE", last.c_str());
  EXPECT_EQ(device_for(Work::moving).id(), last);
  EXPECT_EQ(device_for(Work::sorting, 1).id(), last);
  const test::ScopedEnv wrong("MASU_DEVICE", "nonsense");
  MASU_EXPECT_ERROR((void)device_for(Work::reading, 1), invalid_argument, "nonsense");
}

}  // namespace
}  // namespace masu
