// SPDX-License-Identifier: Apache-2.0
// The sort of keys alone from an exact histogram on, on every device with kernels, against std::stable_sort: sizes
// around those of its tiles, buckets and lists, and keys that crowd.
#include "sort/sort_keys.h"

#include "each_device.h"
#include "sort/sort_test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

constexpr std::uint64_t edge = 3;  // keys in front of those that are sorted, and behind them

class SortKeys : public test::EachDevice {
 protected:
  // Sorts what lies between the edges of `keys`, in place or elsewhere, and expects the stable order, bit by bit.
  template <class T>
  void expect_sorted(const std::vector<T>& inner, Order order, bool in_place, const std::string& what) const {
    SCOPED_TRACE(what + " " + std::string(to_string(dtype_of<T>)) + " " + std::to_string(inner.size()) +
                 (order == Order::ascending ? "" : " descending") + (in_place ? " in place" : ""));
    std::vector<T> keys(inner.size() + 2 * edge, T{1});
    std::ranges::copy(inner, keys.begin() + edge);
    const Buffer<T> all = device.upload(keys);
    const Buffer<T> other = device.upload(keys);
    const Buffer<T> from = all.slice(edge, inner.size());
    const Buffer<T> to = (in_place ? all : other).slice(edge, inner.size());
    Stream stream(device);
    DeviceWork work;
    sort_keys::sort(stream, from, dtype_of<T>, to, {order, SortAlgorithm::automatic, {inner.size(), 1, {}}}, nullptr,
                    work, bucket_bits);
    stream.finish();
    std::vector<T> expected = keys;
    std::ranges::stable_sort(expected.begin() + edge, expected.end() - edge, {},
                             [&](T key) { return sort_key(key, order); });
    EXPECT_TRUE(test::bits_of((in_place ? all : other).read()) == test::bits_of(expected));
    if (!in_place) {
      EXPECT_TRUE(test::bits_of(all.read()) == test::bits_of(keys));
    }
  }
  unsigned bucket_bits = 0;  // as for so many keys

  template <class T>
  void expect_sorted_both_ways(const std::vector<T>& keys, const std::string& what) const {
    expect_sorted(keys, Order::ascending, true, what);
    expect_sorted(keys, Order::descending, false, what);
  }
};

template <class T>
using Bits = UnsignedOf<sizeof(T)>;

// `count` keys whose bits are `make(random, i)`.
template <class T, class Make>
std::vector<T> keys_by(std::uint64_t count, const Make& make) {
  std::mt19937_64 random(count);
  std::vector<T> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = std::bit_cast<T>(static_cast<Bits<T>>(make(random, i)));
  return keys;
}

template <class T>
void each_crowd(std::uint64_t count, const std::function<void(const std::vector<T>&, const std::string&)>& sort) {
  constexpr unsigned width = 8 * sizeof(T);
  sort(keys_by<T>(count, [](auto& random, auto) { return random(); }), "random");
  sort(keys_by<T>(count, [](auto&, auto) { return 0x1234567812345678U; }), "equal");
  const auto and3 = [](auto& random, auto) {
    auto key = random();
    key &= random();
    key &= random();
    return key;
  };
  sort(keys_by<T>(count, and3), "and3");
  sort(keys_by<T>(count, [](auto& random, auto) { return (random() % 5) << (width - 5); }), "few");
  sort(keys_by<T>(count, [](auto& random, auto) { return random() % 5 * 0x0101010101010101U; }), "few spread");
  sort(keys_by<T>(count, [](auto& random, auto) { return random() >> (64 - width) >> random() % width; }),
       "magnitudes");
  sort(keys_by<T>(count, [](auto&, auto i) { return i * 3; }), "rising");
  sort(keys_by<T>(count, [&](auto&, auto i) { return (count - i) << (width - 24); }), "falling");
  for (const unsigned bit : {0U, 7U, 8U, 15U, 16U, width - 1}) {
    sort(keys_by<T>(count, [&](auto& random, auto) { return 0x4142434441424344U ^ (random() % 2) << bit; }),
         "bit " + std::to_string(bit));
  }
  for (const unsigned bits : {4U, 8U, 9U, 12U, 16U, 20U}) {  // of one bucket
    sort(keys_by<T>(count,
                    [&](auto& random, auto) {
                      return (std::uint64_t{0x4142} << (width - 16)) |
                             random() % (std::uint64_t{1} << std::min(bits, width - 16));
                    }),
         "one bucket, bits " + std::to_string(bits));
  }
}

