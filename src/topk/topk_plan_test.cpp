// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone, made for devices that are not there; and their
// kernels, which compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "topk/topk_plan.h"
#include "each_architecture.h"
#include "plan_devices.h"
#include "quantile/quantile_plan.h"

#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace masu {
namespace {

TEST(TopkPlan, EntriesFitLocalMemory) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      for (const NanPolicy nan : {NanPolicy::last, NanPolicy::skip}) {
        auto plan = topk_plan::make(device, dtype, Ranking(dtype, true, nan));
        EXPECT_EQ(plan.pairs(), size_of(dtype) == 8);
        EXPECT_TRUE(std::has_single_bit(plan.places));
        EXPECT_LE(plan.places * (plan.pairs() ? 12 : 8), device.local_bytes);
        EXPECT_LE(plan.words_local(topk_plan::Part::select).bytes, device.local_bytes);
        for (const auto part : {topk_plan::Part::select, topk_plan::Part::finish, topk_plan::Part::rows}) {
          test::expect_group(plan.work_items(part), device, 16);
          test::expect_defines([&] { return plan.defines(part); });
        }
        for (const std::uint64_t count : test::plan_counts) {
          ASSERT_GE(plan.tiles(count) * plan.tile_elements(), count);
          ASSERT_GE(plan.filter_groups(count), 1U);
          for (const std::uint64_t rows : {1, 1000}) {
            const auto fit = topk_plan::make(device, dtype, Ranking(dtype, true, nan), rows, count, 2000);
            test::expect_group(fit.row.group, device, 16);
            ASSERT_LE(fit.row.group, fit.order_group);
            const std::uint64_t places = std::min(plan.places, fit.places_of(2000));
            ASSERT_LE(fit.row.held().bytes + fit.row.words().bytes + places * (plan.pairs() ? 12 : 8),
                      device.local_bytes);
            ASSERT_GE(fit.row.share * fit.row.cluster * 16, count * size_of(dtype));
            if (fit.sampled.stride == 0) continue;
            test::expect_group(fit.sampled.group, device, 16);
            ASSERT_LE(fit.sampled.room * (plan.pairs() ? 12 : 8) + fit.sampled.places * 2 + topk_plan::buckets * 4 +
                          fit.words_local(topk_plan::Part::sampled).bytes,
                      device.local_bytes);
            // The sample's part of a work-group lies there, and more than k elements are expected to pass.
            ASSERT_LE(count * size_of(dtype) / 16 / fit.sampled.stride, (fit.sampled.room / 2) * fit.sampled.cluster);
            ASSERT_GT(fit.sampled.rest * fit.sampled.stride, 2000U);
            ASSERT_GE(fit.sampled.places, 2000U);
          }
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
      if (topk_plan::samples * chance <= 32 && found.rest > 1) {
        EXPECT_GT(at_least(found.rest - 1, chance), 0.99e-9);
      }
    }
  }
}

}  // namespace

// The kernels of this room and of the room quantile compile as CUDA C++, without a GPU and without a warning.

