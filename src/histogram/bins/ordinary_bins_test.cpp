// SPDX-License-Identifier: Apache-2.0
#include "histogram/bins/ordinary_bins.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace masu {
namespace {

std::uint64_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
std::uint64_t bits_of(double x) {
  return std::bit_cast<std::uint64_t>(x);
}

TEST(OrdinaryBins, AreEvenBinsOverTheRange) {
  const auto floats = ordinary_bins(Dtype::f32, 4, bits_of(-1.0F), bits_of(3.0F));
  ASSERT_TRUE(floats);
  EXPECT_EQ(bin_edges(*floats, Dtype::f32), (std::vector<double>{-1, 0, 1, 2, 3}));
  const auto integers = ordinary_bins(Dtype::i8, 2, static_cast<std::uint8_t>(-2), 4);
  ASSERT_TRUE(integers);
  EXPECT_EQ(bin_edges(*integers, Dtype::i8), (std::vector<double>{-2, 1, 4}));
}

TEST(OrdinaryBins, LieBetweenGivenEdges) {
  const auto edges_of = []<class T>(const std::vector<T>& edges) {
    const auto bins = bins_at(ArrayView(edges));
    return bins ? bin_edges(*bins, Dtype::f64) : std::vector<double>{};
  };
  EXPECT_EQ(edges_of(std::vector<float>{-1, 0.5F, 0.5F, 3}), (std::vector<double>{-1, 0.5, 0.5, 3}));
  EXPECT_EQ(edges_of(std::vector<std::int64_t>{-7, (std::int64_t{1} << 53) - 1}),
            (std::vector<double>{-7, 0x1p53 - 1}));
  EXPECT_EQ(edges_of(std::vector<std::uint8_t>{0, 200, 255}), (std::vector<double>{0, 200, 255}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(edges_of(std::vector<float>{0, 1, nan}).empty());
  EXPECT_TRUE(edges_of(std::vector<float>{nan, 0, 1}).empty());
  EXPECT_TRUE(edges_of(std::vector<double>{0, 2, 1}).empty());
  EXPECT_TRUE(edges_of(std::vector<double>{0}).empty());
  EXPECT_TRUE(edges_of(std::vector<std::int64_t>{0, std::int64_t{1} << 53}).empty());
  EXPECT_TRUE(edges_of(std::vector<std::uint64_t>{0, ~std::uint64_t{0}}).empty());
}

TEST(OrdinaryBins, AreNotThereWhereDigitsAreLostOrZerosHaveSigns) {
  EXPECT_TRUE(ordinary_bins(Dtype::f64, 10, bits_of(0.0), bits_of(1.0)));
  EXPECT_FALSE(ordinary_bins(Dtype::f64, 10, bits_of(-0.0), bits_of(1.0)));
  EXPECT_FALSE(ordinary_bins(Dtype::f64, 10, bits_of(-1.0), bits_of(-0.0)));
  EXPECT_FALSE(ordinary_bins(Dtype::f64, 10, bits_of(1.0), bits_of(1.0)));
  EXPECT_FALSE(ordinary_bins(Dtype::f32, 100, bits_of(1e6F), bits_of(1e6F + 1)));
  EXPECT_FALSE(ordinary_bins(Dtype::f64, 10, bits_of(0.0), bits_of(std::numeric_limits<double>::max())));
  EXPECT_FALSE(ordinary_bins(Dtype::f32, 10, bits_of(0.0F), bits_of(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(ordinary_bins(Dtype::i64, 10, static_cast<std::uint64_t>(-100), (std::uint64_t{1} << 53) - 1));
  EXPECT_FALSE(ordinary_bins(Dtype::i64, 10, 0, std::uint64_t{1} << 53));
  EXPECT_FALSE(ordinary_bins(Dtype::i64, 10, static_cast<std::uint64_t>(-(std::int64_t{1} << 53)), 0));
  EXPECT_FALSE(ordinary_bins(Dtype::u64, 10, 0, ~std::uint64_t{0}));
  EXPECT_FALSE(ordinary_bins(Dtype::f16, 10, 0, 0x3c00));
}

TEST(OrdinaryBins, IntegersFromTheirBits) {
  EXPECT_EQ(integer_of(Dtype::i16, 0xffff), -1);
  EXPECT_EQ(integer_of(Dtype::u16, 0xffff), 65535);
  EXPECT_EQ(integer_of(Dtype::i64, ~std::uint64_t{0}), -1);
}

}  // namespace
}  // namespace masu
