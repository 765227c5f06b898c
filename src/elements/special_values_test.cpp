// SPDX-License-Identifier: Apache-2.0
#include "elements/special_values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace masu {
namespace {

template <class T>
std::vector<T> of_bits(const std::vector<KeyOf<T>>& bits) {
  std::vector<T> values;
  for (const KeyOf<T> one : bits) values.push_back(std::bit_cast<T>(one));
  return values;
}

TEST(SpecialValuesTest, HalvesOfEveryPattern) {
  std::vector<Half> all;
  std::vector<Half> numbers;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    all.push_back({static_cast<std::uint16_t>(bits)});
    const bool finite = (bits & 0x7c00) != 0x7c00;
    if (finite || (bits & 0x3ff) == 0) numbers.push_back(all.back());
    EXPECT_EQ(all_finite(ArrayView(Dtype::f16, &all.back(), 1)), finite) << bits;
  }
  std::vector<Half> found(all.size());
  found.resize(copy_numbers(ArrayView(all), found.data()));
  EXPECT_EQ(found, numbers);
  EXPECT_EQ(copy_numbers(ArrayView(all), all.data()), numbers.size());  // in place
  EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), all.begin()));
}

TEST(SpecialValuesTest, WideFloats) {
  const auto f32 = of_bits<float>({0x7f800000, 0x7f800001, 0xffc00000, 0x80000000, 0x7f7fffff, 0xff800000});
  std::vector<float> found(f32.size());
  ASSERT_EQ(copy_numbers(ArrayView(f32), found.data()), 4U);
  EXPECT_EQ(found[1], 0.0F);
  EXPECT_TRUE(std::signbit(found[1]));
  EXPECT_FALSE(all_finite(ArrayView(f32)));
  EXPECT_TRUE(all_finite(ArrayView(std::vector<double>{-1, 0, std::numeric_limits<double>::max()})));
  EXPECT_FALSE(all_finite(ArrayView(std::vector<double>{-std::numeric_limits<double>::infinity()})));
  EXPECT_TRUE(all_finite(ArrayView(std::vector<std::uint16_t>{0x7c00, 0xffff})));
}

TEST(SpecialValuesTest, QuietNans) {
  std::vector<Half> halves(3);
  fill_with_nan(MutableArrayView(halves));
  EXPECT_EQ(halves, std::vector<Half>(3, Half{0x7e00}));
  std::vector<double> doubles(2);
  fill_with_nan(MutableArrayView(doubles));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(doubles[1]), 0x7ff8000000000000);
}

}  // namespace
}  // namespace masu
