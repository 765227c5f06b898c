// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "convert/convert_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace masu {
namespace {

TEST(ConvertPlan, VectorsAreAlignedOnBothSides) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype from : test::plan_dtypes) {
      for (const Dtype to : test::plan_dtypes) {
        if (from == to) continue;
        const ConvertRule rule = make_rule(from, to, Overflow::error, Rounding::nearest_even);
        const std::uint64_t in = size_of(from);
        const std::uint64_t out = size_of(to);
        for (const std::uint64_t count : test::plan_counts) {
          for (const std::uint64_t skipped : {0, 1, 3}) {
            const auto plan = convert_plan::make(device, rule, count, skipped * in, 0);
            test::expect_group(plan.group, device);
            ASSERT_LE(plan.head + plan.vectors * plan.vector, count);
            ASSERT_LT(count - plan.head - plan.vectors * plan.vector, plan.vector);
            if (plan.vectors != 0) {
              ASSERT_EQ((skipped * in + plan.head * in) % (plan.vector * in), 0U);
              ASSERT_EQ(plan.head * out % (plan.vector * out), 0U);
            }
            ASSERT_GE(plan.groups, 1U);
            ASSERT_LE(plan.workspace(), convert_plan::most_workspace);
            ASSERT_EQ(plan.workspace() % 16, 0U);
          }
        }
        test::expect_defines([&] { return convert_plan::make(device, rule, 1000, 0, 0).defines(rule); });
      }
    }
  }
}

}  // namespace
}  // namespace masu
