// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone, made for devices that are not there; and their
// kernels, which compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "unique/unique_plan.h"
#include "each_architecture.h"
#include "plan_devices.h"

#include <gtest/gtest.h>
#include <cstdint>

namespace masu {
namespace {

TEST(UniquePlan, SpansTakeAllTiles) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      for (const std::uint64_t count : test::plan_counts) {
        const auto plan = unique_plan::make(device, dtype, count);
        test::expect_group(plan.group, device, 16);
        // Wherever in a vector the data begins.
        ASSERT_GE(plan.tiles * plan.tile_bits(), count + plan.lead);
        ASSERT_EQ((plan.lead + 1) * size_of(dtype), 16U);
        ASSERT_GE(plan.spans * plan.a_span, plan.tiles);
        ASSERT_LT((plan.spans - 1) * plan.a_span, plan.tiles);
        ASSERT_GE(plan.workspace(), plan.mask_bytes() + plan.span_bytes());
        ASSERT_EQ(plan.workspace() % 16, 0U);
        // A step of the kernels is whole words, and a tile whole steps.
        const std::uint64_t step = std::uint64_t{plan.group} * plan.unroll * 16 / size_of(dtype);
        ASSERT_TRUE(step % 32 == 0 && plan.tile_bits() % step == 0);
      }
      test::expect_defines([&] { return unique_plan::make(device, dtype, 1000).defines(dtype, 8); });
    }
  }
  EXPECT_EQ(unique_plan::index_bytes(std::uint64_t{1} << 32), 4U);
  EXPECT_EQ(unique_plan::index_bytes((std::uint64_t{1} << 32) + 1), 8U);
}

class UniqueNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(UniqueNvrtc);

TEST_P(UniqueNvrtc, EveryType) {
  for (const Dtype dtype : {Dtype::u8, Dtype::u16, Dtype::f16, Dtype::u32, Dtype::f32, Dtype::u64, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    for (const unsigned log : {12, 28}) {
      const auto plan = unique_plan::make(test::nvrtc_gpu(), dtype, std::uint64_t{1} << log);
      expect_compiles(unique_plan::files, plan.defines(dtype, 4), {"unique_flags", "unique_emit", "unique_iota"});
    }
  }
  for (const Dtype dtype : {Dtype::u8, Dtype::i8, Dtype::u16, Dtype::i16, Dtype::f16}) {
    expect_compiles(unique_patterns::files, unique_patterns::defines(dtype, size_of(dtype) == 1 ? 256 : 1024),
                    {"unique_patterns"});
  }
}

}  // namespace

}  // namespace masu
