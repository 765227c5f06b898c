// SPDX-License-Identifier: Apache-2.0
// Keys of 8 and 16 bits counted and written anew, on every device with kernels, against std::stable_sort.
#include "sort/device/sort_keys_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

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

// Equal elements with different bits keep their order, few that are listed as well as many.
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

// Long rows go the way of one piece, one after the other in the same temporary memory.
TEST_P(SortCounting, Rows) {
  const std::uint64_t usual = std::exchange(sort_plan::tuned.row_bytes, sort_plan::tuned.counted_shorts);
  const std::uint64_t length = sort_plan::tuned.counted_shorts + 3;
  std::vector<Half> keys = test::make_keys<Half>(test::Keys::special, 3 * length);
  const Buffer<Half> from = device.upload(keys);
  Buffer<Half> to(device, keys.size());
  SortOptions options{.order = Order::descending, .rows = 3};
  Buffer<std::byte> workspace(device, sort_workspace(device, Dtype::f16, keys.size(), 0, options));
  EXPECT_LT(workspace.size(), keys.size() * sizeof(Half) + (std::uint64_t{1} << 20));
  Stream stream(device);
  options.workspace = &workspace;
  sort(stream, from, Dtype::f16, to, options).get();
  sort_plan::tuned.row_bytes = usual;
  for (std::uint64_t row = 0; row < 3; ++row) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(row * length);
    std::stable_sort(first, first + static_cast<std::ptrdiff_t>(length),
                     [](Half a, Half b) { return sort_key(a, Order::descending) < sort_key(b, Order::descending); });
  }
  EXPECT_TRUE(test::bits_of(to.read()) == test::bits_of(keys));
}

}  // namespace
}  // namespace masu
