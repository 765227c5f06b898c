// SPDX-License-Identifier: Apache-2.0
// Exact sums of floats, on every device, against sums that are kept as long numbers.
#include "each_device.h"
#include "scan/scan_device.h"
#include "scan/scan_plan.h"
#include "scan/scan_reference.h"

#include <masu/scan.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace masu {
namespace {

using reference::same_bits;

template <class T>
T of_bits(std::uint64_t bits) {
  return std::bit_cast<T>(static_cast<UnsignedOf<sizeof(T)>>(bits));
}
template <class T>
T negative(T x) {
  return of_bits<T>(std::bit_cast<UnsignedOf<sizeof(T)>>(x) ^ std::uint64_t{1} << (8 * sizeof(T) - 1));
}
template <class T>
inline constexpr int precision = float_format(dtype_of<T>).precision;

template <class T>
using Named = std::vector<std::pair<std::string, std::vector<T>>>;

// Data of every kind that needs another width of numbers, with infinities and NaNs in the last ones.
template <class T>
Named<T> hostile(std::size_t count) {
  std::mt19937_64 random(5);
  const auto real = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto any = [&] {  // of all finite numbers
    const std::uint64_t sign = random() << (8 * sizeof(T) - 1) & (~std::uint64_t{0} >> (64 - 8 * sizeof(T)));
    return of_bits<T>(below(infinity_bits<T>) | sign);
  };
  const auto fill = [&](auto f) {
    std::vector<T> data(count);
    for (std::size_t i = 0; i < count; ++i) data[i] = f(i);
    return data;
  };
  // A unit of the last place of 1, and half of it.
  const double unit = std::ldexp(1, 1 - precision<T>);
  const T least = of_bits<T>(1);
  Named<T> all;
  all.emplace_back("uniform", fill([&](std::size_t) { return rounded_to<T>(real()); }));
  all.emplace_back("normal", fill([&](std::size_t) {
                     return rounded_to<T>(std::sqrt(-2 * std::log(real() + 1e-18)) * std::cos(6.2831853 * real()));
                   }));
  all.emplace_back("all exponents", fill([&](std::size_t) { return any(); }));
  std::vector<T> wide = all.back().second;
  all.emplace_back("cancelling in pairs",
                   fill([&](std::size_t i) { return i % 2 == 0 ? wide[i] : negative(wide[i - 1]); }));
  // Up to the middle and back: every prefix comes twice, and what is left at the end is the least number.
  all.emplace_back("there and back", fill([&](std::size_t i) {
                     return i == 0 ? least : 2 * i <= count ? wide[i] : negative(wide[count - i]);
                   }));
  all.emplace_back("whole", fill([&](std::size_t) { return rounded_to<T>(static_cast<double>(below(2000)) - 900); }));
  all.emplace_back("subnormal", fill([&](std::size_t) { return of_bits<T>(below(5)); }));
  all.emplace_back("zeros", fill([&](std::size_t i) { return rounded_to<T>(i % 3 == 0 ? 0.0 : -0.0); }));
  // Beyond the greatest number, and back.
  all.emplace_back("large", fill([&](std::size_t i) {
                     const T x = of_bits<T>(infinity_bits<T> - 1 - below(3));
                     return i / 100 % 2 == 0 ? x : negative(x);
                   }));
  // Half way between two numbers, exactly or but for what came long before.
  const auto halves = fill([&](std::size_t i) {
    return rounded_to<T>(i % 4 == 0 ? 1 : i % 4 == 1 ? unit / 2 : i % 4 == 2 ? -unit / 2 : below(2) == 0 ? -1 : 1);
  });
  all.emplace_back("ties", halves);
  for (const bool minus : {false, true}) {
    std::vector<T> after = halves;
    after[0] = minus ? negative(least) : least;
    all.emplace_back(minus ? "ties but for a little less" : "ties but for a little more", after);
    // In every tile, so that bits are cut everywhere.
    for (std::size_t i = 0; i < count; i += 97) after[i] = i % 2 == 0 ? least : negative(least);
    all.emplace_back("ties and little numbers", after);
  }
  // A great number before numbers far below its last place, taken away again at the end.
  std::vector<T> buried = wide;
  for (T& x : buried)
    x = rounded_to<T>(std::ldexp(static_cast<double>(reference::number(x)), -float_format(dtype_of<T>).end * 5 / 7));
  buried.front() = rounded_to<T>(1000);
  buried[count - 20] = rounded_to<T>(-1000);
  all.emplace_back("buried", buried);
  std::vector<T> infinite = all.front().second;
  infinite[count / 2] = of_bits<T>(infinity_bits<T>);
  all.emplace_back("infinity", infinite);
  infinite[count - 9] = negative(infinite[count / 2]);
  all.emplace_back("infinities", infinite);
  wide[count / 3] = of_bits<T>(infinity_bits<T> + 5);
  all.emplace_back("NaN", wide);
  return all;
}

template <class T>
void expect_same(const std::vector<T>& found, const std::vector<T>& right, const std::string& name) {
  if (same_bits(found, right)) return;
  std::size_t i = 0;
  while (same_bits(std::vector<T>{found[i]}, std::vector<T>{right[i]})) ++i;
  ADD_FAILURE() << name << ": at " << i << " " << reference::number(found[i]) << ", not "
                << reference::number(right[i]);
}

class ScanExactTest : public test::EachDevice {
 protected:
  [[nodiscard]] bool slow() const { return device.kind() != DeviceKind::cpu && !device.info().gpu; }

