// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "sum/sum_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
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
            const auto teams = plan.teams(rows, count);
            ASSERT_GE(plan.rows_of_group(teams), 1U);
            ASSERT_LE(plan.rows_of_group(teams), plan.group);
            ASSERT_LE(teams.rounds, 1U << teams.bits);
            ASSERT_GE(plan.team_groups(teams, rows), 1U);
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

// What an H200 says of itself.
DeviceInfo h200() {
  DeviceInfo device = test::plan_devices()[0];
  for (const DeviceInfo& one : test::plan_devices()) {
    if (one.architecture == "sm_90") device = one;
  }
  device.compute_units = 132;
  return device;
}

// Sums of one long row: work-groups as measured, and clusters of short ones alone.
TEST(SumPlan, LongRowsStream) {
  const auto plan = [](unsigned bits, Dtype dtype, bool tries = true) {
    return sum_plan::make(h200(), dtype, sum_plan::Inputs::values, tries, false, std::uint64_t{1} << bits);
  };
  EXPECT_TRUE(plan(18, Dtype::f32).waits(1, 1U << 18));
  for (const unsigned bits : {20U, 22U, 24U, 28U}) {
    const auto streaming = plan(bits, Dtype::f32);
    EXPECT_EQ(streaming.cluster, 1U);
    EXPECT_EQ(streaming.group * streaming.groups_a_unit * streaming.unroll, bits == 20 ? 4096U : 8192U);
    EXPECT_EQ(streaming.rest(), 8U);
    EXPECT_GE(streaming.shares(1, std::uint64_t{1} << bits), bits == 20 ? 128U : 256U);
    EXPECT_EQ(plan(bits, Dtype::f32, false).unroll, 8U);  // exact totals
    EXPECT_EQ(plan(bits, Dtype::i64).unroll, 4U);
  }
  EXPECT_GT(plan(20, Dtype::f64).cluster, 1U);
  EXPECT_EQ(plan(20, Dtype::f64).unroll, 4U);
  EXPECT_EQ(plan(24, Dtype::f64).unroll, 16U);
  const auto products = [](unsigned bits, bool tries = true) {
    return sum_plan::make(h200(), Dtype::f32, sum_plan::Inputs::products, tries, false, std::uint64_t{1} << bits);
  };
  EXPECT_EQ(products(24).groups_a_unit, 1U);
  EXPECT_EQ(products(28).groups_a_unit, 2U);
  EXPECT_EQ(products(28, false).groups_a_unit, 1U);  // exact totals
}

// The teams that were the fastest of those measured, for f32 on a GPU with 132 units.
TEST(SumPlan, TeamsOfRows) {
  const DeviceInfo device = h200();
  const auto plan = sum_plan::make(device, Dtype::f32, sum_plan::Inputs::values, true, false, ~std::uint64_t{0},
                                   sum_plan::Layout::rows);
  const auto lanes = [&](unsigned elements, std::uint64_t count) {
    return 1U << plan.teams((std::uint64_t{1} << elements) / count, count).bits;
  };
  EXPECT_EQ(lanes(28, 64), 4U);
  EXPECT_EQ(lanes(28, 256), 8U);
  EXPECT_EQ(lanes(28, 1024), 8U);
  EXPECT_EQ(lanes(28, 4096), 32U);
  EXPECT_EQ(lanes(28, 16384), 32U);
  EXPECT_EQ(lanes(28, 65536), 128U);
  EXPECT_EQ(lanes(24, 1024), 8U);
  EXPECT_EQ(lanes(24, 4096), 32U);
  EXPECT_EQ(lanes(24, 65536), 512U);
}

// Columns: every one is somebody's, and work-groups share them on CUDA alone.
TEST(SumPlan, ColumnsAreTaken) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      const auto plan = sum_plan::make(device, dtype, sum_plan::Inputs::values, true, false, ~std::uint64_t{0},
                                       sum_plan::Layout::columns);
      EXPECT_LE(plan.finish_bytes(), std::max<std::size_t>(device.local_bytes, 16384));
      for (const std::uint64_t columns : {2, 31, 33, 5000, 100000000}) {
        for (const std::uint64_t matrices : {1, 3}) {
          for (const std::uint64_t count : test::plan_counts) {
            const std::uint64_t rows = matrices * columns;
            const std::uint64_t teams = plan.group >> plan.column_bits(rows, columns, count);
            const std::uint64_t shares = plan.column_shares(rows, columns, count);
            ASSERT_GE(teams, 1U);
            ASSERT_GE(plan.strips(rows, columns, count), 1U);
            ASSERT_GE(shares, 1U);
            const std::uint64_t most =
                plan.most_groups * (shares == 1 && device.gpu ? sum_plan::tuned.column_rounds : 1);
            ASSERT_LE(plan.strips(rows, columns, count) * shares, most);
            if (shares == 1) continue;
            ASSERT_EQ(device.kind, DeviceKind::cuda);
            ASSERT_GE(plan.strips(rows, columns, count) * teams, rows);
          }
        }
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
                EXPECT_LE(plan.rows_of_group(plan.teams(rows, count)), plan.group);
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
