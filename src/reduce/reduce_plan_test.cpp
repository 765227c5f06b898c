// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "reduce/reduce_plan.h"
#include "each_architecture.h"
#include "plan_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace masu {
namespace {

TEST(ReducePlan, EveryRowIsTaken) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      for (const ReduceOp op : {ReduceOp::min, ReduceOp::minmax, ReduceOp::count_nonzero}) {
        for (const std::uint64_t rows : {1, 7, 100000}) {
          for (const std::uint64_t count : test::plan_counts) {
            const auto plan = reduce_plan::make(device, dtype, op, false, rows, count);
            test::expect_group(plan.group, device);
            const bool is_short = count * size_of(dtype) <= reduce_plan::tuned.short_row_bytes;
            ASSERT_EQ(plan.members == 0, is_short);
            ASSERT_EQ(plan.groups, is_short ? plan.groups : rows * plan.members);
            ASSERT_LE(plan.width, plan.group);
            // For each row a place and an element of each extreme, or a count; for each work-group of those that share
            // a row the same words, but of a place the turn alone; and a word for each row that is shared.
            const bool counts = op == ReduceOp::count_nonzero;
            const std::uint64_t results = counts ? 8 : plan.extremes() * (8 + size_of(dtype));
            const std::uint64_t part = counts ? 8 : plan.extremes() * (4 + std::max<std::uint64_t>(size_of(dtype), 4));
            const bool shared = plan.members > 1;
            ASSERT_GE(plan.workspace(), rows * (results + (shared ? 4 + plan.members * part : 0)));
            ASSERT_EQ(plan.left_bytes() != 0, shared);
            ASSERT_EQ(plan.part_bytes() != 0, shared);
            ASSERT_EQ(plan.workspace() % 16, 0U);
            ASSERT_TRUE(!is_short || count <= std::numeric_limits<std::uint32_t>::max());
          }
        }
        test::expect_defines([&] { return reduce_plan::make(device, dtype, op, true, 3, 1000).defines(); });
      }
    }
  }
}

class ReduceNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(ReduceNvrtc);

TEST_P(ReduceNvrtc, EveryType) {
  for (const Dtype dtype : {Dtype::i8, Dtype::f16, Dtype::f32, Dtype::i64, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::minmax}) {
      const bool skip = op == ReduceOp::max;
      const auto plan = reduce_plan::make(test::nvrtc_gpu(), dtype, op, skip, 1, std::uint64_t{1} << 28);
      expect_compiles(plan.files(), plan.defines(), {"extreme_tiles", "extreme_rows", "clear_arrived"});
    }
    const auto plan = reduce_plan::make(test::nvrtc_gpu(), dtype, ReduceOp::count_nonzero, false, 1, 1 << 20);
    expect_compiles(plan.files(), plan.defines(), {"count_tiles", "count_rows", "clear_arrived"});
  }
}

}  // namespace
}  // namespace masu
