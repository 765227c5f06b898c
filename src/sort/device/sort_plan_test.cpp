// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "sort/device/sort_plan.h"

#include "sort/device/sort_few.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// What sort.h promises: one copy of the keys, and at most a quarter of it and 64 KiB, or 3 MiB, more.
TEST(SortPlan, MemoryOfFewKeys) {
  DeviceInfo device = test::plan_devices().front();
  device.local_bytes_total = 233472;
  for (const Dtype dtype : {Dtype::u32, Dtype::f32, Dtype::i64, Dtype::f64}) {
    for (std::uint64_t count = 1; count < std::uint64_t{1} << 23; count += count / 7 + 1) {
      if (!sort_few::serves(device, dtype, count)) continue;
      const std::uint64_t keys = count * size_of(dtype);
      EXPECT_LE(sort_few::workspace_bytes(device, dtype, count),
                keys + std::max(keys / 4 + (1U << 16), std::uint64_t{3} << 20))
          << to_string(dtype) << " " << count;
    }
  }
  EXPECT_TRUE(sort_few::serves(device, Dtype::u32, 100000));
}

}  // namespace
}  // namespace masu