namespace {

using topk_plan::Part;
using topk_plan::Plan;

class TopkNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(TopkNvrtc);

TEST_P(TopkNvrtc, EveryKernelOfEveryKindOfElement) {
  for (const Dtype dtype : {Dtype::u8, Dtype::i64, Dtype::f16, Dtype::f32}) {
    if (GetParam() != 90 && dtype != Dtype::f32) continue;  // the others differ by nothing an architecture knows
    for (const bool largest : {true, false}) {
      const NanPolicy nan = largest == (dtype == Dtype::f16) ? NanPolicy::skip : NanPolicy::last;
      const Plan plan = topk_plan::make(test::nvrtc_gpu(), dtype, Ranking(dtype, largest, nan));
      expect_compiles(
          plan.files(Part::select), plan.defines(Part::select),
          {"topk_sample", "topk_threshold", "topk_ranks", "topk_exact", "topk_filter", "topk_scan", "topk_gather"});
      expect_compiles(plan.files(Part::finish), plan.defines(Part::finish), {"topk_finish"});
      for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{1} << 17, std::uint64_t{1} << 24}) {
        const Plan rows =
            topk_plan::make(test::nvrtc_gpu(GetParam()), dtype, Ranking(dtype, largest, nan), 2, count, 50);
        expect_compiles(rows.files(Part::rows), rows.defines(Part::rows), {"topk_rows"});
        if (rows.sampled.stride == 0) continue;
        expect_compiles(rows.files(Part::sampled), rows.defines(Part::sampled), {"topk_sampled"});
      }
      // By a work-group each: rows that fill the device.
      const Plan many = topk_plan::make(test::nvrtc_gpu(), dtype, Ranking(dtype, largest, nan), 1000, 1 << 17, 50);
      ASSERT_EQ(many.sampled.stride == 0, dtype == Dtype::u8);  // whose values tie
      if (many.sampled.stride != 0)
        expect_compiles(many.files(Part::sampled), many.defines(Part::sampled), {"topk_sampled"});
      expect_compiles(plan.files(Part::short_rows), plan.defines(Part::short_rows), {"topk_short"});
    }
    for (const unsigned index_bytes : {0U, 4U, 8U}) {
      const quantile_plan::Partition parting = quantile_plan::partition(test::nvrtc_gpu(), dtype, index_bytes);
      expect_compiles(quantile_plan::Partition::files, parting.defines(), {"partition_count", "partition_scatter"});
    }
    const selection_plan::Plan selection = selection_plan::make(test::nvrtc_gpu(), dtype);
    const auto compiles = [&](selection_plan::Part of, const std::vector<std::string>& kernels) {
      expect_compiles(selection.files(of), selection.defines(of), kernels);
    };
    for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{1} << 17, std::uint64_t{1} << 24}) {
      const selection_plan::Plan rows = selection_plan::make(test::nvrtc_gpu(GetParam()), dtype, 2, count);
      using selection_plan::Part;
      expect_compiles(rows.files(Part::alone), rows.defines(Part::alone), {"selection_rows"});
    }
    compiles(selection_plan::Part::bounds, {"selection_bounds"});
    compiles(selection_plan::Part::passes,
             {"selection_sample", "selection_filter", "selection_digits", "selection_zeros", "selection_finish"});
    compiles(selection_plan::Part::points, {"selection_points"});
    for (const unsigned prefixes : {1U, 2U, 4U}) {
      constexpr auto part = selection_plan::Part::counts;
      expect_compiles(selection.files(part), selection.defines(part, prefixes), {"selection_counts"});
    }
    for (const unsigned ranges : {1U, 3U, unsigned{selection_plan::most_ranges}}) {
      if (size_of(dtype) < 4) continue;
      constexpr auto part = selection_plan::Part::ranges;
      const unsigned listed = ranges == 3 ? 7U : ranges - 1;  // all, some, none
      expect_compiles(selection.files(part), selection.defines(part, ranges, listed), {"selection_ranges"});
    }
    if (is_float(dtype)) compiles(selection_plan::Part::numbers, {"selection_points"});
    const selection_plan::Plan few = selection_plan::make(test::nvrtc_gpu(GetParam()), dtype, 5, 11);
    EXPECT_EQ(few.few, 16U);
    for (const auto part : {selection_plan::Part::points, selection_plan::Part::numbers}) {
      if (part == selection_plan::Part::numbers && dtype != Dtype::f32) continue;
      expect_compiles(few.files(part), few.defines(part), {"selection_points"});
    }
  }
}

TEST(TopkPlan, SamplesSoThatFewPass) {
  const Plan plan = topk_plan::make(test::nvrtc_gpu(), Dtype::f32, Ranking(Dtype::f32, true, NanPolicy::last));
  const std::uint64_t n = std::uint64_t{1} << 28;
  for (const std::uint64_t k : {1, 100, 1024, 1000000}) {
    const topk_plan::Sampling sampling = topk_plan::sampling(plan, n, k);
    EXPECT_TRUE(sampling.sampled);
    EXPECT_LT(sampling.rest, topk_plan::samples);
    EXPECT_GE(sampling.capacity, k);
    EXPECT_LT(sampling.capacity, 2 * k + 100000);
  }
  EXPECT_FALSE(topk_plan::sampling(plan, n, n - 1).sampled);
  EXPECT_EQ(topk_plan::sampling(plan, n, n - 1).capacity, n);
  EXPECT_FALSE(topk_plan::sampling(plan, 100, 1).sampled);
}

}  // namespace

}  // namespace masu
