// SPDX-License-Identifier: Apache-2.0
// Places in sorted data, on every device, against a plain search.
#include "all_dtypes.h"
#include "each_device.h"
#include "expect_error.h"
#include "misaligned.h"
#include "search/search_plan.h"
#include "unique/unique_reference.h"

#include <masu/search.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace masu {
namespace {

using reference::Shape;

class SearchTest : public test::EachDevice {
 protected:
  // On OpenCL CPU devices, whose compilers are slow, one of each size and a float where there is one.
  [[nodiscard]] std::vector<Dtype> dtypes() const {
    if (device.kind() != DeviceKind::cpu && !device.info().gpu) return {Dtype::i8, Dtype::f16, Dtype::u32, Dtype::f64};
    return {test::all_dtypes.begin(), test::all_dtypes.end()};
  }
};
MASU_ON_EACH_DEVICE(SearchTest);

template <class T>
std::vector<T> sorted_data(Shape shape, std::size_t count) {
  std::vector<T> data = reference::data_of<T>(shape, count, 7);
  std::ranges::stable_sort(data, reference::less<T>);
  return data;
}

template <class Position = std::uint64_t, class T>
std::vector<Position> expected(const std::vector<T>& sorted, const std::vector<T>& values, Side side) {
  std::vector<Position> positions;
  for (const T value : values) {
    const auto place =
        side == Side::left
            ? std::partition_point(sorted.begin(), sorted.end(), [&](T x) { return reference::less(x, value); })
            : std::partition_point(sorted.begin(), sorted.end(), [&](T x) { return !reference::less(value, x); });
    positions.push_back(static_cast<Position>(place - sorted.begin()));
  }
  return positions;
}

template <class T>
void expect_found(const Device& device, const std::vector<T>& sorted, const std::vector<T>& values,
                  const std::string& name) {
  for (const Side side : {Side::left, Side::right}) {
    const std::string text = name + (side == Side::left ? ", left" : ", right");
    const auto right = expected(sorted, values, side);
    EXPECT_EQ(searchsorted(device, sorted, values, {.side = side}), right) << text;
    const Buffer<T> there = test::misaligned(device, sorted);
    EXPECT_EQ(searchsorted(there, test::misaligned(device, values), {.side = side}).read(), right)
        << text << ", buffers";
  }
}

TEST_P(SearchTest, EveryTypeAndShape) {
  for (const Dtype dtype : dtypes()) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const Shape shape : reference::shapes) {
        const std::string name = std::string(to_string(dtype)) + " shape " + std::to_string(static_cast<int>(shape));
        const std::vector<T> sorted = sorted_data<T>(shape, 30011);
        expect_found(device, sorted, reference::data_of<T>(shape, 5003), name);
        expect_found(device, sorted, reference::data_of<T>(Shape::special, 301), name + ", special values");
      }
    });
  }
}

// Trees of every depth, and blocks of every size; many values in few elements, and few in many.
TEST_P(SearchTest, EverySize) {
  for (const std::size_t count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1021, 4095, 4096, 4097, 100003}) {
    const std::vector<std::uint32_t> sorted = sorted_data<std::uint32_t>(Shape::random_bits, count);
    for (const std::size_t values : {0, 1, 2, 15, 16, 17, 1000, 70001}) {
      if (count > 5000 && values > 2000) continue;
      std::vector<std::uint32_t> sought = reference::data_of<std::uint32_t>(Shape::random_bits, values, 3);
      // Half of them are there.
      for (std::size_t i = 0; i < values && count != 0; i += 2) sought[i] = sorted[sought[i] % count];
      expect_found(device, sorted, sought, std::to_string(values) + " values in " + std::to_string(count));
    }
  }
}

// Bytes and halves of which there are so many that all places are computed first.
TEST_P(SearchTest, ManyValuesOfFewBits) {
  expect_found(device, sorted_data<std::int8_t>(Shape::random_bits, 1000),
               reference::data_of<std::int8_t>(Shape::random_bits, 5000), "i8");
  expect_found(device, sorted_data<Half>(Shape::special, 1000), reference::data_of<Half>(Shape::random_bits, 300000),
               "f16");
}

TEST_P(SearchTest, PositionsOf32Bits) {
  const std::vector<std::uint32_t> sorted = sorted_data<std::uint32_t>(Shape::random_bits, 5000);
  const std::vector<std::uint32_t> values = reference::data_of<std::uint32_t>(Shape::random_bits, 1000, 9);
  const auto right = expected<std::uint32_t>(sorted, values, Side::left);
  EXPECT_EQ(searchsorted<std::uint32_t>(device, sorted, values), right);
  EXPECT_EQ(searchsorted<std::uint32_t>(device.upload(sorted), device.upload(values)).read(), right);
}

TEST_P(SearchTest, DescendingData) {
  for (const Dtype dtype : dtypes()) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const Shape shape : {Shape::special, Shape::random_bits}) {
        std::vector<T> sorted = sorted_data<T>(shape, 4001);
        std::ranges::reverse(sorted);
        const std::vector<T> values = reference::data_of<T>(shape, 301, 5);
        for (const Side side : {Side::left, Side::right}) {
          std::vector<std::uint64_t> right;
          for (const T value : values) {
            const auto place = std::partition_point(sorted.begin(), sorted.end(), [&](T x) {
              return side == Side::left ? reference::less(value, x) : !reference::less(x, value);
            });
            right.push_back(static_cast<std::uint64_t>(place - sorted.begin()));
          }
          const SearchOptions options{.side = side, .order = Order::descending};
          EXPECT_EQ(searchsorted(device, sorted, values, options), right) << to_string(dtype);
        }
      }
    });
  }
}

