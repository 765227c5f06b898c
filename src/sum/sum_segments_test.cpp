// SPDX-License-Identifier: Apache-2.0
// Sums of segments, on every device, against ExactSum and integers of 128 bits.
#include "all_dtypes.h"
#include "each_architecture.h"
#include "each_device.h"
#include "expect_error.h"
#include "misaligned.h"
#include "sum/sum_plan.h"
#include "sum/sum_test_data.h"

#include <masu/group.h>
#include <masu/sum.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {
namespace {

using Offsets = std::vector<std::uint64_t>;
using Bytes = std::vector<std::byte>;

template <class T>
Bytes expected(const std::vector<T>& x, const Offsets& offsets, Dtype result) {
  Bytes found;
  const auto append = [&](const auto& number) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
    found.insert(found.end(), bytes, bytes + sizeof number);
  };
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const ArrayView segment(dtype_of<T>, x.data() + offsets[s], offsets[s + 1] - offsets[s]);
    if constexpr (std::is_integral_v<T>) {
      std::uint64_t total = 0;  // of signed ones modulo 2^64
      for (std::uint64_t i = offsets[s]; i < offsets[s + 1]; ++i) total += static_cast<std::uint64_t>(x[i]);
      append(total);
    } else {
      ExactSum total;
      total.add(segment);
      const double sum = total.sum(result);
      if (result == Dtype::f64) append(sum);
      else if (result == Dtype::f32) append(static_cast<float>(sum));
      else append(test::real<T>(sum));
    }
  }
  return found;
}

// Lengths around what a work-item, a team and a work-group take, none, and one long one.
Offsets offsets_of(std::uint64_t count, unsigned most, unsigned seed) {
  std::mt19937 random(seed);
  Offsets offsets{0, 0};
  while (offsets.back() < count) {
    std::uint64_t length = random() % 3 == 0 ? random() % 3 : random() % most;
    if (random() % 20 == 0) length = 5000;
    offsets.push_back(std::min(count, offsets.back() + length));
  }
  offsets.push_back(count);
  return offsets;
}

class SegmentSumTest : public test::EachDevice {
 protected:
  template <class T>
  void expect_sums(const std::vector<T>& x, const Offsets& offsets, Dtype result, const std::string& name) const {
    const Bytes right = expected(x, offsets, result);
    const Buffer<T> there = test::misaligned(device, x);
    const Buffer<std::uint64_t> places = device.upload(offsets);
    const Buffer<std::byte> sums(device, right.size());
    const Buffer<std::byte> room(
        device, segment_sum_workspace(device, dtype_of<T>, x.size(), offsets.size() - 1, {.result = result}));
    Stream stream(device);
    segment_sum(stream, there, dtype_of<T>, places, sums, {.result = result, .workspace = &room}).get();
    ASSERT_EQ(sums.read(), right) << name;
  }
};
MASU_ON_EACH_DEVICE(SegmentSumTest);

TEST_P(SegmentSumTest, EveryDtype) {
  for (const Dtype dtype : test::all_dtypes) {
    dispatch(dtype, [&]<class T>(TypeTag<T>) {
      if (dtype == Dtype::f64 && !device.info().fp64) return;
      std::mt19937_64 random(7);
      std::vector<T> x(30011);
      for (T& one : x) {
        if constexpr (std::is_integral_v<T>) one = static_cast<T>(random());
        else one = test::real<T>(static_cast<double>(static_cast<int>(random() % 2001) - 1000) * 0.37);
      }
      const Dtype result = std::is_integral_v<T> ? Dtype::f64 : dtype;
      const std::string name(to_string(dtype));
      for (const unsigned most : {4U, 100U, 3000U}) {
        expect_sums(x, offsets_of(x.size(), most, most), result, name + " up to " + std::to_string(most));
      }
    });
  }
}

