// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "sum/sum_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>

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

// What the kernels that make results are given, on GPUs with double precision and little local memory: NVIDIA's through
// OpenCL, and those of compute capability 7.5.
TEST(SumPlan, LocalMemoryIsEnoughForResults) {
  for (const std::uint64_t local : {32768, 49152, 65536}) {
    for (const std::uint32_t items : {256, 1024}) {
      DeviceInfo device = test::plan_devices()[1];
      device.fp64 = true;
      device.local_bytes = local;
      device.max_work_group_size = items;
      for (const Dtype dtype : test::all_dtypes) {
        for (const auto inputs : {sum_plan::Inputs::squares, sum_plan::Inputs::values, sum_plan::Inputs::products,
                                  sum_plan::Inputs::both}) {
          for (const bool fine : {false, true}) {
            for (const std::uint64_t count : {1, 1000, 100000}) {
              const auto plan = sum_plan::make(device, dtype, inputs, true, fine, count);
              EXPECT_LE(plan.finish_bytes(), local) << to_string(dtype) << ", inputs " << static_cast<int>(inputs);
              for (const std::uint64_t rows : {1, 1000, 1000000000}) {
                EXPECT_LE(plan.teams(rows, count) * plan.team_rounds(rows, count), plan.group);
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace masu
