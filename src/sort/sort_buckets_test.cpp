// SPDX-License-Identifier: Apache-2.0
// The sort from the greatest digit on, on every device, against std::sort: keys that need one level or all of them.
#include "sort/sort_buckets.h"

#include "each_device.h"
#include "sort/sort_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
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
        sort_buckets::sort(stream, keys, dtype_of<T>, result, {order, {}, {keys.size(), 1, {}}}, nullptr, work);
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
