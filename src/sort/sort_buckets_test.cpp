// SPDX-License-Identifier: Apache-2.0
// The sort from the greatest digit on, on every device, against std::sort: keys that need one level or all of them.
#include "sort/sort_buckets.h"

#include "each_device.h"
#include "sort/sort_key.h"
#include "sort/sort_ordered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

enum class Shape { random, few, equal, sorted, reversed, low_bits, skewed, one_large, magnitudes };
constexpr Shape all_shapes[] = {Shape::random,   Shape::few,    Shape::equal,     Shape::sorted,    Shape::reversed,
                                Shape::low_bits, Shape::skewed, Shape::one_large, Shape::magnitudes};

// Numbers whose equals have equal bits.
template <class T>
std::vector<T> make(Shape shape, std::uint64_t count) {
  std::mt19937_64 random(count);
  std::vector<T> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t bits = random();
    if (shape == Shape::few) bits = bits % 5 << (8 * sizeof(T) - 7);
    if (shape == Shape::equal) bits = 77;
    if (shape == Shape::low_bits) bits &= 0xfff;
    for (int times = 0; shape == Shape::skewed && times < 3; ++times) bits &= random();
    if (shape == Shape::one_large) bits = i == count / 2 ? bits : 3;
    if (shape == Shape::magnitudes) bits >>= random() % 64;  // large buckets on every level, and many small ones
    if constexpr (std::is_floating_point_v<T>) {
      keys[i] = shape == Shape::random || shape == Shape::sorted || shape == Shape::reversed
                    ? static_cast<T>(static_cast<double>(bits >> 11) * 0x1p-53)
                    : static_cast<T>(1 + bits % 100000);
    } else {
      keys[i] = static_cast<T>(bits);
    }
  }
  if (shape == Shape::sorted) std::sort(keys.begin(), keys.end());
  if (shape == Shape::reversed) std::sort(keys.rbegin(), keys.rend());
  return keys;
}

class SortBuckets : public test::EachDevice {
 protected:
  template <class T>
  bool sort(const Buffer<T>& keys, const Buffer<T>& result, Order order) const {
    Stream stream(device);
    DeviceWork work;
    const bool sorted =
        sort_buckets::sort(stream, keys, dtype_of<T>, &result, {}, {order, {}, {keys.size(), 1, {}}}, nullptr, work);
    stream.finish();
    return sorted;
  }
  template <class T>
  void expect_sorted(const std::vector<T>& keys, Order order, bool in_place) const {
    std::vector<T> expected = keys;
    std::sort(expected.begin(), expected.end());
    if (order == Order::descending) std::reverse(expected.begin(), expected.end());
    const Buffer<T> all = device.upload(keys);
    const Buffer<T> other(device, keys.size());
    ASSERT_TRUE(sort(all, in_place ? all : other, order));
    EXPECT_TRUE((in_place ? all : other).read() == expected);
    if (!in_place) {
      EXPECT_TRUE(all.read() == keys);
    }
  }
  template <class T>
  void expect_every_shape() const {
    for (const Shape shape : all_shapes) {
      for (const std::uint64_t count : {5000, 150001}) {
        SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " shape " + std::to_string(static_cast<int>(shape)) +
                     " count " + std::to_string(count));
        const std::vector<T> keys = make<T>(shape, count);
        expect_sorted(keys, shape == Shape::few ? Order::descending : Order::ascending, true);
        if (shape == Shape::random || shape == Shape::skewed) expect_sorted(keys, Order::descending, false);
      }
    }
  }
};

TEST_P(SortBuckets, EveryShape) {
  expect_every_shape<std::uint32_t>();
  expect_every_shape<float>();
  expect_every_shape<std::int64_t>();
  if (!device.info().gpu) return;  // programs take long to build
  expect_every_shape<std::int32_t>();
  expect_every_shape<std::uint64_t>();
  expect_every_shape<double>();
}

// Orders, and records beside their keys, against a stable sort: with zeros of both signs and NaNs among the keys.
template <class T>
std::vector<T> keys_with_equals(std::uint64_t count) {
  std::vector<T> keys = make<T>(Shape::skewed, count);
  const std::vector<T> few = make<T>(Shape::random, 64);
  for (std::uint64_t i = 0; i < count; i += 3) keys[i] = few[i % 64];
  if constexpr (std::is_floating_point_v<T>) {
    for (std::uint64_t i = 0; i < count; i += 2) keys[i] = -keys[i];
    for (std::uint64_t i = 0; i < count; i += 5) keys[i] = i % 2 == 0 ? 0.0F : -0.0F;
    for (std::uint64_t i = 7; i < count; i += 11) {
      keys[i] = std::bit_cast<T>(static_cast<std::uint32_t>(0x7f800001U + i) | (i % 2 == 0 ? 0x80000000U : 0));
    }
  }
  return keys;
}
template <class T>
std::vector<std::uint32_t> stable_order(const std::vector<T>& keys, Order order) {
  std::vector<std::uint32_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), 0);
  std::ranges::stable_sort(indices, [&](std::uint32_t a, std::uint32_t b) {
    return order == Order::ascending ? sort_key(keys[a]) < sort_key(keys[b]) : sort_key(keys[b]) < sort_key(keys[a]);
  });
  return indices;
}

struct Bytes16 {
  std::uint64_t words[2];
};

