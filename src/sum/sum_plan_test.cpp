// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "sum/sum_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace masu {
namespace {

TEST(SumPlan, NumbersHoldEverySum) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      for (const auto inputs : {sum_plan::Inputs::values, sum_plan::Inputs::products, sum_plan::Inputs::both}) {
        const auto plan = sum_plan::make(device, dtype, inputs);
        EXPECT_EQ(plan.group & (plan.group - 1), 0U);
        EXPECT_LE(plan.local_bytes(), device.local_bytes);
        EXPECT_GE(plan.words(), plan.value_words());
        EXPECT_EQ(plan.exponent(0), plan.lowest);
        EXPECT_GT(plan.exponent(plan.table_rows - 1), plan.lowest);
        EXPECT_EQ(plan.total_bytes(), plan.table_rows * std::uint64_t{inputs == sum_plan::Inputs::both ? 16U : 8U});
        for (const std::uint64_t rows : {1, 7, 100000}) {
          for (const std::uint64_t count : test::plan_counts) {
            ASSERT_GE(plan.shares(rows, count), 1U);
            ASSERT_GE(plan.groups(rows, count), 1U);
            ASSERT_GE(plan.teams(rows, count), 1U);
            ASSERT_LE(plan.teams(rows, count), plan.group);
            ASSERT_GE(plan.team_groups(rows, count), 1U);
            if (!plan.waits(rows, count)) continue;
            ASSERT_EQ(plan.shares(rows, count), plan.cluster);
            ASSERT_LE(rows * plan.cluster, plan.most_groups);
            ASSERT_EQ(device.architecture, "sm_90");
          }
        }
        test::expect_defines([&] { return plan.defines(false); });
        test::expect_defines([&] { return plan.defines(true); });
      }
    }
  }
}

TEST(SumPlan, LocalMemoryIsEnoughForResults) {
  std::vector<DeviceInfo> devices = test::plan_devices();
  devices.push_back(devices[1]);
  devices.back().fp64 = true;
  devices.back().max_work_group_size = 1024;
  for (const std::uint64_t local : {std::uint64_t{32768}, std::uint64_t{49152}, std::uint64_t{65536}}) {
    devices.back().local_bytes = local;
    for (const DeviceInfo& device : devices) {
      for (const Dtype dtype : test::all_dtypes) {
        for (const auto inputs : {sum_plan::Inputs::values, sum_plan::Inputs::products, sum_plan::Inputs::both}) {
          for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{1} << 20}) {
            for (const bool tries : {false, true}) {
              const auto plan = sum_plan::make(device, dtype, inputs, tries, tries, count);
              EXPECT_LE(plan.finishing_bytes(), device.local_bytes) << to_string(dtype) << static_cast<int>(inputs);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace masu