TEST_P(SortKeys, Crowds) {
  for (const unsigned bits : {0U, sort_keys::most_bucket_bits}) {
    if (bits == 0 && !device.info().gpu) continue;  // programs take long to build
    bucket_bits = bits;
    each_crowd<std::uint32_t>(60001, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  }
  bucket_bits = 0;
  each_crowd<std::int64_t>(
      30011, [&](const auto& keys, const auto& what) { expect_sorted(keys, Order::ascending, true, what); });
  if (!device.info().gpu) return;
  for (const unsigned bits : {0U, 13U, sort_keys::most_bucket_bits}) {
    bucket_bits = bits;
    each_crowd<std::int32_t>(1000003, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
    each_crowd<std::uint64_t>(1000003,
                              [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  }
}

// Buckets that are counted by all work-groups together begin at 65,537 keys.
TEST_P(SortKeys, HugeBuckets) {
  bucket_bits = sort_keys::most_bucket_bits;
  for (const std::uint64_t size : {65536U, 65537U, 200003U, 262144U}) {
    for (const std::uint64_t values : {1U, 2U, 40U, 5000U, 65536U}) {
      const std::string what = std::to_string(values) + " values";
      expect_sorted_both_ways(keys_by<std::uint32_t>(size, [&](auto& random, auto) { return random() % values; }),
                              what);
      expect_sorted(
          keys_by<std::int32_t>(
              size, [&](auto& random, auto i) { return (i % 3 == 0 ? 0x7fff0000U : 0x80000000U) | random() % values; }),
          Order::descending, true, what + " in two buckets");
    }
  }
}

TEST_P(SortKeys, FloatsKeepZerosAndNansInOrder) {
  const auto all = [&]<class T>(T, std::uint64_t count) {
    constexpr unsigned width = 8 * sizeof(T);
    constexpr auto sign = Bits<T>{1} << (width - 1);
    expect_sorted_both_ways(test::make_keys<T>(test::Keys::special, count), "special");
    expect_sorted_both_ways(test::make_keys<T>(test::Keys::random, count), "random bits");
    const auto number = [](auto& random) {
      return std::bit_cast<Bits<T>>(static_cast<T>(static_cast<std::int64_t>(random()) % 1000));
    };
    expect_sorted_both_ways(keys_by<T>(count, [&](auto& random, auto) { return number(random); }), "one zero");
    expect_sorted_both_ways(
        keys_by<T>(count, [&](auto& random, auto i) { return i % 3 == 0 ? sign : number(random) | 1; }), "minus zero");
    expect_sorted_both_ways(
        keys_by<T>(count, [&](auto& random, auto i) { return i % 2 == 0 ? (i / 2 % 2) * sign : number(random); }),
        "zeros");
    expect_sorted_both_ways(keys_by<T>(count, [&](auto&, auto i) { return i % 3 == 0 ? sign : Bits<T>{0}; }),
                            "only zeros");
    expect_sorted_both_ways(keys_by<T>(count, [&](auto&, auto i) { return infinity_bits<T> + 1 + i + (i % 2) * sign; }),
                            "only NaNs");
    expect_sorted_both_ways(
        keys_by<T>(count, [&](auto& random, auto i) { return i == count / 2 ? infinity_bits<T> + 9 : number(random); }),
        "one NaN");
  };
  all(float{}, 50021);
  if (device.info().gpu) all(double{}, 50021);
}

TEST_P(SortKeys, SizesAroundTiles) {
  bucket_bits = sort_keys::most_bucket_bits;
  for (const std::uint64_t size :
       {1U, 2U, 31U, 255U, 256U, 257U, 4607U, 4608U, 4609U, 6143U, 6144U, 6145U, 12287U, 12288U, 12289U, 24577U}) {
    expect_sorted_both_ways(keys_by<std::uint32_t>(size, [](auto& random, auto) { return random(); }), "random");
    expect_sorted_both_ways(keys_by<std::uint32_t>(size, [](auto& random, auto) { return random() & 0xffff; }),
                            "one bucket");
    expect_sorted_both_ways(keys_by<std::uint32_t>(size, [](auto& random, auto) { return random() & 0xff0f; }),
                            "full bins");
  }
  // Bins of as many keys as windows sort, and more, at each place of a window: 16 values of each second bin.
  for (const unsigned keys : {8U, 9U, 10U, 11U, 16U, 17U, 18U, 19U, 33U}) {
    for (const unsigned shift : {0U, 1U, 3U, 7U, 8U, 13U}) {
      expect_sorted_both_ways(
          keys_by<std::uint32_t>(
              2000,
              [&](auto& random, auto i) { return i < shift ? 0 : (1 + (i - shift) / keys) * 16 + random() % 16; }),
          std::to_string(keys) + " keys a bin from " + std::to_string(shift));
    }
  }
}

MASU_ON_EACH_KERNEL_DEVICE(SortKeys);

}  // namespace
}  // namespace masu
