// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "sort/device/sort_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace masu {
namespace {

TEST(SortPlan, TilesFitLocalMemory) {
  for (const DeviceInfo& device : test::plan_devices()) {
    if (device.max_work_group_size < 256) {
      EXPECT_THROW((void)sort_plan::make(device, Dtype::u32, 0, 1000, false), Error);
      continue;
    }
    for (const Dtype dtype : test::plan_dtypes) {
      for (const std::size_t value : {0, 1, 2, 4, 8, 16}) {
        EXPECT_TRUE(value == 0 || sort_plan::carried(value));
        for (const std::uint64_t count : test::plan_counts) {
          for (const bool pieces : {false, true}) {
            const auto plan = sort_plan::make(device, dtype, value, count, pieces);
            test::expect_group(plan.group, device);
            ASSERT_LE(plan.scatter_bytes(), device.local_bytes);
            ASSERT_LE(plan.count_bytes(), device.local_bytes);
            ASSERT_EQ(plan.passes(), size_of(dtype));
            ASSERT_EQ(plan.offset_bytes(), count > (std::uint64_t{1} << 32) - plan.tile() ? 8U : 4U);
          }
        }
        const std::uint64_t most = sort_plan::most_local_keys(device, dtype, value);
        for (const std::uint64_t longest : {std::uint64_t{2}, most / 2, most}) {
          const auto local = sort_plan::make_local(device, dtype, value, longest, true);
          ASSERT_GE(local.tile(), longest);
          ASSERT_LT(local.tile(), 65536U);
          test::expect_defines([&] { return local.defines(); });
        }
      }
    }
  }
  EXPECT_FALSE(sort_plan::carried(3));
  EXPECT_FALSE(sort_plan::carried(32));
}

}  // namespace
}  // namespace masu
