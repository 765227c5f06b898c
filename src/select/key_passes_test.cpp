// SPDX-License-Identifier: Apache-2.0
// Passes over keys, against loops over the keys.
#include "select/key_passes.h"

#include "elements/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

// Random bits, of floats with NaNs of all kinds and many zeros.
template <class T>
std::vector<T> random_elements(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> elements(count);
  for (T& one : elements) {
    const std::uint64_t bits = random() % 8 == 0 ? (random() % 2) << (8 * sizeof(T) - 1) : random();
    std::memcpy(&one, &bits, sizeof one);
  }
  return elements;
}

template <class T>
void check_passes(std::size_t count, std::size_t many) {
  const std::vector<T> x = random_elements<T>(count, 1);
  std::vector<std::uint64_t> keys(count);
  keys_of_elements(ArrayView(x), keys.data());
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(keys[i], ordered_key(x[i]));
  std::vector<T> back(count);
  elements_of_keys(keys.data(), MutableArrayView(back));
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(ordered_key(back[i]), keys[i]);

  const unsigned bits = 8 * sizeof(T);
  std::mt19937_64 random(2);
  for (const unsigned left : {bits - 1, bits / 2, 4U}) {
    std::vector<std::uint64_t> prefixes{(std::uint64_t{1} << (bits - left)) - 1, 0};  // where the ends of the keys are
    while (prefixes.size() < many) prefixes.push_back(keys[random() % count] >> left);
    std::ranges::sort(prefixes);
    prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
    if (many == 1) prefixes.erase(prefixes.begin());
    const unsigned width = std::min(left, 8U);
    std::vector<std::uint64_t> table(prefixes.size() << width);
    std::vector<std::uint64_t> expected(table.size());
    std::vector<std::uint64_t> collected;
    std::vector<std::uint64_t> expected_keys;
    for (const std::uint64_t key : keys) {
      const auto at = std::ranges::lower_bound(prefixes, key >> left);
      if (at == prefixes.end() || *at != key >> left) continue;
      const std::uint64_t digit = key >> (left - width) & ((std::uint64_t{1} << width) - 1);
      ++expected[static_cast<std::uint64_t>(at - prefixes.begin()) << width | digit];
      expected_keys.push_back(key);
    }
    const std::string what = std::to_string(bits) + " bits, " + std::to_string(left) + " left";
    count_digits(ArrayView(x), {left - width, width, prefixes}, table);
    EXPECT_EQ(table, expected) << what;
    collect_keys(ArrayView(x), left, prefixes, collected);
    EXPECT_EQ(collected, expected_keys) << what;
  }

  const std::uint64_t greatest = ~std::uint64_t{0} >> (64 - bits);
  std::vector<std::uint64_t> some{keys[0], keys[count / 2], keys[count - 1]};
  std::ranges::sort(some);
  std::vector<KeyInterval> intervals{
      {0, greatest}, {some[0], some[1]},   {some[1], some[1]},           {some[2], greatest},
      {1, 2},        {greatest, greatest}, {greatest - 1, greatest - 1}, {0, some[2]}};
  bracket_keys(ArrayView(x), intervals);
  for (const KeyInterval& found : intervals) {
    KeyInterval right{found.low, found.high};
    for (const std::uint64_t key : keys) {
      if (key < found.low) ++right.below;
      else if (key == found.low) ++right.at_low;
      else if (key == found.high) ++right.at_high;
      else if (key < found.high) right.between.push_back(key);
    }
    EXPECT_EQ(found.below, right.below) << found.low << " " << found.high;
    EXPECT_EQ(found.at_low, right.at_low);
    EXPECT_EQ(found.at_high, right.at_high);
    EXPECT_EQ(found.between, right.between);
  }
}

TEST(KeyPassesTest, DigitsKeysAndIntervals) {
  for (const std::size_t many : {1, 2, 5, 40}) {
    for (const std::size_t count : {1, 1023, 5003}) {
      check_passes<std::uint8_t>(count, many);
      check_passes<std::int8_t>(count, many);
      check_passes<std::uint16_t>(count, many);
      check_passes<std::int16_t>(count, many);
      check_passes<Half>(count, many);
      check_passes<std::uint32_t>(count, many);
      check_passes<std::int32_t>(count, many);
      check_passes<float>(count, many);
      check_passes<std::uint64_t>(count, many);
      check_passes<std::int64_t>(count, many);
      check_passes<double>(count, many);
    }
  }
  check_passes<float>(300'007, 1);  // several pieces
  check_passes<double>(1'200'011, 7);
}

}  // namespace
}  // namespace masu
