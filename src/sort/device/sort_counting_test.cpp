// SPDX-License-Identifier: Apache-2.0
// Keys of 8 and 16 bits counted and written anew, on every device with kernels, against std::stable_sort.
#include "sort/device/sort_keys_test.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace masu {
namespace {

using test::keys_by;

class SortCounting : public test::AloneSorts {
 protected:
  void SetUp() override { counted = true; }
};
MASU_ON_EACH_KERNEL_DEVICE(SortCounting);

TEST_P(SortCounting, Integers) {
  for (const std::uint64_t size : {1U, 255U, 20011U}) {
    for (const test::Keys kind : test::all_keys) {
      expect_sorted_both_ways(test::make_keys<std::int8_t>(kind, size), "int8");
      expect_sorted_both_ways(test::make_keys<std::uint16_t>(kind, size), "uint16");
    }
  }
}

// What is equal and has other bits keeps its order, whether it is little enough to be listed or not.
TEST_P(SortCounting, Floats) {
  for (const std::uint64_t size : {1U, 9U, 3001U, 20011U, 70001U}) {
    for (const test::Keys kind : test::all_keys) expect_sorted_both_ways(test::make_keys<Half>(kind, size), "any");
    const auto some = [&](const auto& special, const std::string& what) {
      for (const unsigned apart : {1U, 7U, 300U, 5000U}) {
        expect_sorted_both_ways(keys_by<Half>(size,
                                              [&](auto& random, auto i) {
                                                const auto bits = random();
                                                return i % apart != 0 ? bits % 0x7c00 | 1 : special(bits);
                                              }),
                                what + " apart " + std::to_string(apart));
      }
    };
    some([](auto bits) { return bits % 2 << 15; }, "zeros");
    some([](auto) { return 0x8000; }, "negative zeros");
    some([](auto) { return 0xfe00; }, "one NaN");
    some([](auto bits) { return bits % 2 << 15 | 0x7e01; }, "two NaNs");
    some([](auto bits) { return (bits % 2 << 15) | (bits >> 8 & 1) * 0x7c01; }, "zeros and NaNs");
    some([](auto bits) { return bits % 2 != 0 ? 0x8000 : 0x7c01 | bits >> 8 % 2; }, "NaNs and zeros of one sign");
  }
  expect_sorted_both_ways(keys_by<Half>(65536, [](auto&, auto i) { return i * 40503; }), "all values");
}

}  // namespace
}  // namespace masu
