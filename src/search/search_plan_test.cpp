// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "search/search_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace masu {
namespace {

TEST(SearchPlan, TheTreeFitsAndReachesAll) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::plan_dtypes) {
      for (const std::uint64_t sorted : test::plan_counts) {
        for (const std::uint64_t values : test::plan_counts) {
          const auto plan = search_plan::make(device, dtype, sorted, values);
          test::expect_group(plan.group, device);
          ASSERT_GE(plan.groups, 1U);
          ASSERT_LE(plan.local_bytes(), std::max<std::uint64_t>(search_plan::tree_bytes, 64));
          // The tree's nodes are the last elements of the full blocks.
          ASSERT_LE(sorted >> plan.tree.shift, (std::uint64_t{1} << plan.tree.levels) - 1);
        }
      }
      test::expect_defines([&] { return search_plan::make(device, dtype, 9, 9).defines(dtype, Dtype::u64, {}); });
    }
  }
}

TEST(SearchPlan, FewValuesMakeNoTree) {
  EXPECT_EQ(search_plan::tree_for(1 << 20, 1, 32).levels, 0U);
  EXPECT_EQ(search_plan::tree_for(1 << 20, std::uint64_t{1} << 30, 10).levels, 10U);
  EXPECT_EQ(search_plan::tree_for(3, std::uint64_t{1} << 30, 32).levels, 2U);
}

}  // namespace
}  // namespace masu
