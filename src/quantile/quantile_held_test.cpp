// SPDX-License-Identifier: Apache-2.0
// Quantiles of data that stays where it is, in one part or several.
#include "each_device.h"
#include "elements/order.h"
#include "expect_error.h"
#include "select/place_finder.h"

#include <masu/quantile.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace masu {
namespace {

using Bytes = std::vector<std::byte>;

enum class Held : std::uint8_t { numbers, ascending, equal, few, often, zeros, with_nan, infinite };
constexpr Held held_kinds[] = {Held::numbers, Held::ascending, Held::equal,    Held::few,
                               Held::often,   Held::zeros,     Held::with_nan, Held::infinite};

template <class T>
std::vector<T> held_data(Held kind, std::size_t n) {
  std::mt19937_64 random(n + static_cast<unsigned>(kind));
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t r = random() >> 20;
    double value = static_cast<double>(r % 200000) - (std::is_signed_v<T> ? 100000 : 0);
    if (kind == Held::ascending) value = static_cast<double>(i);
    if (kind == Held::equal) value = 7;
    if (kind == Held::few) value = static_cast<double>(r % 3);
    if (kind == Held::often && r % 5 < 2) value = 30000;
    x[i] = sizeof(T) == 1 ? static_cast<T>(static_cast<std::uint64_t>(value)) : static_cast<T>(value);
    if constexpr (std::is_floating_point_v<T>) {
      if (kind == Held::zeros && r % 3 != 0) x[i] = r % 2 == 0 ? T{0} : -T{0};
      if (kind == Held::infinite && r % 2 != 0) x[i] = (r % 4 == 1 ? 1 : -1) * std::numeric_limits<T>::infinity();
      if (kind == Held::with_nan && i == n / 3) x[i] = -std::numeric_limits<T>::quiet_NaN();
    }
  }
  return x;
}

class HeldQuantiles : public test::EachDevice {
 protected:
  // Finders of the parts that begin at the cuts; all of them with the result.
  template <class T>
  void expect_found(const std::vector<T>& x, const std::vector<std::size_t>& cuts, std::uint64_t samples,
                    const std::vector<double>& q, bool on_device) {
    std::vector<Buffer<T>> buffers;
    std::vector<QuantileFinder> finders;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const std::span part = std::span(x).subspan(cuts[i], cuts[i + 1] - cuts[i]);
      QuantileFinder& finder = finders.emplace_back(device, dtype_of<T>, q);
      const std::uint64_t share = samples == 0 ? 0 : 1 + samples * part.size() / x.size();
      if (on_device) finder.hold_buffer(buffers.emplace_back(device.upload(part)), dtype_of<T>, share);
      else finder.hold(ArrayView(part), share);
    }
    for (bool more = true; more;) {
      QuantileFinder all = QuantileFinder::from_bytes(device, finders[0].bytes());
      for (std::size_t i = 1; i < finders.size(); ++i) {
        all.merge(QuantileFinder::from_bytes(device, finders[i].bytes()));
      }
      const Bytes bytes = all.bytes();
      for (QuantileFinder& finder : finders) {
        finder.take(bytes);
        const bool goes_on = finder.next_pass();
        EXPECT_TRUE(&finder == &finders[0] || goes_on == more);
        more = goes_on;
      }
    }
    const std::vector<Quantile> expected = exact_quantiles(Device::open("cpu"), ArrayView(x), q);
    for (const QuantileFinder& finder : finders) {
      EXPECT_EQ(finder.result(), expected);
      EXPECT_EQ(finder.count(), x.size());
      EXPECT_EQ(QuantileFinder::from_bytes(device, finder.bytes()).result(), expected);
    }
  }
  template <class T>
  void check(std::size_t n) {
    if (dtype_of<T> == Dtype::f64 && !device.info().fp64) return;
    const std::vector<double> few{0.5};
    const std::vector<double> some{0, 0.3, 0.5, 1};
    const std::vector<double> many{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};
    unsigned turn = 0;
    for (const Held kind : held_kinds) {
      const std::vector<T> x = held_data<T>(kind, n);
      for (const std::vector<std::size_t>& cuts :
           {std::vector<std::size_t>{0, n}, {0, n / 2, n}, {0, 0, 1, n, n}, {0, n / 7, n / 3, n}}) {
        // Samples that tell, and those that mislead.
        for (const std::uint64_t samples : {std::uint64_t{2048}, std::uint64_t{40}}) {
          SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + ", data " + std::to_string(static_cast<int>(kind)) + ", " +
                       std::to_string(cuts.size() - 1) + " parts, samples " + std::to_string(samples));
          const std::vector<double>& q = turn % 3 == 0 ? few : turn % 3 == 1 ? some : many;
          expect_found(x, cuts, turn % 7 == 6 ? 0 : samples, q, turn % 2 == 0);
          ++turn;
        }
      }
    }
  }
};
MASU_ON_EACH_DEVICE(HeldQuantiles);

