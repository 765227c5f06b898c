// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "histogram/device/histogram_plan.h"
#include "histogram/bins/bin_rule.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace masu {
namespace {

TEST(HistogramPlan, TablesFitLocalMemory) {
  for (const DeviceInfo& device : test::plan_devices()) {
    if (device.max_work_group_size < 16) continue;
    for (const Dtype dtype : {Dtype::u8, Dtype::i16, Dtype::f32, Dtype::f64}) {
      if (dtype == Dtype::f64 && !device.fp64) continue;
      for (const std::uint64_t bins : {1, 100, 5000, 1000000}) {
        const SlotRule rule(BinRule(Bins::even(bins, 0, 1000), dtype, false), device);
        const auto plan = histogram_plan::make(device, rule, 1, Strategy::automatic);
        test::expect_group(plan.group, device);
        EXPECT_LE(plan.local_words * 4, device.local_bytes);
        EXPECT_GE(plan.groups, 1U);
        // No counter of 32 bits overflows.
        EXPECT_GE(plan.most_elements(), 1U);
        for (const std::uint64_t count : test::plan_counts) {
          ASSERT_GE(plan.groups_for(count, size_of(dtype)), 1U);
          ASSERT_LE(plan.groups_for(count, size_of(dtype)), plan.groups);
        }
        EXPECT_FALSE(plan.kernel_name().empty());
        test::expect_defines([&] { return plan.defines(device, {&rule, 1}, false); });
      }
    }
  }
}

}  // namespace
}  // namespace masu
