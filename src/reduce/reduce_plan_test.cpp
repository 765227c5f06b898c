// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "reduce/reduce_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace masu {
namespace {

TEST(ReducePlan, EveryRowIsTaken) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::plan_dtypes) {
      for (const ReduceOp op : {ReduceOp::min, ReduceOp::minmax, ReduceOp::count_nonzero}) {
        for (const std::uint64_t rows : {1, 7, 100000}) {
          for (const std::uint64_t count : test::plan_counts) {
            const auto plan = reduce_plan::make(device, dtype, op, false, rows, count);
            test::expect_group(plan.group, device);
            const bool is_short = count * size_of(dtype) <= reduce_plan::short_row_bytes;
            ASSERT_EQ(plan.members == 0, is_short);
            ASSERT_EQ(plan.groups, is_short ? plan.groups : rows * plan.members);
            ASSERT_LE(plan.width, plan.group);
            ASSERT_GE(plan.target_groups(), 1U);
            // Pairs of place and bits for each extreme, or a count, of each row and of each work-group.
            const std::uint64_t words = op == ReduceOp::count_nonzero ? 1 : op == ReduceOp::minmax ? 4 : 2;
            ASSERT_GE(plan.result_bytes(), rows * words * 8);
            ASSERT_GE(plan.part_bytes(), rows * plan.members * words * 8);
            ASSERT_EQ(plan.workspace() % 16, 0U);
            ASSERT_TRUE(!is_short || count <= std::numeric_limits<std::uint32_t>::max());
          }
        }
        test::expect_defines([&] { return reduce_plan::make(device, dtype, op, true, 3, 1000).defines(); });
      }
    }
  }
}

}  // namespace
}  // namespace masu
