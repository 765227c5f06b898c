// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "scan/scan_plan.h"
#include "each_architecture.h"
#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace masu {
namespace {

TEST(ScanPlan, GroupsTakeAllTiles) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      for (const ScanOp op : {ScanOp::sum, ScanOp::max}) {
        for (const std::uint64_t count : test::plan_counts) {
          const auto plan = scan_plan::make(device, dtype, dtype, count, op, false, false);
          EXPECT_EQ(plan.exact, op == ScanOp::sum && is_float(dtype));
          if (plan.once) {  // its groups go from tile to tile
            ASSERT_LE(plan.groups, plan.tiles());
          } else {
            ASSERT_GE(plan.groups * plan.chunk, count);
          }
          ASSERT_GE(plan.tiles() * plan.tile_elements(), count);
          ASSERT_LT(plan.state_at(), plan.workspace());
          ASSERT_EQ(plan.workspace() % 8, 0U);
        }
        test::expect_defines([&] { return scan_plan::make(device, dtype, dtype, 100003, op, true, true).defines(); });
      }
    }
  }
}

// Chunks of whole rows begin with a vector.
TEST(ScanPlan, Rows) {
  std::uint64_t whole_rows = 0;
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype dtype : test::all_dtypes) {
      for (const std::uint64_t row : {1, 2, 3, 16, 255, 511, 1024, 4099, 100003, 1 << 24}) {
        for (const std::uint64_t rows : {2, 4, 61, 1000, 131071}) {
          const std::uint64_t count = row * rows;
          const auto plan = scan_plan::make(device, dtype, dtype, count, ScanOp::sum, false, true, 0, 0, row);
          ASSERT_GE(plan.groups * plan.chunk, count);
          if (!plan.whole_rows) continue;
          ++whole_rows;
          ASSERT_EQ(plan.chunk % row, 0U);
          ASSERT_EQ(plan.chunk * size_of(dtype) % 16, 0U);
          ASSERT_LT((plan.groups - 1) * plan.chunk, count);
        }
      }
    }
  }
  EXPECT_GT(whole_rows, 0U);
}

TEST(ScanPlan, InOneLaunch) {
  const DeviceInfo& gpu = test::plan_devices().front();
  for (const Dtype dtype : {Dtype::u8, Dtype::i32, Dtype::u64}) {
    const auto plan = scan_plan::make(gpu, dtype, dtype, std::uint64_t{1} << 28, ScanOp::sum, false, false);
    if (!scan_plan::can_be_once(plan)) continue;
    const auto once = scan_plan::in_one_launch(gpu, plan, 264);
    EXPECT_TRUE(once.once);
    EXPECT_EQ(once.items(), once.group + once.sub_group);
    EXPECT_LE(once.items(), gpu.max_work_group_size);
    EXPECT_LE(once.groups, 264U);
  }
}

// Of narrow elements: as sums of 64 bits are, but for what is read.
TEST(ScanPlan, Narrow) {
  for (const DeviceInfo& device : test::plan_devices()) {
    const auto narrow = scan_plan::make(device, Dtype::i16, Dtype::i64, 100003, ScanOp::sum, false, false);
    const auto wide = scan_plan::make(device, Dtype::i64, Dtype::i64, 100003, ScanOp::sum, false, false);
    EXPECT_EQ(narrow.tile_elements(), wide.tile_elements());
    EXPECT_EQ(narrow.workspace(), wide.workspace());
    const auto from_bytes = [](const scan_plan::Plan& plan) {
      for (const runtime::Define& define : plan.defines()) {
        if (define.name() == "MASU_FROM_BYTES") return std::string(define.value());
      }
      return std::string();
    };
    EXPECT_NE(from_bytes(narrow), from_bytes(wide));
    test::expect_defines(
        [&] { return scan_plan::make(device, Dtype::i8, Dtype::u64, 100003, ScanOp::sum, true, true).defines(); });
  }
}

class ScanNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(ScanNvrtc);

TEST_P(ScanNvrtc, EveryKind) {
  struct Case {
    Dtype dtype;
    ScanOp op;
    bool segmented;
    std::optional<Dtype> from = {};
  };
  for (const Case& one :
       {Case{Dtype::i64, ScanOp::sum, false}, Case{Dtype::u32, ScanOp::sum, false}, Case{Dtype::u8, ScanOp::sum, false},
        Case{Dtype::f16, ScanOp::max, false}, Case{Dtype::u32, ScanOp::min, true}, Case{Dtype::f64, ScanOp::min, true},
        Case{Dtype::f16, ScanOp::sum, true}, Case{Dtype::bf16, ScanOp::sum, true}, Case{Dtype::f32, ScanOp::sum, false},
        Case{Dtype::f64, ScanOp::sum, false}, Case{Dtype::f64, ScanOp::sum, true},
        Case{Dtype::i64, ScanOp::sum, false, Dtype::i32}, Case{Dtype::u64, ScanOp::sum, false, Dtype::u16},
        Case{Dtype::u64, ScanOp::sum, true, Dtype::i8}, Case{Dtype::i64, ScanOp::sum, true, Dtype::u8}}) {
    if (GetParam() != 90 && one.dtype != Dtype::i64) continue;  // the others differ by nothing an architecture knows
    const auto plan = scan_plan::make(test::nvrtc_gpu(), one.from.value_or(one.dtype), one.dtype,
                                      std::uint64_t{1} << 28, one.op, one.segmented, one.segmented);
    if (plan.exact) {
      expect_compiles(plan.files(), plan.defines(), {"exact_chunks", "exact_totals", "exact_tiles"});
    } else if (plan.once) {
      expect_compiles(plan.files(), plan.defines(), {"scan_once"});
    } else {
      expect_compiles(plan.files(), plan.defines(), {"scan_chunks", "scan_tiles"});
    }
  }
}

}  // namespace
}  // namespace masu
