// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "histogram/device/histogram_plan.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/device/partitioner.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

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

TEST(HistogramPlan, TemporaryMemoryHoldsWhatItIsFor) {
  for (const DeviceInfo& device : test::plan_devices()) {
    if (device.max_work_group_size < 16) continue;
    for (const std::uint64_t bins : {100000, 1000000, 10000000}) {
      const SlotRule rule(BinRule(Bins::integers(bins), Dtype::i32, false), device);
      const auto plan = [&]() -> std::optional<histogram_plan::Plan> {
        try {
          return histogram_plan::make(device, rule, 1, Strategy::partitioned);
        } catch (const Error&) {
          return std::nullopt;  // local memory is too small
        }
      }();
      if (!plan) continue;
      for (const std::uint64_t elements : {1, 255, 32768, 100003, 1 << 20, 77777777, 1 << 27}) {
        const std::uint64_t bytes = Partitioner::bytes_for(*plan, elements);
        const std::uint64_t found = Partitioner::elements_in(*plan, bytes);
        ASSERT_GE(found, elements);
        if (found > 1 << 15) ASSERT_LE(Partitioner::bytes_for(*plan, found), bytes);
        // Two bytes for each, some words for each block, and blocks that are not full.
        ASSERT_LE(bytes, elements * 11 + 540 * (plan->parts + 1) + 1024);
      }
    }
  }
}

}  // namespace
}  // namespace masu
