// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "topk/topk_plan.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace masu {
namespace {

TEST(TopkPlan, EntriesFitLocalMemory) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::plan_dtypes) {
      for (const NanPolicy nan : {NanPolicy::last, NanPolicy::skip}) {
        auto plan = topk_plan::make(device, dtype, Ranking(dtype, true, nan));
        EXPECT_EQ(plan.pairs(), size_of(dtype) == 8);
        EXPECT_TRUE(std::has_single_bit(plan.places));
        EXPECT_LE(plan.places * (plan.pairs() ? 12 : 8), device.local_bytes);
        EXPECT_LE(plan.threshold_local(), device.local_bytes);
        for (const auto part :
             {topk_plan::Part::select, topk_plan::Part::digits, topk_plan::Part::finish, topk_plan::Part::rows}) {
          test::expect_group(plan.work_items(part), device, 16);
          test::expect_defines([&] { return plan.defines(part); });
        }
        for (const std::uint64_t count : test::plan_counts) {
          ASSERT_GE(plan.tiles(count) * plan.tile_elements(), count);
          ASSERT_GE(plan.filter_groups(count), 1U);
          plan.fit_rows(count);
          test::expect_group(plan.row_group, device, 16);
          ASSERT_LE(plan.row_group, plan.order_group);
        }
      }
    }
  }
}

TEST(TopkPlan, SamplesLeaveRoomForTheFirst) {
  for (const DeviceInfo& device : test::plan_devices()) {
    const auto plan = topk_plan::make(device, Dtype::f32, Ranking(Dtype::f32, true, NanPolicy::last));
    for (const std::uint64_t count : test::plan_counts) {
      for (const std::uint64_t k : {std::uint64_t{1}, std::uint64_t{100}, count / 3 + 1, count}) {
        if (k > count) continue;
        const auto found = topk_plan::sampling(plan, count, k);
        ASSERT_GE(found.capacity, k);
        ASSERT_LE(found.capacity, count);
        if (found.sampled) {
          ASSERT_GE(found.rest, 1U);
          ASSERT_LT(found.rest, topk_plan::samples);
          ASSERT_LE(std::uint64_t{1} << found.shift, count);
        } else {
          ASSERT_EQ(found.capacity, count);
        }
      }
    }
  }
}

// How likely r or more of the sample's ranks, each with a chance, are among the first k.
double at_least(double r, double chance) {
  constexpr double all = topk_plan::samples;
  double sum = 0;
  for (double i = r; i <= all; ++i) {
    sum += std::exp(std::lgamma(all + 1) - std::lgamma(i + 1) - std::lgamma(all - i + 1) + i * std::log(chance) +
                    (all - i) * std::log1p(-chance));
  }
  return sum;
}

TEST(TopkPlan, TheThresholdIsRarelyTooHigh) {
  const auto plan =
      topk_plan::make(test::plan_devices().front(), Dtype::f32, Ranking(Dtype::f32, true, NanPolicy::last));
  for (const std::uint64_t count : {std::uint64_t{1} << 20, std::uint64_t{1} << 30}) {
    for (const std::uint64_t k : {1, 100, 1000, 100000}) {
      const auto found = topk_plan::sampling(plan, count, k);
      if (!found.sampled) continue;
      const double each = std::exp2(found.shift) / topk_plan::samples;
      const double chance = -std::expm1(each * std::log1p(-static_cast<double>(k) / static_cast<double>(count)));
      EXPECT_LT(at_least(found.rest, chance), topk_plan::samples * chance > 32 ? 4e-7 : 1.01e-9) << count << ' ' << k;
      if (topk_plan::samples * chance <= 32 && found.rest > 1) EXPECT_GT(at_least(found.rest - 1, chance), 0.99e-9);
    }
  }
}

}  // namespace
}  // namespace masu
