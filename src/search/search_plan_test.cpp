// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone, made for devices that are not there; and their
// kernels, which compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "search/search_plan.h"
#include "each_architecture.h"
#include "plan_devices.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>

namespace masu {
namespace {

TEST(SearchPlan, TheTreeFitsAndReachesAll) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      for (const std::uint64_t sorted : test::plan_counts) {
        for (const std::uint64_t values : test::plan_counts) {
          const auto plan = search_plan::make(device, dtype, sorted, values);
          test::expect_group(plan.group, device);
          ASSERT_GE(plan.groups, 1U);
          ASSERT_LE(plan.local_bytes(), std::max<std::uint64_t>(search_plan::tuned.tree_bytes, 64));
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

class SearchNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(SearchNvrtc);

TEST_P(SearchNvrtc, EveryType) {
  for (const Dtype dtype : {Dtype::i8, Dtype::u16, Dtype::f16, Dtype::u32, Dtype::f32, Dtype::i64, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    const auto plan = search_plan::make(test::nvrtc_gpu(), dtype, std::uint64_t{1} << 28, 1 << 20);
    for (const Side side : {Side::left, Side::right}) {
      const SearchOptions options{.side = side, .order = side == Side::left ? Order::descending : Order::ascending};
      expect_compiles(search_plan::files, plan.defines(dtype, side == Side::left ? Dtype::u32 : Dtype::u64, options),
                      {"search_sorted"});
    }
  }
}

}  // namespace

}  // namespace masu