// Answers about data that is not sorted mean nothing, but lie in range, and nothing outside is read.
TEST_P(SearchTest, NotSorted) {
  const std::vector<std::uint32_t> data = reference::data_of<std::uint32_t>(Shape::random_bits, 10007);
  for (const Side side : {Side::left, Side::right}) {
    for (const std::uint64_t place : searchsorted(device, data, data, {.side = side})) ASSERT_LE(place, data.size());
  }
}

TEST_P(SearchTest, OnAStream) {
  const std::vector<float> sorted = sorted_data<float>(Shape::special, 3000);
  const std::vector<float> values = reference::data_of<float>(Shape::special, 2000);
  const Buffer<float> there = device.upload(sorted);
  const Buffer<float> sought = device.upload(values);
  Buffer<std::uint64_t> positions(device, values.size());
  Stream stream(device);
  searchsorted(stream, there, sought, Dtype::f32, positions, Dtype::u64, {.side = Side::right}).get();
  EXPECT_EQ(positions.read(), expected(sorted, values, Side::right));
  Buffer<std::uint64_t> none(device, 0);
  searchsorted(stream, there, sought.slice(0, 0), Dtype::f32, none, Dtype::u64).get();
}

TEST_P(SearchTest, Refusals) {
  const Buffer<std::uint32_t> data = device.upload(std::vector<std::uint32_t>(8));
  Buffer<std::uint64_t> positions(device, 8);
  MASU_EXPECT_ERROR(searchsorted(data, data, Dtype::u32, positions, Dtype::i64), invalid_argument,
                    "searchsorted: positions are u64 or u32, got i64");
  Buffer<std::uint64_t> few(device, 7);
  MASU_EXPECT_ERROR(searchsorted(data, data, Dtype::u32, few, Dtype::u64), invalid_argument,
                    "as many positions as values, got 7 for 8");
  MASU_EXPECT_ERROR(searchsorted(data, data.slice(0, 7), Dtype::u64, positions, Dtype::u64), invalid_argument,
                    "size must be a multiple of 8 bytes (u64), got 28");
  Buffer<std::uint32_t> same = device.upload(std::vector<std::uint32_t>(8));
  MASU_EXPECT_ERROR(searchsorted(data, same, Dtype::u32, same, Dtype::u32), invalid_argument,
                    "positions and values must not overlap");
  MASU_EXPECT_ERROR(searchsorted(same, data, Dtype::u32, same, Dtype::u32), invalid_argument,
                    "positions and sorted data must not overlap");
  std::vector<std::uint64_t> host(3);
  MASU_EXPECT_ERROR(searchsorted(device, ArrayView(Dtype::u32, nullptr, 0), ArrayView(Dtype::f32, nullptr, 0),
                                 MutableArrayView(host)),
                    invalid_argument, "must be of one type, got u32 and f32");
  std::vector<std::uint32_t> narrow;
  MASU_EXPECT_ERROR(searchsorted(device, ArrayView(Dtype::u8, nullptr, std::uint64_t{1} << 32),
                                 ArrayView(Dtype::u8, nullptr, 0), MutableArrayView(narrow)),
                    invalid_argument, "less than 2^32 elements");
  MASU_EXPECT_ERROR(searchsorted(device, ArrayView(Dtype::u8, nullptr, std::uint64_t{1} << 50),
                                 ArrayView(Dtype::u8, nullptr, 0), MutableArrayView(host)),
                    invalid_argument, "at most 2^48 elements");
  if (device.kind() == DeviceKind::cpu) return;
  Buffer<std::uint64_t> elsewhere(Device::open("cpu"), 8);
  MASU_EXPECT_ERROR(searchsorted(data, data, Dtype::u32, elsewhere, Dtype::u64), invalid_argument, "on one device");
  Stream stream(Device::open("cpu"));
  MASU_EXPECT_ERROR((void)searchsorted(stream, data, data, Dtype::u32, positions, Dtype::u64), invalid_argument,
                    "of one device");
}

TEST_P(SearchTest, TimesAndThreads) {
  const std::vector<std::uint32_t> data = sorted_data<std::uint32_t>(Shape::random_bits, 20000);
  const auto right = expected(data, data, Side::left);
  std::vector<std::thread> threads;
  std::vector<std::vector<std::uint64_t>> found(4);
  for (auto& positions : found) threads.emplace_back([&] { positions = searchsorted(device, data, data); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& positions : found) EXPECT_EQ(positions, right);
  Times times{-1, -1};
  (void)searchsorted(device, data, data, {.times = &times});
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
}

TEST(Search, Trees) {
  using search_plan::tree_for;
  for (const std::uint64_t sorted : {0U, 1U, 2U, 3U, 100U, 4095U, 4096U, 1U << 20}) {
    for (const std::uint64_t values : {1U, 100U, 1U << 20}) {
      const search_plan::Tree tree = tree_for(sorted, values, 12);
      EXPECT_LE(tree.levels, 12U);
      EXPECT_LE(sorted >> tree.shift, (std::uint64_t{1} << tree.levels) - 1);
      if (tree.shift == 0) continue;
      EXPECT_GT(sorted >> (tree.shift - 1), (std::uint64_t{1} << tree.levels) - 1);
    }
  }
  EXPECT_EQ(tree_for(std::uint64_t{1} << 40, 1, 12).levels, 0U);
  EXPECT_EQ(searchsorted(std::vector<int>{1, 2, 2, 5}, std::vector<int>{2, 6}), (std::vector<std::uint64_t>{1, 4}));
}

}  // namespace
}  // namespace masu