TEST_P(HeldQuantiles, OfPartsAsOfAll) {
  const std::size_t n = device.kind() == DeviceKind::opencl ? 5011 : 30011;
  check<float>(n);
  check<double>(n);
  check<std::uint32_t>(n);
  check<std::int64_t>(n);
  check<std::uint8_t>(n);
}

TEST_P(HeldQuantiles, OfLittle) {
  for (const std::size_t n : {1, 2, 3, 17})
    expect_found(held_data<float>(Held::numbers, n), {0, n}, 64, {0.5, 1}, true);
  expect_found(held_data<float>(Held::numbers, 100), {0, 100}, 64, {}, true);
}

// One of a range's value, so that nothing is listed but the last element, which tells NaNs.
TEST_P(HeldQuantiles, OfOneValueNearTheEnd) {
  constexpr std::size_t n = 100000;
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = i < 97000 ? static_cast<float>(i) / 97000 : i < 99600 ? 7.0F : static_cast<float>(i - 99592);
  }
  for (const bool there : {false, true}) expect_found(x, {0, n}, 2048, {0.99}, there);
  expect_found(x, {0, 5000, 99000, n}, 2048, {0.99}, false);
}

TEST_P(HeldQuantiles, PassesCountAndList) {
  const std::vector<float> x = held_data<float>(Held::often, 20021);
  const auto key = [](float value) { return std::uint64_t{ordered_key(value)}; };
  const std::vector<KeyRange> ranges{
      {key(-90000), key(-80000), true}, {key(0), key(0), false},
      {key(1000), key(2000), true},     {key(2001), key(3000), false},
      {key(29999), key(30000), false},  {key(40000), key(std::numeric_limits<float>::infinity()), true}};
  const Buffer<float> all = device.upload(x);
  for (const std::size_t first : {0, 1, 3}) {
    const std::vector<float> some(x.begin() + static_cast<std::ptrdiff_t>(first), x.end());
    const Buffer<float> part(device, all.memory(), first * sizeof(float), some.size() * sizeof(float));
    for (const std::size_t number : {1, 2, 3, 6}) {
      const std::span these = std::span(ranges).first(number);
      std::vector<float> listed;
      RangeCounts expected{std::vector<std::uint64_t>(number), std::vector<std::uint64_t>(number)};
      for (const float value : some) {
        for (std::size_t r = 0; r < number; ++r) {
          expected.below[r] += key(value) < these[r].low ? 1 : 0;
          expected.upto[r] += key(value) <= these[r].high ? 1 : 0;
          if (these[r].listed && key(value) >= these[r].low && key(value) <= these[r].high) listed.push_back(value);
        }
      }
      for (const bool there : {false, true}) {
        HeldData data = there ? HeldData(part, Dtype::f32) : HeldData(device, ArrayView(some));
        EXPECT_EQ(data.pass(these, 10), expected);
        EXPECT_EQ(data.pass(these, listed.size()), expected);
        PlaceFinder finder(device, Dtype::f32);
        const std::vector<std::uint64_t> places{0, listed.size() / 2, listed.size() - 1};
        do data.give_list(finder);
        while (finder.next_pass(places));
        std::ranges::sort(listed);
        EXPECT_EQ(finder.count(), listed.size());
        for (const std::uint64_t place : places) EXPECT_EQ(finder.key(place), key(listed[place]));
      }
    }
  }
}

