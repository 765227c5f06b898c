// SPDX-License-Identifier: Apache-2.0
// Every device against NumPy's quantiles, a stable sort and a stable partition.
#include "all_dtypes.h"
#include "each_device.h"
#include "quantile/quantile_test_data.h"
#include "scoped_env.h"
#include "topk/topk_test_data.h"

#include <masu/quantile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

using test::comes_before;
using test::mixed_values;

class QuantileTest : public test::EachDevice {
 protected:
  // For the disk, PoCL would compile every kernel once more.
  const test::ScopedEnv cache{"MASU_CACHE", "off"};
  // Those that a test can wait for: PoCL takes long to compile.
  [[nodiscard]] bool has(Dtype dtype) const {
    if (dtype == Dtype::f64 && !device.info().fp64) return false;
    const bool some = device.kind() != DeviceKind::cpu && !device.info().gpu;
    return !some || dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::i8;
  }
  template <class Body>
  void for_each_type(const Body& body) {
    for (const Dtype dtype : test::all_dtypes) {
      if (has(dtype)) dispatch(dtype, body);
    }
  }
};
MASU_ON_EACH_DEVICE(QuantileTest);

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

// What the expected values were made from.
template <class T>
std::vector<T> case_data(std::size_t size, std::uint64_t seed) {
  std::vector<T> result(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t x = mixed(seed * 1000 + i);
    if constexpr (is_stored<T>) {
      result[i] = rounded_to<T>((static_cast<double>((x >> 40) % 4001) - 2000) / 8);
    } else if constexpr (std::is_floating_point_v<T>) {
      result[i] = static_cast<T>((static_cast<double>(x >> 11) * 0x1p-53 - 0.5) * 3e3);
    } else {
      const int small = static_cast<int>((x >> 8) % 100);
      result[i] = static_cast<T>(std::is_signed_v<T> ? small - 30 : small);
    }
  }
  return result;
}

constexpr std::array methods{QuantileMethod::inverted_cdf,
                             QuantileMethod::averaged_inverted_cdf,
                             QuantileMethod::closest_observation,
                             QuantileMethod::interpolated_inverted_cdf,
                             QuantileMethod::hazen,
                             QuantileMethod::weibull,
                             QuantileMethod::linear,
                             QuantileMethod::median_unbiased,
                             QuantileMethod::normal_unbiased,
                             QuantileMethod::lower,
                             QuantileMethod::higher,
                             QuantileMethod::midpoint,
                             QuantileMethod::nearest};

TEST_P(QuantileTest, NumPysBits) {
  for (const test::QuantileCase& one : test::quantile_cases) {
    if (!has(dtype_from_name(one.dtype))) continue;
    dispatch(dtype_from_name(one.dtype), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::vector<T> data = case_data<T>(one.size, one.seed);
      std::size_t result = 0;
      for (const QuantileMethod method : methods) {
        for (const double value : quantiles(device, data, test::quantile_places, {.method = method})) {
          const std::uint64_t expected = one.expected(result);
          EXPECT_EQ(std::bit_cast<std::uint64_t>(value), expected)
              << one.dtype << ' ' << one.size << ' ' << to_string(method) << " place " << result % 11 << ": " << value
              << ", not " << std::bit_cast<double>(expected);
          ++result;
        }
        EXPECT_EQ(quantile_method_from_name(to_string(method)), method);
      }
      ASSERT_EQ(result + 1, one.results.size());
      const std::uint64_t expected = one.expected(result);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(median(device, ArrayView(data))), expected) << one.dtype;
      EXPECT_EQ(std::bit_cast<std::uint64_t>(median(device.upload(data))), expected) << one.dtype;
    });
  }
}