template <class Index, class T>
void expect_order(const Device& device, const std::vector<T>& keys, Order order) {
  const Buffer<T> there = device.upload(keys);
  Buffer<Index> indices(device, keys.size());
  Stream stream(device);
  DeviceWork work;
  ASSERT_TRUE(sort_buckets::sort(stream, there, dtype_of<T>, nullptr,
                                 {Companions::Kind::indices, &indices, sizeof(Index)},
                                 {order, {}, {keys.size(), 1, {}}}, nullptr, work));
  stream.finish();
  const std::vector<std::uint32_t> expected = stable_order(keys, order);
  EXPECT_TRUE(std::ranges::equal(indices.read(), expected));
  EXPECT_EQ(std::memcmp(there.read().data(), keys.data(), keys.size() * sizeof(T)), 0);
}

template <class Record, class T>
void expect_records(const Device& device, const std::vector<T>& keys, Order order, bool in_place) {
  const auto record_of = [](std::uint32_t i) {
    if constexpr (sizeof(Record) == 16) return Record{{i, ~std::uint64_t{i}}};
    else return static_cast<Record>(std::uint64_t{i} * 40503U);
  };
  std::vector<std::byte> records(keys.size() * sizeof(Record));
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    const Record record = record_of(i);
    std::memcpy(&records[std::size_t{i} * sizeof(Record)], &record, sizeof record);
  }
  const Buffer<T> there = device.upload(keys);
  const Buffer<T> other(device, keys.size());
  Buffer<std::byte> moved = device.upload(records);
  Stream stream(device);
  DeviceWork work;
  ASSERT_TRUE(sort_buckets::sort(stream, there, dtype_of<T>, in_place ? &there : &other,
                                 {Companions::Kind::records, &moved, sizeof(Record)}, {order, {}, {keys.size(), 1, {}}},
                                 nullptr, work));
  stream.finish();
  const std::vector<T> sorted = (in_place ? there : other).read();
  const std::vector<std::byte> result = moved.read();
  const std::vector<std::uint32_t> expected = stable_order(keys, order);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Record record = record_of(expected[i]);
    using Bytes = std::array<std::byte, sizeof(T)>;
    ASSERT_EQ(std::bit_cast<Bytes>(sorted[i]), std::bit_cast<Bytes>(keys[expected[i]])) << i;
    ASSERT_EQ(std::memcmp(&result[i * sizeof(Record)], &record, sizeof record), 0) << i;
  }
}

TEST_P(SortBuckets, PackedKeysKeepTheOrderOfEquals) {
  for (const std::uint64_t count : {6000, 100003}) {
    SCOPED_TRACE(count);
    expect_order<std::uint64_t>(device, keys_with_equals<float>(count), Order::descending);
    expect_records<std::uint32_t>(device, keys_with_equals<float>(count), Order::ascending, true);
    if (!device.info().gpu) continue;  // programs take long to build
    for (const Order order : {Order::ascending, Order::descending}) {
      expect_order<std::uint32_t>(device, keys_with_equals<std::uint32_t>(count), order);
      expect_order<std::uint64_t>(device, keys_with_equals<std::int32_t>(count), order);
      expect_order<std::uint32_t>(device, keys_with_equals<float>(count), order);
      expect_records<std::uint8_t>(device, keys_with_equals<std::uint32_t>(count), order, true);
      expect_records<std::uint16_t>(device, keys_with_equals<std::int32_t>(count), order, false);
      expect_records<std::uint64_t>(device, keys_with_equals<float>(count), order, false);
      expect_records<Bytes16>(device, keys_with_equals<float>(count), order, true);
    }
  }
}

TEST_P(SortBuckets, LeavesEqualPackedKeys) {
  const std::vector<std::uint32_t> keys(20000, 7);
  const Buffer<std::uint32_t> there = device.upload(keys);
  Buffer<std::uint32_t> values = device.upload(keys);
  Stream stream(device);
  DeviceWork work;
  EXPECT_FALSE(sort_buckets::sort(stream, there, Dtype::u32, &there, {Companions::Kind::records, &values, 4},
                                  {Order::ascending, {}, {keys.size(), 1, {}}}, nullptr, work));
  stream.finish();
  EXPECT_EQ(there.read(), keys);
  EXPECT_EQ(values.read(), keys);
}

// Keys in order stay, strictly opposite ones are turned round with what moves with them, others are left.
TEST_P(SortBuckets, KeysInOrder) {
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
    const Buffer<std::byte> scratch(device, 16);
    Stream stream(device);
    DeviceWork work;
    const SortJob job{one.order, SortAlgorithm::automatic, {count, 1, {}}};
    ASSERT_EQ(sort_ordered::sort(stream, there, Dtype::f32, &other, {Companions::Kind::records, &moved, 2}, job,
                                 scratch, work),
              one.sorted);
    ASSERT_EQ(sort_ordered::sort(stream, there, Dtype::f32, nullptr, {Companions::Kind::indices, &indices, 8}, job,
                                 scratch, work),
              one.sorted);
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

TEST_P(SortBuckets, LeavesWhatOnlyAStableSortCanDo) {
  std::vector<float> keys = make<float>(Shape::few, 20000);
  keys[7] = 0.0F;
  expect_sorted(keys, Order::ascending, true);
  keys[7000] = -0.0F;
  const Buffer<float> there = device.upload(keys);
  EXPECT_FALSE(sort(there, there, Order::ascending));
  keys[7000] = std::numeric_limits<float>::quiet_NaN();
  there.slice(7000, 1).write(std::vector<float>{keys[7000]});
  EXPECT_FALSE(sort(there, there, Order::ascending));
}

MASU_ON_EACH_KERNEL_DEVICE(SortBuckets);

}  // namespace
}  // namespace masu
