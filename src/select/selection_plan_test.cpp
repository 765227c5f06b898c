// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "select/selection_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace masu {
namespace {

TEST(SelectionPlan, TilesAndPasses) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      const auto plan = selection_plan::make(device, dtype);
      EXPECT_EQ(plan.group & (plan.group - 1), 0U);
      EXPECT_GE(plan.passes(), 1U);
      for (const std::uint64_t count : test::plan_counts) {
        ASSERT_GE(plan.tiles(count) * plan.tile_vectors() * (16 / size_of(dtype)), count);
        ASSERT_GE(plan.groups(count), 1U);
        const std::uint64_t middle = count / 2;
        const auto found = selection_plan::bounds(plan, count, middle, middle);
        if (found.samples == 0) continue;
        ASSERT_LE(found.lower, found.upper);
        ASSERT_LT(found.upper, found.samples);
        ASSERT_EQ(found.has, 3U);
        ASSERT_LT(found.capacity, count);
        // The room depends on the number of elements alone.
        ASSERT_EQ(selection_plan::bounds(plan, count, 0, 1).capacity, found.capacity);
      }
    }
  }
}

}  // namespace
}  // namespace masu
