// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace masu::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MemoryCache, SizesShareABlockAndWasteLittle) {
  const MemoryCache cache(std::uint64_t{1} << 30);
  EXPECT_EQ(cache.rounded(1), 512);
  EXPECT_EQ(cache.rounded(512), 512);
  EXPECT_EQ(cache.rounded(513), 1024);
  EXPECT_EQ(cache.rounded(1000000), 1048576);
  EXPECT_EQ(cache.rounded(1 << 30), 1 << 30);
  EXPECT_EQ(cache.rounded((1 << 30) + 1), (1 << 30) + 1);  // would not be kept
  for (std::uint64_t bytes = 1; bytes < 1 << 30; bytes = bytes * 9 / 8 + 1) {
    EXPECT_GE(cache.rounded(bytes), bytes);
    EXPECT_LE(cache.rounded(bytes), bytes + bytes / 8 + 512);
    EXPECT_EQ(cache.rounded(cache.rounded(bytes)), cache.rounded(bytes)) << bytes;
  }
}

TEST(MemoryCache, GivesTheLastReleasedOfASize) {
  MemoryCache cache(4096);
  EXPECT_EQ(cache.take(512), 0);
  EXPECT_THAT(cache.give(100, 512), IsEmpty());
  EXPECT_THAT(cache.give(200, 1024), IsEmpty());
  EXPECT_THAT(cache.give(300, 512), IsEmpty());
  EXPECT_EQ(cache.bytes(), 2048);
  EXPECT_EQ(cache.take(512), 300);
  EXPECT_EQ(cache.take(512), 100);
  EXPECT_EQ(cache.take(512), 0);
  EXPECT_THAT(cache.drop(), ElementsAre(200));
  EXPECT_EQ(cache.bytes(), 0);
  EXPECT_EQ(cache.take(1024), 0);
}

TEST(MemoryCache, LetsGoOfTheOldestWhereThereIsTooMuch) {
  MemoryCache cache(2048);
  EXPECT_THAT(cache.give(100, 1024), IsEmpty());
  EXPECT_THAT(cache.give(200, 512), IsEmpty());
  EXPECT_THAT(cache.give(300, 1024), ElementsAre(100));
  EXPECT_THAT(cache.give(400, 4096), ElementsAre(400));
  EXPECT_THAT(cache.give(500, 2048), ElementsAre(200, 300));
  EXPECT_THAT(cache.drop(), ElementsAre(500));
  MemoryCache none(0);
  EXPECT_EQ(none.rounded(7), 7);
  EXPECT_THAT(none.give(100, 7), ElementsAre(100));
}

}  // namespace
}  // namespace masu::cuda