TEST_P(HeldQuantiles, LittleThatIsListed) {
  const std::vector<float> x = held_data<float>(Held::often, 20021);
  const auto key = [](float value) { return std::uint64_t{ordered_key(value)}; };
  const std::vector<KeyRange> ranges{
      {key(-90000), key(-80000), true}, {key(0), key(0), false}, {key(1000), key(2000), true}};
  const auto within = [&](std::size_t r, float value) {
    return key(value) >= ranges[r].low && key(value) <= ranges[r].high;
  };
  RangeCounts expected{std::vector<std::uint64_t>(3), std::vector<std::uint64_t>(3)};
  std::uint64_t listed = 0;
  for (const float value : x) {
    for (std::size_t r = 0; r < 3; ++r) {
      expected.below[r] += key(value) < ranges[r].low ? 1 : 0;
      expected.upto[r] += key(value) <= ranges[r].high ? 1 : 0;
      listed += ranges[r].listed && within(r, value) ? 1 : 0;
    }
  }
  const Buffer<float> there = device.upload(x);
  HeldData data(there, Dtype::f32);
  EXPECT_EQ(data.pass(ranges, 10), expected);
  EXPECT_EQ(data.pass(ranges, listed), expected);
  // And by digits, of what is not held.
  QuantileFinder finder(device, Dtype::f32, std::vector<double>{0.1, 0.5});
  do finder.add_buffer(there, Dtype::f32);
  while (finder.next_pass());
  EXPECT_EQ(finder.result(), exact_quantiles(Device::open("cpu"), ArrayView(x), std::vector<double>{0.1, 0.5}));
}

TEST_P(HeldQuantiles, Samples) {
  const std::vector<float> x = held_data<float>(Held::ascending, 10000);
  const Buffer<float> there = device.upload(x);
  for (const HeldData& data : {HeldData(there, Dtype::f32), HeldData(device, ArrayView(x))}) {
    for (const std::uint64_t samples : {0, 1, 7, 500, 10000, 20000}) {
      const std::vector<std::uint64_t> keys = data.sample(samples);
      ASSERT_EQ(keys.size(), std::min<std::uint64_t>(samples, x.size()));
      for (std::size_t i = 0; i < keys.size(); ++i) {  // one of each part
        const auto value = static_cast<std::uint64_t>(value_of_key<float>(keys[i]));
        EXPECT_GE(value, i * x.size() / keys.size());
        EXPECT_LE(value, (i + 1) * x.size() / keys.size());
      }
    }
  }
}

TEST_P(HeldQuantiles, Refused) {
  const std::vector<float> x = held_data<float>(Held::numbers, 3000);
  const std::vector<double> q{0.5};
  QuantileFinder finder(device, Dtype::f32, q);
  finder.hold(ArrayView(x), 100);
  MASU_EXPECT_ERROR(finder.hold(ArrayView(x), 100), invalid_argument, "a finder that holds its data takes no more");
  MASU_EXPECT_ERROR(finder.add(ArrayView(x)), invalid_argument, "a finder that holds its data takes no more");
  QuantileFinder without = QuantileFinder::from_bytes(device, finder.bytes());
  MASU_EXPECT_ERROR((void)without.next_pass(), invalid_argument, "a finder of this pass must hold data, got none");
  const QuantileFinder other(device, Dtype::f32, std::vector<double>{0.25});
  MASU_EXPECT_ERROR(finder.take(other.bytes()), invalid_argument, "the bytes must be of the same quantiles");
  const Bytes own = finder.bytes();
  MASU_EXPECT_ERROR(finder.take(std::span(own).first(20)), invalid_argument, "");
  QuantileFinder some(device, Dtype::f32, q);
  some.add(ArrayView(x));
  MASU_EXPECT_ERROR(some.hold(ArrayView(x), 100), invalid_argument, "holds all of its data, got 3000 elements before");
  // Bytes without their end change nothing, in any pass.
  QuantileFinder cut(device, Dtype::f32, q);
  cut.hold(ArrayView(x), 100);
  do {
    const Bytes before = cut.bytes();
    for (const std::size_t less : {1, 4, 9}) {
      MASU_EXPECT_ERROR(cut.take(std::span(before).first(before.size() - less)), invalid_argument, "");
      EXPECT_EQ(cut.bytes(), before);
    }
  } while (cut.next_pass());
  QuantileFinder next(device, Dtype::f32, q);
  next.hold(ArrayView(x), 100);
  ASSERT_TRUE(next.next_pass());
  MASU_EXPECT_ERROR(next.merge(finder), invalid_argument, "both must be in the same pass");
  QuantileFinder none(device, Dtype::f32, q);
  none.hold(ArrayView(std::span<const float>()), 100);
  MASU_EXPECT_ERROR((void)none.next_pass(), invalid_argument, "there must be data, got no elements");
}

}  // namespace
}  // namespace masu
