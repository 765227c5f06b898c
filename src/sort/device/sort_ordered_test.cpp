// SPDX-License-Identifier: Apache-2.0
// Keys that are in order, or in the opposite one, on every device.
#include "sort/device/sort_ordered.h"
#include "sort/device/sort_device.h"

#include "each_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace masu {
namespace {

class SortOrdered : public test::EachDevice {};

std::vector<std::uint32_t> stable_order(const std::vector<float>& keys, Order order) {
  std::vector<std::uint32_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), 0);
  std::ranges::stable_sort(indices, [&](std::uint32_t a, std::uint32_t b) {
    return order == Order::ascending ? keys[a] < keys[b] : keys[b] < keys[a];
  });
  return indices;
}

// Keys in order stay, strictly opposite ones are turned round with what moves with them, others are left.
TEST_P(SortOrdered, KeysInOrder) {
  constexpr std::uint64_t count = 70001;
  struct Case {
    bool falling;
    bool equals;
    std::uint64_t swapped;  // 0: none
    Order order;
    bool sorted;
  };
  constexpr std::array<Case, 7> cases = {{{false, true, 0, Order::ascending, true},
                                          {true, true, 0, Order::descending, true},
                                          {true, false, 0, Order::ascending, true},
                                          {false, false, 0, Order::descending, true},
                                          {true, true, 0, Order::ascending, false},
                                          {false, false, 69990, Order::ascending, false},
                                          {true, false, 5, Order::ascending, false}}};
  for (const Case& one : cases) {
    std::vector<float> keys(count);
    for (std::uint64_t i = 0; i < count; ++i) keys[i] = static_cast<float>(one.equals ? i / 3 : i) - 1000.0F;
    keys[1000] = one.equals ? keys[1000] : -0.0F;
    if (one.falling) std::reverse(keys.begin(), keys.end());
    if (one.swapped != 0) std::swap(keys[one.swapped], keys[one.swapped + 1]);
    const std::vector<std::uint32_t> expected = stable_order(keys, one.order);
    const Buffer<float> there = device.upload(keys);
    Buffer<float> other(device, count);
    std::vector<std::uint16_t> values(count);
    std::iota(values.begin(), values.end(), std::uint16_t{0});
    Buffer<std::uint16_t> moved = device.upload(values);
    Buffer<std::uint64_t> indices(device, count);
    const Buffer<std::byte> workspace(device, 16);
    Stream stream(device);
    DeviceWork work;
    const Payload with_records{Payload::Kind::records, &moved, 2};
    const Payload with_indices{Payload::Kind::indices, &indices, 8};
    for (const Arrays& arrays : {Arrays{Dtype::f32, one.order, &there, &other, with_records},
                                 Arrays{Dtype::f32, one.order, &there, nullptr, with_indices}}) {
      ASSERT_EQ(sort_ordered::sort(stream, arrays, count, workspace, work), one.sorted);
    }
    stream.finish();
    EXPECT_TRUE(there.read() == keys);
    if (!one.sorted) continue;
    EXPECT_TRUE(std::ranges::equal(indices.read(), expected));
    const std::vector<float> sorted = other.read();
    const std::vector<std::uint16_t> records = moved.read();
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(sorted[i]), std::bit_cast<std::uint32_t>(keys[expected[i]])) << i;
      ASSERT_EQ(records[i], static_cast<std::uint16_t>(expected[i])) << i;
    }
  }
}

MASU_ON_EACH_KERNEL_DEVICE(SortOrdered);

}  // namespace
}  // namespace masu