TEST_P(SegmentSumTest, WhatNoBoundProves) {
  std::vector<float> x;
  Offsets offsets{0};
  for (int s = 0; s < 300; ++s) {
    const float large = std::ldexp(1.0F, s % 120);
    const int pairs = s % 7 == 0 ? 700 : s % 5;
    for (int i = 0; i < pairs; ++i) x.insert(x.end(), {large, 1e-20F, -large});
    if (s % 11 == 0) x.push_back(std::numeric_limits<float>::infinity());
    if (s % 33 == 0) x.push_back(-std::numeric_limits<float>::infinity());
    if (s % 50 == 0) x.push_back(std::numeric_limits<float>::quiet_NaN());
    offsets.push_back(x.size());
  }
  expect_sums(x, offsets, Dtype::f32, "f32");
  expect_sums(x, offsets, Dtype::f64, "f32 to f64");
  if (device.info().fp64) expect_sums(std::vector<double>(x.begin(), x.end()), offsets, Dtype::f64, "f64");
}

TEST_P(SegmentSumTest, EverySize) {
  for (const std::size_t count : {0, 1, 2, 3, 255, 256, 257, 4095, 4096, 4097}) {
    const std::vector<std::int32_t> x(count, -3);
    expect_sums(x, {0, count}, Dtype::f64, std::to_string(count));
    expect_sums(x, {0, 0, count / 2, count / 2, count, count}, Dtype::f64, std::to_string(count));
    expect_sums(x, {count / 3, count / 2}, Dtype::f64, std::to_string(count));
  }
  expect_sums(std::vector<std::int32_t>(5), {3}, Dtype::f64, "no segments");
}

// A few long ones beside very many of none or one element, wherever work-groups are cut.
TEST_P(SegmentSumTest, SkewedLengths) {
  std::mt19937 random(11);
  const std::size_t count = 1100007;  // not few
  std::vector<float> x(count);
  for (float& one : x) one = static_cast<float>(static_cast<int>(random() % 200001) - 100000) * 0.37F;
  const std::vector<std::uint8_t> bytes(x.size(), 200);
  const std::vector<double> doubles(x.begin(), x.end());
  for (const std::size_t few : {0, 1, 5000, 70000}) {
    Offsets offsets{0};
    for (std::size_t s = 0; s < few; ++s) offsets.push_back(offsets.back() + s % 2);
    offsets.push_back(count / 2);
    offsets.push_back(count - few);
    for (std::size_t s = 0; s < few; ++s) offsets.push_back(std::min(count, offsets.back() + s % 3));
    expect_sums(x, offsets, Dtype::f32, std::to_string(few));
    expect_sums(bytes, offsets, Dtype::f64, std::to_string(few));
    if (device.info().fp64) expect_sums(doubles, offsets, Dtype::f64, std::to_string(few));
  }
}

// Many work-groups have pieces of a segment that no bound proves.
TEST_P(SegmentSumTest, LongOnesThatNoBoundProves) {
  std::vector<float> x;
  for (int i = 0; i < 400000; ++i) x.insert(x.end(), {1e30F, 1e-20F, -1e30F});
  const std::uint64_t n = x.size();
  const std::vector<Offsets> cuts{
      {0, n}, {0, n / 3, n}, {0, 100, 200, n - 7, n}, {0, n / 4, n / 2, n / 2, n - n / 4, n}};
  for (const Offsets& offsets : cuts) expect_sums(x, offsets, Dtype::f32, std::to_string(offsets.size()));
  if (device.info().fp64) expect_sums(std::vector<double>(x.begin(), x.end()), cuts[3], Dtype::f64, "f64");
  x[n / 2 + 1000] = std::numeric_limits<float>::infinity();
  x[n - 1] = std::numeric_limits<float>::quiet_NaN();
  for (const Offsets& offsets : cuts) expect_sums(x, offsets, Dtype::f32, "not finite");
}

