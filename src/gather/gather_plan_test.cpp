// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone, made for devices that are not there; and their
// kernels, which compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "gather/gather_plan.h"
#include "each_architecture.h"
#include "plan_devices.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>

namespace masu {
namespace {

TEST(GatherPlan, UnitsDivideRecordsAndOffsets) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (std::size_t bytes = 1; bytes <= 64; ++bytes) {
      for (const std::uint64_t offset : {0, 1, 2, 4, 8, 24, 48}) {
        const auto plan = gather_plan::make(device, bytes, offset);
        test::expect_group(plan.group, device);
        ASSERT_EQ(std::uint64_t{plan.unit} * plan.units, bytes);
        ASSERT_EQ(offset % plan.unit, 0U);
        ASSERT_LE(plan.unit, 16U);
      }
      const auto plan = gather_plan::make(device, bytes, 0);
      EXPECT_EQ(plan.groups(0), 1U);
      EXPECT_EQ(plan.groups(plan.group + 1), std::min<std::uint64_t>(2, plan.most_groups));
      EXPECT_EQ(plan.groups(std::uint64_t{1} << 40), plan.most_groups);
      test::expect_defines([&] { return plan.move_defines(Dtype::u64); });
      test::expect_defines([&] { return plan.compact_defines(); });
      test::expect_defines([&] { return plan.iota_defines(Dtype::f32); });
    }
  }
}

TEST(GatherPlan, Memory) {
  EXPECT_EQ(gather_plan::notes_bytes(),
            gather_plan::flag_bytes + gather_plan::tuned.note_groups * gather_plan::note_bytes);
  EXPECT_EQ(gather_plan::scatter_bytes(1000), gather_plan::notes_bytes() + 1000 * gather_plan::owner_bytes);
  // A sum of all, and an offset and a count for each tile.
  EXPECT_EQ(gather_plan::compact_bytes(0, 256), 8U);
  EXPECT_EQ(gather_plan::compact_bytes(256, 256), 8U + 12);
  EXPECT_EQ(gather_plan::compact_bytes(257, 256), 8U + 24);
}

class GatherNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(GatherNvrtc);

TEST_P(GatherNvrtc, EveryKernel) {
  for (const std::size_t bytes : {3, 4, 16}) {
    if (GetParam() != 90 && bytes != 4) continue;  // the others differ by nothing an architecture knows
    const auto plan = gather_plan::make(test::nvrtc_gpu(), bytes, 0);
    expect_compiles(
        gather_plan::move_files, plan.move_defines(bytes == 3 ? Dtype::u64 : Dtype::u32),
        {"check_indices", "gather_records", "claim_places", "scatter_records", "reverse_records", "first_note"});
    expect_compiles(gather_plan::compact_files, plan.compact_defines(),
                    {"compact_count", "compact_offsets", "compact_move"});
  }
  for (const Dtype dtype : {Dtype::u8, Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64}) {
    if (GetParam() != 90 && dtype != Dtype::f16) continue;
    expect_compiles(gather_plan::iota_files, gather_plan::make(test::nvrtc_gpu(), 1, 0).iota_defines(dtype),
                    {"write_iota"});
  }
}

}  // namespace

}  // namespace masu
