// SPDX-License-Identifier: Apache-2.0
#include "sort/numpy_order.h"

#include "each_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace masu {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

class NumpyOrderTest : public test::EachDevice {};
MASU_ON_EACH_DEVICE(NumpyOrderTest);

// Rows with none, some and only NaNs, in both orders, in host memory and in the device's.
TEST_P(NumpyOrderTest, NansAreLast) {
  constexpr std::uint64_t length = 37;
  std::vector<float> data(4 * length);
  for (std::uint64_t i = 0; i < data.size(); ++i) {
    const std::uint64_t row = i / length;
    const bool is_nan = row == 3 || (row != 0 && i % (row + 1) == 0);
    data[i] = is_nan ? nan_value : static_cast<float>(static_cast<int>(i * 7919 % 23) - 11);
  }
  for (const Order order : {Order::ascending, Order::descending}) {
    std::vector<std::uint64_t> expected(data.size());
    for (std::uint64_t row = 0; row < 4; ++row) {
      const float* const x = data.data() + row * length;
      const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(row * length);
      std::iota(begin, begin + length, std::uint64_t{0});
      std::stable_sort(begin, begin + length, [&](std::uint64_t a, std::uint64_t b) {
        if (std::isnan(x[a]) || std::isnan(x[b])) return !std::isnan(x[a]) && std::isnan(x[b]);
        return order == Order::ascending ? x[a] < x[b] : x[a] > x[b];
      });
    }
    const auto expect_sorted = [&](const float* sorted) {
      for (std::uint64_t i = 0; i < data.size(); ++i) {
        const float right = data[i / length * length + expected[i]];
        EXPECT_TRUE(std::isnan(right) ? std::isnan(sorted[i]) : right == sorted[i]) << i;
      }
    };
    const SortOptions options{.order = order, .rows = 4};
    std::vector<float> sorted(data.size());
    sort_nans_last(device, ArrayView(data), MutableArrayView(sorted), options);
    expect_sorted(sorted.data());
    sorted = data;
    sort_nans_last(device, ArrayView(sorted), MutableArrayView(sorted), options);  // in place
    expect_sorted(sorted.data());
    std::vector<std::uint64_t> places(data.size());
    argsort_nans_last(device, ArrayView(data), places.data(), options);
    EXPECT_EQ(places, expected);

    Stream stream(device);
    const std::span<const std::byte> bytes = std::as_bytes(std::span<const float>(data));
    const Buffer<std::byte> there = device.upload(bytes);
    Buffer<std::byte> found(device, bytes.size());
    Buffer<std::byte> places_there(device, data.size() * sizeof(std::uint64_t));
    sort_nans_last(stream, there, Dtype::f32, found, options);
    argsort_nans_last(stream, there, Dtype::f32, places_there, options);
    stream.finish();
    expect_sorted(reinterpret_cast<const float*>(found.read().data()));
    const std::vector<std::byte> read = places_there.read();
    EXPECT_TRUE(std::ranges::equal(read, std::as_bytes(std::span<const std::uint64_t>(expected))));
  }
}

TEST(UnorderedTest, ZerosAndNans) {
  const auto found = [](const auto& data) { return find_unordered(ArrayView(data)); };
  std::vector<double> x(100, 1.0);
  EXPECT_FALSE(found(x).both_zeros || found(x).nan || found(x).other_nan);
  x[3] = -0.0;
  EXPECT_FALSE(found(x).both_zeros);
  x[97] = 0.0;
  EXPECT_TRUE(found(x).both_zeros);
  EXPECT_FALSE(has_nan(ArrayView(x)) || has_nan(ArrayView(std::vector<std::int32_t>{0, 1})));
  x[50] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(has_nan(ArrayView(x)));
  EXPECT_TRUE(found(x).nan && !found(x).other_nan);
  x[99] = -x[50];
  EXPECT_TRUE(found(x).other_nan);
  EXPECT_TRUE(found(std::vector<Half>{{0}, {0x7e00}}).other_nan);
  EXPECT_TRUE(found(std::vector<Half>{{0x8000}, {0}}).both_zeros);
  EXPECT_FALSE(found(std::vector<std::int32_t>{0, 1}).both_zeros);
}

}  // namespace
}  // namespace masu