TEST_P(SegmentSumTest, Misfits) {
  const Buffer<std::int64_t> x = device.upload(std::vector<std::int64_t>(3, std::int64_t{1} << 62));
  const Buffer<std::uint64_t> offsets = device.upload(Offsets{0, 1, 3});
  const Buffer<std::int64_t> sums(device, 2);
  const Buffer<std::uint32_t> status(device, 1);
  Stream stream(device);
  segment_sum(stream, x, Dtype::i64, offsets, sums, {.status = &status}).get();
  EXPECT_EQ(status.read()[0], 1U);
  EXPECT_EQ(sums.read()[0], std::int64_t{1} << 62);
  segment_sum(stream, x, Dtype::i64, offsets.slice(0, 2), sums.slice(0, 1), {.status = &status}).get();
  EXPECT_EQ(status.read()[0], 0U);
}

TEST_P(SegmentSumTest, BadOffsetsStayInside) {
  const Buffer<std::uint32_t> x = device.upload(std::vector<std::uint32_t>(1000, 1));
  const Buffer<std::uint64_t> offsets = device.upload(Offsets{0, 500, 200, 2000, ~std::uint64_t{0}, 10});
  const Buffer<std::uint64_t> sums(device, 5);
  Stream stream(device);
  const auto sum = [&] { segment_sum(stream, x, Dtype::u32, offsets, sums).get(); };
  if (device.kind() == DeviceKind::cpu) {
    MASU_EXPECT_ERROR(sum(), invalid_argument,
                      "segment_sum: offsets must be non-decreasing and at most 1000, got 200 after 500");
    return;
  }
  sum();
  EXPECT_EQ(sums.read(), (Offsets{500, 0, 800, 0, 0}));
}

TEST_P(SegmentSumTest, Refusals) {
  const Buffer<float> x = device.upload(std::vector<float>(8));
  const Buffer<std::uint64_t> offsets = device.upload(Offsets{0, 3, 8});
  const Buffer<float> sums(device, 2);
  Stream stream(device);
  MASU_EXPECT_ERROR((void)segment_sum(stream, x, Dtype::f32, offsets, sums), invalid_argument, "segment_sum: ");
  MASU_EXPECT_ERROR((void)segment_sum(stream, x, Dtype::f32, offsets.slice(0, 0), sums.slice(0, 0)), invalid_argument,
                    "there must be at least one offset, got 0");
  MASU_EXPECT_ERROR((void)segment_sum(stream, x, Dtype::f32, offsets, x.slice(0, 2), {.result = Dtype::f32}),
                    invalid_argument, "must not overlap");
}

class SegmentSumNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(SegmentSumNvrtc);

TEST_P(SegmentSumNvrtc, Segments) {
  for (const Dtype dtype : {Dtype::f16, Dtype::f32, Dtype::f64, Dtype::i32, Dtype::u64}) {
    for (const bool fine : {false, true}) {
      if (GetParam() != 90 && fine != (dtype == Dtype::f64)) continue;
      const sum_plan::Plan plan = sum_plan::make(test::nvrtc_gpu(GetParam()), dtype, sum_plan::Inputs::values, true,
                                                 fine, 1000, sum_plan::Layout::rows, 1000);
      std::vector<std::string_view> files(plan.files(true).begin(), plan.files(true).end());
      std::ranges::replace(files, "src/sum/sum_rows.cl", "src/sum/sum_segments.cl");
      expect_compiles(files, plan.defines(true), {"sum_segments", "sum_segments_join", "sum_segments_few"});
    }
  }
}

TEST(SegmentSum, OfTheHost) {
  const std::vector<std::int64_t> x(3, std::int64_t{1} << 62);
  std::vector<std::int64_t> sums(2);
  segment_sum(ArrayView(x), ArrayView(Offsets{0, 1, 2}), MutableArrayView(sums));
  EXPECT_EQ(sums, (std::vector<std::int64_t>(2, std::int64_t{1} << 62)));
  MASU_EXPECT_ERROR(segment_sum(ArrayView(x), ArrayView(Offsets{0, 1, 3}), MutableArrayView(sums)), invalid_argument,
                    "segment_sum: the sums must fit i64");
}

}  // namespace
}  // namespace masu