// The elements in order; zeros and NaNs as results have them.
template <class T>
std::vector<T> sorted_values(std::vector<T> data) {
  std::stable_sort(data.begin(), data.end(), comes_before<T>);
  for (T& x : data) {
    if (!is_float(dtype_of<T>)) break;
    if (test::is_nan(x)) {
      if constexpr (is_stored<T>) x = rounded_to<T>(std::numeric_limits<double>::quiet_NaN());
      else if constexpr (std::is_floating_point_v<T>) x = std::numeric_limits<T>::quiet_NaN();
    } else if (test::number_of(x) == 0) {
      x = T{};
    }
  }
  return data;
}

TEST_P(QuantileTest, EveryPlaceOfEveryType) {
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const std::size_t size : {1, 2, 3, 1000, 70001}) {
      const std::vector<T> data = mixed_values<T>(size, size + 1);
      const std::vector<T> sorted = sorted_values(data);
      const Buffer<T> buffer = device.upload(data);
      for (const std::uint64_t n :
           {std::uint64_t{0}, std::uint64_t{size / 3}, std::uint64_t{size / 2}, std::uint64_t{size - 1}}) {
        const T found = nth_element(buffer, n);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &sorted[n], sizeof(T));
        std::uint64_t found_bits = 0;
        std::memcpy(&found_bits, &found, sizeof(T));
        EXPECT_EQ(found_bits, bits) << to_string(dtype_of<T>) << ' ' << size << ' ' << n;
        EXPECT_EQ(nth_element_bits(device, ArrayView(data), n), bits);
      }
    }
  });
}

TEST_P(QuantileTest, PartsStably) {
  for_each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const std::size_t size : {1, 2, 511, 512, 513, 20011, 150001}) {
      const std::vector<T> data = mixed_values<T>(size, size);
      const std::vector<T> sorted = sorted_values(data);
      for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{size / 2}, std::uint64_t{size - 1}}) {
        std::vector<T> expected = data;
        const T pivot = sorted[k];
        const auto less =
            std::stable_partition(expected.begin(), expected.end(), [&](T x) { return comes_before(x, pivot); });
        const auto equal = std::stable_partition(less, expected.end(), [&](T x) { return !comes_before(pivot, x); });
        const PartitionResult sizes{static_cast<std::uint64_t>(less - expected.begin()),
                                    static_cast<std::uint64_t>(equal - less)};
        const auto same = [&](const std::vector<T>& found) {
          return std::memcmp(found.data(), expected.data(), size * sizeof(T)) == 0;
        };
        std::vector<T> result(size);
        EXPECT_EQ(partition(device, ArrayView(data), MutableArrayView(result), k), sizes);
        EXPECT_TRUE(same(result)) << to_string(dtype_of<T>) << ' ' << size << ' ' << k;
        result = data;
        EXPECT_EQ(partition(device, MutableArrayView(result), k), sizes);
        EXPECT_TRUE(same(result)) << to_string(dtype_of<T>) << ' ' << size << ' ' << k;
        Buffer<T> buffer = device.upload(data);
        EXPECT_EQ(partition(buffer, k), sizes);
        EXPECT_TRUE(same(buffer.read())) << to_string(dtype_of<T>) << ' ' << size << ' ' << k;
      }
    }
  });
}