  // On the device as it is planned, and with several tiles for each work-group.
  template <class T>
  void check(const std::string& name, const std::vector<T>& data, bool exclusive, std::uint64_t rows,
             const std::vector<std::uint8_t>& flags) {
    const auto right = reference::scan(data, ScanOp::sum, exclusive, rows, flags);
    const ScanOptions options{
        .exclusive = exclusive, .rows = rows, .flags = flags.empty() ? ArrayView() : ArrayView(flags)};
    expect_same(scan(device, data, options), right, name);
    if (device.kind() == DeviceKind::cpu) return;
    const bool segmented = rows != 1 || !flags.empty();
    const auto plan =
        scan_plan::make(device.info(), dtype_of<T>, dtype_of<T>, data.size(), ScanOp::sum, exclusive, segmented, 0, 2);
    // From an odd place on, in place.
    std::vector<T> padded(1);
    padded.insert(padded.end(), data.begin(), data.end());
    Buffer<T> both = device.upload(padded).slice(1, data.size());
    const Buffer<std::uint8_t> there = device.upload(flags.empty() ? std::vector<std::uint8_t>(1) : flags);
    Stream stream(device);
    DeviceScan job(device, plan, nullptr);
    job.start(stream, both, both, data.size() / rows, flags.empty() ? nullptr : &there);
    stream.finish();
    expect_same(both.read(), right, name + ", few chunks");
  }
  template <class T>
  void whole(bool exclusive) {
    for (const auto& [name, data] : hostile<T>(9000 / sizeof(T) * 4)) {
      check(std::string(to_string(dtype_of<T>)) + " " + name, data, exclusive, 1, {});
    }
  }
  template <class T>
  void segments(bool exclusive) {
    std::mt19937 random(3);
    for (const auto& [name, data] : hostile<T>(6006)) {
      for (const std::uint64_t rows : {1, 2, 77, 2002}) {
        std::vector<std::uint8_t> flags(data.size());
        for (std::uint8_t& flag : flags) flag = random() % (rows == 1 ? 3000 : 30) == 0;
        const std::string what =
            std::string(to_string(dtype_of<T>)) + " " + name + ", " + std::to_string(rows) + " rows";
        if (rows > 1) check(what, data, exclusive, rows, {});
        if (rows < 3) check(what + ", flags", data, exclusive, rows, flags);
      }
    }
  }
};
MASU_ON_EACH_DEVICE(ScanExactTest);

TEST_P(ScanExactTest, Whole) {
  whole<Half>(false);
  whole<Bfloat16>(false);
  whole<float>(true);
  whole<double>(false);
  if (slow()) return;  // a compiler that takes seconds for each kind
  whole<Half>(true);
  whole<float>(false);
  whole<double>(true);
}

TEST_P(ScanExactTest, Segments) {
  segments<float>(false);
  if (slow()) return;
  segments<double>(true);
  segments<Half>(false);
  segments<float>(true);
  segments<double>(false);
}

// More chunks than a work-group scans at a time.
TEST_P(ScanExactTest, ManyChunks) {
  const std::size_t tiles = device.info().gpu ? 2500 : 260;
  const auto plan_of = [&](std::size_t count, std::uint64_t groups) {
    return scan_plan::make(device.info(), Dtype::f32, Dtype::f32, count, ScanOp::sum, false, false, 0, groups);
  };
  std::vector<float> data(tiles * plan_of(1, 1).tile_elements() - 7);
  std::mt19937 random(7);
  for (float& x : data) x = static_cast<float>(random()) - 0x1p31F;
  const std::vector<float> right = reference::scan(data, ScanOp::sum, false, 1, {});
  if (device.kind() == DeviceKind::cpu) return;
  Buffer<float> both = device.upload(data);
  Stream stream(device);
  DeviceScan job(device, plan_of(data.size(), tiles), nullptr);
  job.start(stream, both, both, data.size(), nullptr);
  stream.finish();
  expect_same(both.read(), right, "many chunks");
}

// Around tiles.
TEST_P(ScanExactTest, Sizes) {
  const auto data = hostile<float>(5000)[2].second;
  for (const std::size_t count : {1, 2, 3, 255, 1021, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097}) {
    const std::vector<float> part(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(count));
    check(std::to_string(count), part, false, 1, {});
  }
}

TEST_P(ScanExactTest, InPieces) {
  for (const auto& [name, data] : hostile<float>(4999)) {
    std::vector<float> found = data;
    ScanAccumulator accumulator(device, Dtype::f32);
    for (std::size_t first = 0; first < data.size(); first += 1666) {
      const std::size_t count = std::min<std::size_t>(1666, data.size() - first);
      accumulator.scan(ArrayView(Dtype::f32, found.data() + first, count),
                       MutableArrayView(Dtype::f32, found.data() + first, count));
    }
    expect_same(found, reference::scan(data, ScanOp::sum, false), name);
  }
}

}  // namespace
}  // namespace masu
