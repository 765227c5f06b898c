// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone, made for devices that are not there; and their
// kernels, which compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "transpose/transpose_plan.h"
#include "each_architecture.h"
#include "plan_devices.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>

namespace masu {
namespace {

TEST(TransposePlan, TilesCoverTheMatrix) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const std::size_t bytes : {1, 2, 3, 4, 8, 12, 16, 40, 64}) {
      for (const std::uint64_t rows : {1, 5, 33, 1000, 100003}) {
        for (const std::uint64_t columns : {1, 7, 64, 1000, 100003}) {
          for (const bool in_place : {false, true}) {
            if (in_place && rows != columns) continue;
            const transpose_plan::Matrix matrix{rows, columns, bytes, 0, 0, in_place};
            const auto plan = transpose_plan::make(device, matrix);
            test::expect_group(plan.group, device);
            ASSERT_LE(plan.local_bytes(), device.local_bytes);
            const std::uint64_t across = (columns + plan.tile_columns - 1) / plan.tile_columns;
            const std::uint64_t down = (rows + plan.tile_rows - 1) / plan.tile_rows;
            ASSERT_EQ(plan.groups, std::min(across * down, transpose_plan::most_groups));
            ASSERT_TRUE(plan.strategy != transpose_plan::Strategy::tiles || plan.tile_rows == plan.tile_columns);
            test::expect_defines([&] { return plan.defines(); });
          }
        }
      }
    }
  }
}

class TransposeNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(TransposeNvrtc);

TEST_P(TransposeNvrtc, EverySizeOfElement) {
  for (const bool in_place : {false, true}) {
    for (const std::size_t bytes : {1, 2, 3, 4, 8, 16, 48}) {
      if (GetParam() != 90 && bytes != 1) continue;  // the others differ by nothing an architecture knows
      for (const std::uint64_t columns : {4096U, 4097U}) {
        const auto plan = transpose_plan::make(test::nvrtc_gpu(), {columns, columns, bytes, 0, 0, in_place});
        expect_compiles(transpose_plan::files, plan.defines(), {plan.kernel()});
      }
    }
  }
}

}  // namespace

}  // namespace masu
