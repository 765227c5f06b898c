// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_test_data.h"

#include "each_device.h"
#include "expect_error.h"

#include <masu/sort.h>

#include <cstring>
#include <limits>
#include <string>

namespace masu {
namespace {

using test::bits_of;
using test::Keys;
using test::make_keys;
using test::plain_order;

using Runs = std::vector<std::uint64_t>;

// Run r, from runs[r] to runs[r + 1], as a pair of offsets, with a gap in front of it.
Runs pairs_of(const Runs& runs, std::uint64_t gap) {
  Runs pairs;
  for (std::size_t r = 0; r + 1 < runs.size(); ++r) {
    pairs.push_back(runs[r] + (r + 1) * gap);
    pairs.push_back(runs[r + 1] + (r + 1) * gap);
  }
  return pairs;
}
// These elements with the gaps between them, and one at the end.
template <class T>
std::vector<T> with_gaps(const std::vector<T>& elements, std::size_t bytes, const Runs& runs, std::uint64_t gap) {
  std::vector<T> result(elements.size() + runs.size() * gap * bytes, T{});
  const Runs pairs = pairs_of(runs, gap);
  for (std::size_t r = 0; r + 1 < runs.size(); ++r) {
    std::ranges::copy(std::span(elements).subspan(runs[r] * bytes, (runs[r + 1] - runs[r]) * bytes),
                      result.begin() + static_cast<std::ptrdiff_t>(pairs[2 * r] * bytes));
  }
  return result;
}

class MergeSortedTest : public test::EachDevice {
 protected:
  // Sorted runs of these keys, and what they become.
  template <class T>
  void expect_merged(std::vector<T> keys, const Runs& runs, Order order, std::size_t value_bytes = 0,
                     std::uint64_t gap = 0) {
    SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + ", " + std::to_string(runs.size() - 1) + " runs of " +
                 std::to_string(runs.back()) + ", gaps of " + std::to_string(gap) + ", values of " +
                 std::to_string(value_bytes) + " bytes");
    for (std::size_t r = 0; r + 1 < runs.size(); ++r) {
      std::ranges::stable_sort(std::span(keys).subspan(runs[r], runs[r + 1] - runs[r]), {},
                               [&](T x) { return sort_key(x, order); });
    }
    const std::vector<std::uint64_t> places = plain_order(keys.data(), keys.size(), order);
    // Not from the first element on, so that vectors of elements are not aligned; what lies around stays.
    const T around = std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(0x5a));
    const std::vector<T> gapped = with_gaps(keys, 1, runs, gap);
    Buffer<T> all(device, gapped.size() + 4);
    all.fill(around);
    Buffer<T> data = all.slice(1, gapped.size());
    data.write(gapped);
    Buffer<T> all_results(device, keys.size() + 4);
    all_results.fill(around);
    Buffer<T> result = all_results.slice(3, keys.size());
    if (value_bytes == 0) {
      merge_sorted(data, pairs_of(runs, gap), result, {.order = order});
    } else {
      std::vector<std::byte> values(keys.size() * value_bytes);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 2654435761U >> 13);
      const std::vector<std::byte> gapped_values = with_gaps(values, value_bytes, runs, gap);
      Buffer<std::byte> moving(device, gapped_values.size() + 24);
      Buffer<std::byte> moved(device, values.size() + 24);
      Buffer<std::byte> from = moving.slice(8, gapped_values.size());
      Buffer<std::byte> to = moved.slice(value_bytes % 8 == 0 ? 16 : 3, values.size());
      from.write(gapped_values);
      merge_sorted_by_key(data, dtype_of<T>, from, value_bytes, pairs_of(runs, gap), result, to, {.order = order});
      const std::vector<std::byte> found = to.read();
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(std::memcmp(&found[i * value_bytes], &values[places[i] * value_bytes], value_bytes), 0) << i;
      }
    }
    std::vector<T> after(keys.size() + 4, around);
    for (std::size_t i = 0; i < places.size(); ++i) after[i + 3] = keys[places[i]];
    ASSERT_EQ(bits_of(all_results.read()), bits_of(after));
    const std::vector<T> sources = all.read();
    ASSERT_EQ(bits_of(std::vector<T>{sources.front(), sources.back()}), bits_of(std::vector<T>{around, around}));
  }
};

TEST_P(MergeSortedTest, EveryTypeAndKindOfKeys) {
  const auto check = [&](auto tag) {
    using T = decltype(tag);
    for (const Keys kind : test::all_keys) {
      expect_merged(make_keys<T>(kind, 7001, 3), {0, 2500, 7001}, Order::ascending);
      expect_merged(make_keys<T>(kind, 7001, 4), {0, 6999, 7001}, Order::descending);
    }
  };
  check(std::uint8_t{});
  check(std::int16_t{});
  check(Half{});
  check(std::uint32_t{});
  check(float{});
  check(std::int64_t{});
  check(double{});
}

