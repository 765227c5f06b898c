// SPDX-License-Identifier: Apache-2.0
#include <masu/bitonic.h>

#include "sort/device/sort_device.h"
#include "sort/device/sort_kernels_test.h"
#include "sort/sort_job.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace masu {
namespace {

using sort_kernels::Arrays;

TEST(BitonicSchedule, LinesBeforeTheFinalMerge) {
  const auto before = [](std::uint64_t count) {
    const auto schedule = bitonic_schedule(count);
    return std::ranges::count(schedule, false, &BitonicPass::merge);
  };
  EXPECT_EQ(before(64), 15);
  EXPECT_EQ(before(16), 6);
  EXPECT_EQ(bitonic_schedule(64).size(), 21U);
  EXPECT_EQ(before(24), before(32));
  EXPECT_TRUE(bitonic_schedule(0).empty());
  EXPECT_TRUE(bitonic_schedule(1).empty());
  EXPECT_EQ(bitonic_schedule(2), (std::vector<BitonicPass>{{0, 0, 1, true}}));
  EXPECT_EQ(bitonic_schedule(3), (std::vector<BitonicPass>{{0, 0, 1, false}, {1, 0, 2, true}, {1, 1, 1, true}}));
  EXPECT_EQ(bitonic_schedule(std::uint64_t{1} << 63).size(), 63U * 64 / 2);
  EXPECT_EQ(bitonic_schedule(~std::uint64_t{0}).back(), (BitonicPass{63, 63, 1, true}));
}

// By the 0-1 principle: a network that sorts all zeros and ones sorts everything. Each pair is visited once, and every
// element is in at most one.
TEST(BitonicSchedule, SortsEveryLength) {
  for (std::uint64_t count = 0; count <= 13; ++count) {
    const auto schedule = bitonic_schedule(count);
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << count; ++bits) {
      std::vector<char> keys;
      for (std::uint64_t i = 0; i < count; ++i) keys.push_back(static_cast<char>(bits >> i & 1U));
      for (const BitonicPass& pass : schedule) {
        for (std::uint64_t i = 0; i < bitonic_pairs(pass, count); ++i) {
          const BitonicPair pair = bitonic_pair(pass, i);
          if (keys[pair.upper] < keys[pair.lower]) std::swap(keys[pair.lower], keys[pair.upper]);
        }
      }
      ASSERT_TRUE(std::is_sorted(keys.begin(), keys.end())) << count << ' ' << bits;
    }
  }
}

TEST(BitonicSchedule, PairsAreApart) {
  for (const std::uint64_t count : {2, 3, 24, 1000, 1024}) {
    for (const BitonicPass& pass : bitonic_schedule(count)) {
      std::vector<int> visits(count);
      for (std::uint64_t i = 0; i < bitonic_pairs(pass, count); ++i) {
        const BitonicPair pair = bitonic_pair(pass, i);
        ASSERT_LT(pair.lower, pair.upper);
        ASSERT_LT(pair.upper, count);
        ++visits[pair.lower], ++visits[pair.upper];
        ASSERT_EQ((pair.lower ^ pair.upper) / pass.distance % 2, 1U);
      }
      EXPECT_LE(*std::ranges::max_element(visits), 1);
      const BitonicPair next = bitonic_pair(pass, bitonic_pairs(pass, count));
      EXPECT_GE(next.upper, count);
    }
  }
}

TEST(BitonicCpu, EveryTypeOrderAndLength) {
  test::each_dtype([](auto tag) {
    using T = typename decltype(tag)::type;
    for (const std::size_t count : {0, 1, 2, 3, 24, 1000, 1024, 40000}) {
      for (const Order order : {Order::ascending, Order::descending}) {
        const test::Keys kind = count % 3 == 0 ? test::Keys::special : test::Keys::few;
        const std::vector<T> keys = test::make_keys<T>(count, kind, 1);
        std::vector<std::uint64_t> indices(count);
        bitonic::order_cpu(ArrayView(keys), order, indices);
        EXPECT_EQ(indices, test::stable_order(keys, 0, count, order)) << to_string(dtype_of<T>) << ' ' << count;
      }
    }
  });
}

class Bitonic : public test::KernelSorts {
 protected:
  template <class T, class Index = std::uint32_t>
  void expect_bitonic(std::size_t pieces, std::size_t length, test::Keys kind, Order order,
                      test::With with = test::With::nothing) {
    expect_sorted<T, Index>(
        test::make_keys<T>(pieces * length, kind, 3), test::equal_pieces(pieces, length), order, with,
        [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
          bitonic::sort(stream, arrays, pieces, length, nullptr, work);
        },
        std::string(to_string(dtype_of<T>)) + ' ' + std::to_string(pieces) + " x " + std::to_string(length));
  }
};
MASU_ON_EACH_KERNEL_DEVICE(Bitonic);

// Some devices take a second to compile a kernel, so each kind of key and payload stands once. Stages of the long
// ones have one, two, three and more passes between tiles.
TEST_P(Bitonic, LongPieces) {
  for (const std::size_t length : {2500, 100003}) {
    expect_bitonic<std::uint32_t>(1, length, test::Keys::random, Order::ascending);
  }
  for (const test::With with : {test::With::nothing, test::With::records, test::With::indices}) {
    expect_bitonic<float>(1, 9000, test::Keys::special, Order::descending, with);
    expect_bitonic<float>(3, 5000, test::Keys::few, Order::descending, with);
  }
  expect_bitonic<double, std::uint64_t>(1, 3000, test::Keys::special, Order::ascending, test::With::indices);
  expect_bitonic<std::int8_t>(2, 3000, test::Keys::random, Order::descending);
}

// What racecheck has the time for: passes between tiles, and within them.
TEST_P(Bitonic, Little) {
  expect_bitonic<std::uint32_t>(1, 17003, test::Keys::random, Order::ascending);
  expect_bitonic<float>(2, 5000, test::Keys::special, Order::descending, test::With::records);
}

}  // namespace
}  // namespace masu
