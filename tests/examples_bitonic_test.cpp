// SPDX-License-Identifier: Apache-2.0
// The schedule of the example bitonic_sort sorts every length.
#include "../examples/bitonic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace example {
namespace {

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

}  // namespace
}  // namespace example
