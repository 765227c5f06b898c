// SPDX-License-Identifier: Apache-2.0
// What the tests of this room's kernels share: awkward keys, and the stable order of them by std::stable_sort.
#pragma once

#include "each_device.h"
#include "sort/device/sort_device.h"
#include "sort/sort_job.h"
#include "sort/sort_test_data.h"

#include <gtest/gtest.h>
#include <masu/device.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace masu::test {

// All dtypes, by a type of each.
template <class F>
void each_dtype(F&& f) {
  for (const Dtype dtype : all_dtypes) dispatch(dtype, f);
}

// Keys of any bits; `special` has the extremes, zeros of both signs, infinities and several NaNs.
template <class T>
std::vector<T> make_keys(std::size_t count, Keys kind, unsigned seed) {
  std::mt19937_64 random(seed);
  using Bits = UnsignedOf<sizeof(T)>;
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const Bits infinity = static_cast<Bits>(infinity_bits<T> == 0 ? 1 : infinity_bits<T>);
  const Bits specials[] = {0,
                           sign,
                           infinity,
                           static_cast<Bits>(infinity | sign),
                           static_cast<Bits>(infinity + 1),
                           static_cast<Bits>(infinity + 7),
                           static_cast<Bits>(~Bits{0}),
                           static_cast<Bits>(sign - 1),
                           1,
                           static_cast<Bits>(sign | 1)};
  std::vector<T> keys(count);
  for (T& key : keys) {
    Bits bits = static_cast<Bits>(random());
    if (kind == Keys::few) bits = static_cast<Bits>((bits & 3U) << (8 * sizeof(T) - 4));
    if (kind == Keys::equal) bits = static_cast<Bits>(infinity >> 1);
    if (kind == Keys::special && random() % 4 != 0) bits = specials[random() % std::size(specials)];
    // Mostly finite, so that floats do not all take the slow path.
    if (kind == Keys::random && (bits & infinity_bits<T>) == infinity_bits<T>) bits &= static_cast<Bits>(sign - 1) >> 1;
    key = std::bit_cast<T>(bits);
  }
  const auto less = [](T a, T b) { return sort_key(a) < sort_key(b); };
  if (kind == Keys::sorted) std::stable_sort(keys.begin(), keys.end(), less);
  if (kind == Keys::reversed) std::stable_sort(keys.rbegin(), keys.rend(), less);
  return keys;
}

// The order of keys[first, first + length), counted from `first`.
template <class T>
std::vector<std::uint64_t> stable_order(const std::vector<T>& keys, std::size_t first, std::size_t length,
                                        Order order) {
  std::vector<std::uint64_t> indices(length);
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  std::stable_sort(indices.begin(), indices.end(), [&](std::uint64_t a, std::uint64_t b) {
    return sort_key(keys[first + a], order) < sort_key(keys[first + b], order);
  });
  return indices;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Expected results of sorting pieces: [begin, end) each; what is outside stays.
template <class T>
struct Expected {
  std::vector<T> keys;
  std::vector<std::uint64_t> indices;  // the place in the whole that each comes from
};
template <class T>
Expected<T> expected_of(const std::vector<T>& keys, const Pairs& pieces, Order order) {
  Expected<T> result{keys, std::vector<std::uint64_t>(keys.size())};
  std::iota(result.indices.begin(), result.indices.end(), std::uint64_t{0});
  for (const auto& [begin, end] : pieces) {
    const std::vector<std::uint64_t> sorted = stable_order(keys, begin, end - begin, order);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      result.keys[begin + i] = keys[begin + sorted[i]];
      result.indices[begin + i] = begin + sorted[i];
    }
  }
  return result;
}

// `count` pieces of `length` keys, one after the other.
inline Pairs equal_pieces(std::size_t count, std::size_t length) {
  Pairs pieces;
  for (std::size_t p = 0; p < count; ++p) pieces.emplace_back(p * length, (p + 1) * length);
  return pieces;
}

// Whether two arrays have the same bits.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// What moves with keys that are sorted.
enum class With { nothing, records, indices };

// A sort on a device, called in each of its ways.
class KernelSorts : public EachDevice {
 protected:
  // Keys lie behind `margin` others, and before some.
  static constexpr std::size_t margin = 3;

  // Runs `sort(stream, arrays, work)`. Indices are of the type Index, and the keys stay with them.
  template <class T, class Index = std::uint32_t, class Sort>
  void expect_sorted(const std::vector<T>& keys, const Pairs& pieces, Order order, With with, const Sort& sort,
                     const std::string& what) {
    struct Record {
      std::uint32_t words[3];
    };
    const Expected<T> expected = expected_of(keys, pieces, order);
    const auto padded = [](const std::vector<T>& data) {
      const T around = std::bit_cast<T>(UnsignedOf<sizeof(T)>{1});
      std::vector<T> all(margin, around);
      for (const T key : data) all.push_back(key);
      all.resize(all.size() + margin, around);
      return all;
    };
    std::vector<Record> records(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) records[i] = {{static_cast<std::uint32_t>(i), 7, 9}};

    const Buffer<T> all = device.upload(padded(keys));
    const Buffer<T> data = all.slice(margin, keys.size());
    const Buffer<Record> moved = device.upload(records);
    const Buffer<Index> indices = device.upload(std::vector<Index>(keys.size(), 77));
    sort_kernels::Arrays arrays;
    arrays.dtype = dtype_of<T>;
    arrays.order = order;
    arrays.source = &data;
    if (with != With::indices) arrays.target = &data;
    if (with == With::records) arrays.payload = {Payload::Kind::records, &moved, sizeof(Record)};
    if (with == With::indices) arrays.payload = {Payload::Kind::indices, &indices, sizeof(Index)};
    Stream stream(device);
    DeviceWork work;
    sort(stream, arrays, work);
    stream.finish();

    EXPECT_TRUE(same_bits(all.read(), padded(with == With::indices ? keys : expected.keys))) << what;
    if (with == With::records) {
      const std::vector<Record> got = moved.read();
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(got[i].words[0], expected.indices[i]) << what << " record " << i;
        ASSERT_EQ(got[i].words[1] + got[i].words[2], 16U);
      }
    }
    if (with != With::indices) return;
    const std::vector<Index> got = indices.read();
    for (const auto& [begin, end] : pieces) {
      for (std::size_t i = begin; end - begin > 1 && i < end; ++i) {
        ASSERT_EQ(got[i] + begin, expected.indices[i]) << what << " index " << i;
      }
    }
  }
};

}  // namespace masu::test