TEST_P(QuantileTest, RowsPiecesAndManyQuantiles) {
  std::vector<float> data(90000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(mixed(i) % 100000) / 64;
  std::vector<double> q;
  for (int i = 0; i <= 20; ++i) q.push_back(i / 20.0);
  const Device cpu = Device::open("cpu");
  const Buffer<float> buffer = device.upload(data);
  for (const std::uint64_t rows : {1, 3, 1000}) {
    std::vector<double> expected;
    const std::size_t length = data.size() / rows;
    for (std::uint64_t r = 0; r < rows; ++r) {
      const auto sorted =
          sorted_values(std::vector<float>(data.begin() + static_cast<std::ptrdiff_t>(r * length),
                                           data.begin() + static_cast<std::ptrdiff_t>((r + 1) * length)));
      for (const double one : q)
        expected.push_back(sorted[static_cast<std::size_t>(std::floor(static_cast<double>(length - 1) * one))]);
    }
    const QuantileOptions options{.method = QuantileMethod::lower, .rows = rows};
    EXPECT_EQ(quantiles(device, data, q, options), expected);
    EXPECT_EQ(quantiles(buffer, q, options), expected);
  }
  for (const Dtype dtype : {Dtype::f32, Dtype::i8, Dtype::f64}) {
    if (!has(dtype)) continue;
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!is_stored<T>) {
        std::vector<T> values(data.size());
        std::transform(data.begin(), data.end(), values.begin(),
                       [](float x) { return static_cast<T>(static_cast<int>(x) % 100); });
        Times times;
        const std::vector<Quantile> whole = exact_quantiles(device, ArrayView(values), q, {.times = &times});
        EXPECT_EQ(exact_quantiles(cpu, ArrayView(values), q), whole);
        EXPECT_GT(times.compute, 0);
        QuantileFinder finder(device, dtype, q);
        std::size_t passes = 0;
        do {
          ++passes;
          const std::size_t half = passes * 10007;
          finder.add(ArrayView(dtype, values.data(), half));
          finder.add_buffer(device.upload(std::span(values).subspan(half)), dtype);
        } while (finder.next_pass());
        EXPECT_LE(passes, 6U);
        EXPECT_EQ(finder.count(), values.size());
        EXPECT_EQ(finder.result(), whole);
      }
    });
  }
}

// More elements than are collected share the first bits, so that several prefixes are counted with few and with many of
// them known.
TEST(QuantilePasses, ManyWithEqualFronts) {
  const Device cpu = Device::open("cpu");
  const std::vector<double> q{0, 0.2, 0.5, 0.50001, 0.9, 1};
  constexpr std::size_t count = 1'300'000;
  std::mt19937_64 random(4);
  const auto check = [&]<class T>(std::vector<T> values) {
    SCOPED_TRACE(to_string(dtype_of<T>));
    const std::vector<Quantile> whole = exact_quantiles(cpu, ArrayView(values), q);
    QuantileFinder finder(cpu, dtype_of<T>, q);
    std::size_t passes = 0;
    do {
      ++passes;
      finder.add(ArrayView(dtype_of<T>, values.data(), 1001));
      finder.add(ArrayView(dtype_of<T>, values.data() + 1001, count - 1001));
    } while (finder.next_pass());
    EXPECT_GE(passes, sizeof(T) == 8 ? 3U : 2U);
    EXPECT_EQ(finder.result(), whole);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(finder.result().front().value, static_cast<double>(values.front()));
    EXPECT_EQ(finder.result().back().value, static_cast<double>(values.back()));
  };
  std::vector<double> doubles(count);
  std::vector<float> floats(count);
  std::vector<std::int64_t> whole(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double part = static_cast<double>(random() >> 11) * 0x1p-53;
    doubles[i] = (i % 3 == 0 ? -1 : 1) * (1 + part * 0x1p-20);
    floats[i] = static_cast<float>((i % 3 == 0 ? -1 : 1) * (1 + part * 0x1p-7));
    whole[i] = (i % 5 == 0 ? -1 : 1) * static_cast<std::int64_t>(random() % 3'000'000);
  }
  check(doubles);
  check(floats);
  check(whole);
}