// Zeros of one sign in all runs, of one sign in each, of both in one; NaNs in no run but one.
TEST_P(MergeSortedTest, ZerosAndNansInSomeRuns) {
  const auto check = [&](auto tag) {
    using T = decltype(tag);
    for (unsigned kinds = 0; kinds < 81; ++kinds) {
      std::vector<T> keys(900);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const T zeros[] = {T{0}, -T{0}, i % 2 == 0 ? T{0} : -T{0}};
        const bool second = i >= 400;
        keys[i] = i % 3 == 0 ? zeros[(second ? kinds / 3 : kinds) % 3] : static_cast<T>(i * 7919 % 101) - 50;
        const T nans[] = {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::quiet_NaN()};
        if (const unsigned nan = kinds / (second ? 27 : 9) % 3; i % 50 == 0 && nan != 0) keys[i] = nans[nan - 1];
      }
      expect_merged(keys, {0, 400, 900}, kinds % 2 == 0 ? Order::ascending : Order::descending);
    }
  };
  check(float{});
  check(double{});
}

// Around tiles: 2,048 keys on most devices. Empty runs, runs of one element, everything in one run.
TEST_P(MergeSortedTest, EverySizeAndNumberOfRuns) {
  for (const std::uint64_t n : {0, 1, 2, 3, 255, 2047, 2048, 2049, 4096, 4097, 70001}) {
    const std::vector<std::uint32_t> keys = make_keys<std::uint32_t>(Keys::few, n);
    const auto at = [&](std::uint64_t i) { return std::min(n, i); };
    for (const Runs& runs : {Runs{0, n}, Runs{0, 0, n}, Runs{0, n, n}, Runs{0, n / 2, n}, Runs{0, at(1), n},
                             Runs{0, at(2047), n}, Runs{0, at(2049), n}, Runs{0, n / 3, n / 3, n},
                             Runs{0, n / 5, n / 2, n, n}, Runs{0, 0, n / 8, n / 4, n / 2, n / 2, n - n / 4, n}}) {
      expect_merged(keys, runs, Order::ascending);
      expect_merged(keys, runs, Order::ascending, 0, 17);
    }
  }
  Runs many{0};
  while (many.back() < 30000) many.push_back(many.back() + many.size() * 7 % 501);
  expect_merged(make_keys<std::uint32_t>(Keys::random, many.back()), many, Order::ascending);
}

TEST_P(MergeSortedTest, ValuesOfEverySize) {
  const std::vector<std::uint32_t> keys = make_keys<std::uint32_t>(Keys::few, 9000);
  for (const std::size_t size : {1, 2, 3, 4, 8, 12, 16, 64}) {
    expect_merged(keys, {0, 4000, 9000}, Order::ascending, size);
    expect_merged(keys, {0, 10, 4000, 4000, 8000, 9000}, Order::ascending, size);
    expect_merged(keys, {0, 10, 4000, 9000}, Order::ascending, size, 5);
  }
  expect_merged(keys, {0, 0, 9000, 9000}, Order::ascending, 4);
}

TEST_P(MergeSortedTest, RefusesWhatIsWrong) {
  Buffer<float> data(device, 10);
  Buffer<float> result(device, 10);
  Buffer<float> shorter(device, 9);
  Buffer<std::uint8_t> values(device, 10);
  Buffer<std::uint8_t> moved(device, 10);
  Buffer<std::uint8_t> few(device, 9);
  result.fill(3);
  MASU_EXPECT_ERROR(merge_sorted(data, Runs{0, 5, 10}, result), invalid_argument,
                    "merge_sorted: runs must be pairs of offsets, got 3 of them");
  MASU_EXPECT_ERROR(merge_sorted(data, Runs{0, 6, 5, 10}, result), invalid_argument,
                    "merge_sorted: runs must be non-decreasing offsets, got 5 after 6 at place 2");
  MASU_EXPECT_ERROR(merge_sorted(data, Runs{1, 11}, result), invalid_argument,
                    "merge_sorted: runs must end at or before 10, got 11");
  MASU_EXPECT_ERROR(merge_sorted(data, Runs{0, 10}, shorter), invalid_argument,
                    "merge_sorted: the result of data must have the 10 elements of the runs, got 9");
  MASU_EXPECT_ERROR(merge_sorted(data, Runs{}, shorter), invalid_argument,
                    "merge_sorted: the result of data must have the 0 elements of the runs, got 9");
  MASU_EXPECT_ERROR(merge_sorted(data, Runs{0, 10}, data), invalid_argument,
                    "merge_sorted: data and result must not overlap");
  MASU_EXPECT_ERROR(merge_sorted_by_key(data, few, Runs{0, 10}, result, moved), invalid_argument,
                    "merge_sorted_by_key: there must be a value for each key, got 9 for 10 keys");
  MASU_EXPECT_ERROR(merge_sorted_by_key(data, values, Runs{0, 10}, result, few), invalid_argument,
                    "merge_sorted_by_key: the result of values must have the 10 elements of the runs, got 9");
  MASU_EXPECT_ERROR(merge_sorted_by_key(data, values, Runs{0, 10}, result, values), invalid_argument,
                    "merge_sorted_by_key: values and result must not overlap");
  MASU_EXPECT_ERROR(merge_sorted_by_key(data, Dtype::f32, values, 0, Runs{0, 10}, result, moved), invalid_argument,
                    "merge_sorted_by_key: elements have 1 to 64 bytes, got 0");
  EXPECT_EQ(result.read(), std::vector<float>(10, 3));
}

MASU_ON_EACH_DEVICE(MergeSortedTest);

}  // namespace
}  // namespace masu
