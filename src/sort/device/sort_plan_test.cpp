// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone: made for devices that are not there.
#include "sort/device/sort_plan.h"
#include "sort/device/sort_few.h"

#include "sort/device/sort_keys.h"

#include "plan_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace masu {
namespace {

TEST(SortPlan, TilesFitLocalMemory) {
  for (const DeviceInfo& device : test::plan_devices()) {
    if (device.max_work_group_size < 256) {
      EXPECT_THROW((void)sort_plan::make(device, Dtype::u32, 0, 1000, false), Error);
      continue;
    }
    for (const Dtype dtype : test::all_dtypes) {
      for (const std::size_t value : {0, 1, 2, 4, 8, 16}) {
        EXPECT_TRUE(value == 0 || sort_plan::carried(value));
        for (const std::uint64_t count : test::plan_counts) {
          for (const bool pieces : {false, true}) {
            const auto plan = sort_plan::make(device, dtype, value, count, pieces);
            test::expect_group(plan.group, device);
            ASSERT_LE(plan.scatter_bytes(), device.local_bytes);
            ASSERT_LE(plan.count_bytes(), device.local_bytes);
            ASSERT_EQ(plan.passes(), size_of(dtype));
            ASSERT_LT(plan.tile(), 65536U);
            test::expect_defines([&] { return plan.defines(); });
            ASSERT_EQ(plan.offset_bytes(), count > (std::uint64_t{1} << 32) - plan.tile() ? 8U : 4U);
          }
        }
      }
    }
  }
  EXPECT_FALSE(sort_plan::carried(3));
  EXPECT_FALSE(sort_plan::carried(32));
}

// What sort.h promises: one copy of the keys, and at most a quarter of it and 64 KiB, or 3 MiB, more.
TEST(SortPlan, MemoryOfFewKeys) {
  DeviceInfo device = test::plan_devices().front();
  device.local_bytes_total = 233472;
  for (const Dtype dtype : {Dtype::u32, Dtype::f32, Dtype::i64, Dtype::f64}) {
    for (std::uint64_t count = 1; count < std::uint64_t{1} << 23; count += count / 7 + 1) {
      if (!sort_few::serves(device, dtype, count)) continue;
      const std::uint64_t keys = count * size_of(dtype);
      EXPECT_LE(sort_few::workspace_bytes(device, dtype, count),
                keys + std::max(keys / 4 + (1U << 16), std::uint64_t{3} << 20))
          << to_string(dtype) << " " << count;
    }
  }
  EXPECT_TRUE(sort_few::serves(device, Dtype::u32, 100000));
}

// Up to 2^32 - 2^20 keys go from a histogram on, and uniform ones fill no bucket more than a work-group finishes, where
// one can.
TEST(SortPlan, ManyKeys) {
  DeviceInfo device = test::plan_devices().front();
  device.local_bytes_total = device.local_bytes + 1024;
  DeviceInfo little = device;
  little.kind = DeviceKind::opencl;
  little.local_bytes = std::uint64_t{48} << 10;
  constexpr std::uint64_t most = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 20);
  for (const Dtype dtype : {Dtype::u32, Dtype::f32, Dtype::i64, Dtype::f64}) {
    EXPECT_FALSE(sort_keys::serves(device, {dtype}, most + 1));
    for (const std::uint64_t count : {std::uint64_t{1} << 29, std::uint64_t{1} << 30, (std::uint64_t{1} << 31) - 1,
                                      std::uint64_t{1} << 31, (std::uint64_t{1} << 31) + 1, most}) {
      const std::uint64_t keys = count * size_of(dtype);
      EXPECT_TRUE(sort_keys::serves(device, {dtype}, count)) << to_string(dtype) << " " << count;
      EXPECT_LE(sort_keys::workspace_bytes(device, {dtype}, count), keys + keys / 4)
          << to_string(dtype) << " " << count;
      if (size_of(dtype) == 8) continue;
      EXPECT_EQ(sort_keys::serves(little, {dtype}, count), count <= std::uint64_t{1} << 30);
      for (const DeviceInfo& info : {device, little}) {
        const auto subject = sort_keys::Subject::of({dtype}, count);
        const sort_keys::Tuning tuning = sort_keys::tuning_of(info, subject, sort_keys::most_bucket_bits);
        EXPECT_LE(tuning.local_bytes(), info.local_bytes);
        std::vector<sort_keys::FinishShape> shapes = {tuning.finish};
        for (unsigned i = 0; i < tuning.larger_shapes(); ++i) shapes.push_back(tuning.larger[i]);
        for (const sort_keys::FinishShape& shape : shapes) {
          test::expect_group(shape.group, info);
          // Words of counters that a work-item scans, in vectors of four.
          const unsigned words = (1U << (shape.bin_bits - 1)) / shape.group;
          EXPECT_TRUE(words % 4 == 0 && words >= 4 && words <= 16) << words;
        }
        EXPECT_TRUE(std::ranges::is_sorted(shapes, {}, [](const auto& shape) { return shape.tile(); }));
        if (count <= (std::uint64_t{1} << (tuning.tally_ranges == 1 ? 31 : 30))) {
          EXPECT_GE(tuning.most, (count >> 16) + (count >> 20));
        }
      }
    }
  }
}

// Packed keys have bits for all indices.
TEST(SortPlan, BitsOfIndices) {
  for (const std::uint64_t count : {std::uint64_t{1} << 22, (std::uint64_t{1} << 30) + 1, std::uint64_t{1} << 31,
                                    (std::uint64_t{1} << 31) + 1, std::uint64_t{1} << 32}) {
    const Payload indices{Payload::Kind::indices, nullptr, 8};
    const auto subject = sort_keys::Subject::of({.dtype = Dtype::f32, .payload = indices}, count);
    EXPECT_GE(std::uint64_t{1} << subject.index_bits, count);
    EXPECT_LE(subject.key_bits(), 64U);
  }
}

}  // namespace
}  // namespace masu