TEST_P(QuantileTest, NansInfinitiesAndElements) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const double q[] = {0, 0.5, 1};
  for (const double value : quantiles(device, std::vector<float>{1, -nan, 2}, q)) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(quantile(std::vector<float>{1, 2, 4}, 0.75), 3);
  EXPECT_EQ(quantile(device.upload(std::vector<float>{1, 2, 4}), 0.75), 3);
  EXPECT_TRUE(std::isnan(median(device, ArrayView(std::vector<float>{1, nan, 2}))));
  EXPECT_TRUE(std::isnan(median(device, ArrayView(std::vector<float>{-infinity, infinity}))));
  EXPECT_THAT(quantiles(device, std::vector<float>{-infinity, 0, 5}, q, {.method = QuantileMethod::lower}),
              ::testing::ElementsAre(-infinity, 0, 5));
  const std::vector<std::int8_t> wide{-128, 127};
  if (has(Dtype::i8)) {
    EXPECT_THAT(quantiles(device, wide, q), ::testing::ElementsAre(-128, -0.5, 127));
  }
  if (!has(Dtype::u64)) return;
  const std::vector<std::uint64_t> large{~std::uint64_t{0}, 5, ~std::uint64_t{1}};
  const auto found = exact_quantiles(device, ArrayView(large), q, {.method = QuantileMethod::nearest});
  EXPECT_EQ(found[1].bits, ~std::uint64_t{1});
  EXPECT_TRUE(found[1].is_element);
}

TEST_P(QuantileTest, RefusesWhatItCannotDo) {
  std::vector<float> data{1, 2, 3, 4};
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "nothing was thrown";
  };
  const auto ask = [&](double q) { return message([&] { quantiles(device, data, {&q, 1}); }); };
  EXPECT_EQ(ask(1.5), "quantile: q must be within 0 to 1, got 1.5");
  EXPECT_EQ(ask(-0.1), "quantile: q must be within 0 to 1, got -0.1");
  EXPECT_EQ(ask(std::numeric_limits<double>::quiet_NaN()), "quantile: q must be within 0 to 1, got nan");
  const double half = 0.5;
  EXPECT_EQ(message([&] {
              quantiles(device, std::vector<float>{}, {&half, 1});
            }),
            "quantile: there must be data, got no elements");
  EXPECT_EQ(message([&] {
              quantiles(device, data, {&half, 1}, {.rows = 3});
            }),
            "quantile: rows must divide the 4 elements, got 3");
  EXPECT_THAT(message([&] { quantile_method_from_name("midle"); }),
              ::testing::AllOf(::testing::StartsWith("quantile: method is one of inverted_cdf averaged_inverted_cdf"),
                               ::testing::EndsWith("midpoint nearest, got \"midle\"")));
  EXPECT_EQ(message([&] { nth_element_bits(device, ArrayView(data), 4); }),
            "nth_element: n must be below the 4 elements, got 4");
  EXPECT_EQ(message([&] { partition(device, MutableArrayView(data), 9); }),
            "partition: k must be below the 4 elements, got 9");
  EXPECT_EQ(message([&] { partition(device, ArrayView(data), MutableArrayView(data), 1); }),
            "partition: data and result must not overlap");
  EXPECT_EQ(message([&] { median(device, ArrayView(std::vector<float>{})); }),
            "median: there must be data, got no elements");
  QuantileFinder finder(device, Dtype::f32, {&half, 1});
  EXPECT_EQ(message([&] { static_cast<void>(finder.next_pass()); }), "quantile: there must be data, got no elements");
  finder.add(ArrayView(data));
  const double most = 1;
  const QuantileFinder other(device, Dtype::f32, {&most, 1});
  EXPECT_EQ(
      message([&] { finder.merge(other); }),
      "QuantileFinder::merge: both must be in the same pass for the same, got 1 quantiles (0.5) of f32 by linear on " +
          device.id() + ", 4 elements so far and 1 quantiles (1) of f32 by linear on " + device.id() +
          ", 0 elements so far");
  const Device cpu = Device::open("cpu");
  if (device.id() == cpu.id()) return;
  EXPECT_EQ(message([&] { (void)QuantileFinder::from_bytes(cpu, finder.bytes()); }),
            "QuantileFinder::from_bytes: the bytes must be of a finder on cpu, got one on a device other than cpu");
  const QuantileFinder here(cpu, Dtype::f32, {&half, 1});
  EXPECT_EQ(message([&] { (void)QuantileFinder::from_bytes(device, here.bytes()); }),
            "QuantileFinder::from_bytes: the bytes must be of a finder on a device other than cpu, got one on cpu");
}

}  // namespace
}  // namespace masu
