// SPDX-License-Identifier: Apache-2.0
// What tests of the sorts of keys alone share: keys that crowd, and a sort of them against std::stable_sort.
#pragma once

#include "each_device.h"
#include "sort/device/sort_counting.h"
#include "sort/device/sort_few.h"
#include "sort/device/sort_keys.h"
#include "sort/device/sort_once.h"
#include "sort/sort_test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace masu::test {

inline constexpr std::uint64_t edge = 3;  // keys in front of those that are sorted, and behind them

class AloneSorts : public EachDevice {
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
    const Arrays arrays{dtype_of<T>, order, &from, &to};
    if (few) sort_few::sort(stream, arrays, inner.size(), nullptr, work);
    else if (counted) sort_counting::sort(stream, arrays, inner.size(), nullptr, work);
    else if (once) sort_once::sort(stream, arrays, inner.size(), nullptr, work);
    else sort_keys::sort(stream, arrays, inner.size(), nullptr, work, bucket_bits, by_digits, shaped_for);
    stream.finish();
    std::vector<T> expected = keys;
    std::ranges::stable_sort(expected.begin() + edge, expected.end() - edge, {},
                             [&](T key) { return sort_key(key, order); });
    EXPECT_TRUE(bits_of((in_place ? all : other).read()) == bits_of(expected));
    if (!in_place) {
      EXPECT_TRUE(bits_of(all.read()) == bits_of(keys));
    }
  }
  unsigned bucket_bits = 0;  // as for so many keys
  sort_keys::ByDigitsWhere by_digits = sort_keys::ByDigitsWhere::automatic;
  std::uint64_t shaped_for = 0;  // keys, if not 0
  bool once = false;             // by sort_once
  bool few = false;              // by sort_few
  bool counted = false;          // by sort_counting

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

}  // namespace masu::test
