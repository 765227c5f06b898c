// SPDX-License-Identifier: Apache-2.0
// Elements at places, medians and partitions that stay on the device, against the stable sort of each row.
#include "all_dtypes.h"
#include "each_device.h"
#include "elements/order.h"
#include "elements/stored_float.h"
#include "expect_error.h"
#include "quantile/quantile_plan.h"
#include "quantile/quantile_rule.h"

#include <masu/quantile.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace masu {
namespace {

enum class Kind : std::uint8_t { any_bits, numbers, few, ascending, equal, specials, zeros, extremes };
constexpr Kind kinds[] = {Kind::any_bits, Kind::numbers,  Kind::few,   Kind::ascending,
                          Kind::equal,    Kind::specials, Kind::zeros, Kind::extremes};

template <class T>
T from_number(double x) {
  if constexpr (is_stored<T>) return rounded_to<T>(x);
  else return static_cast<T>(x);
}
template <class T>
T of_bits(std::uint64_t bits) {
  T x{};
  std::memcpy(static_cast<void*>(&x), &bits, sizeof x);
  return x;
}
template <class T>
std::uint64_t bits_of(const T& x) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof x);
  return bits;
}

template <class T>
T element(Kind kind, std::uint64_t i, std::uint64_t random) {
  using Bits = KeyOf<T>;
  constexpr Bits sign = key_sign<T>;
  switch (kind) {
    case Kind::any_bits: return of_bits<T>(random);
    case Kind::numbers: return from_number<T>(static_cast<double>(random >> 32 & 0xffffff) * 0x1p-18);
    case Kind::few: return from_number<T>(static_cast<double>(random % 3));
    case Kind::ascending: return from_number<T>(static_cast<double>(i % 100));
    case Kind::equal: return from_number<T>(7);
    case Kind::zeros: return random % 3 != 0 ? of_bits<T>(random % 2 * sign) : from_number<T>(random % 2 != 0 ? 1 : 2);
    case Kind::extremes: return of_bits<T>(static_cast<Bits>(Bits(random % 2 * sign) ^ Bits(random % 5)));
    case Kind::specials: break;
  }
  if constexpr (is_float(dtype_of<T>)) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double some[] = {0.0, -0.0, infinity, -infinity, 1.5, -2.5};
    // One NaN in many: so that some rows have none.
    if (random % 4001 == 0) return of_bits<T>(random | infinity_key<T>() | 1);
    return from_number<T>(some[random / 4001 % 6]);
  } else {
    return of_bits<T>(random);
  }
}

template <class T>
std::vector<T> values_of(Kind kind, std::uint64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result(count);
  for (std::uint64_t i = 0; i < count; ++i) result[i] = element<T>(kind, i, random());
  return result;
}

// Stable, and NaNs as results have them.
template <class T>
std::vector<T> sorted(std::vector<T> row) {
  std::stable_sort(row.begin(), row.end(), [](const T& a, const T& b) { return ordered_key(a) < ordered_key(b); });
  constexpr KeyOf<T> greatest = std::numeric_limits<KeyOf<T>>::max();
  for (T& x : row) {
    if (is_float(dtype_of<T>) && ordered_key(x) == greatest)
      x = from_number<T>(std::numeric_limits<double>::quiet_NaN());
  }
  return row;
}

// The mean of the two in the middle, rounded once: the sum, which begins with +0, in the dtype, f16 and bf16 in f64,
// then half of it, or the sum of both halves where the sum overflows; of integers exactly.
template <class T>
auto median_of_sorted(const std::vector<T>& row) {
  const std::size_t upper = row.size() / 2;
  const std::size_t lower = (row.size() - 1) / 2;
  if constexpr (!is_float(dtype_of<T>)) {
    __extension__ using Wide = __int128;
    return static_cast<double>(static_cast<Wide>(row[lower]) + static_cast<Wide>(row[upper])) / 2;
  } else {
    if (ordered_key(row.back()) == std::numeric_limits<KeyOf<T>>::max()) return row.back();
    if (upper == lower) return ordered_key(row[upper]) == ordered_key(T{}) ? T{} : row[upper];
    if constexpr (is_stored<T>) {
      const double mean = (0.0 + to_double(row[lower]) + to_double(row[upper])) / 2;
      return rounded_to<T>(std::isnan(mean) ? std::numeric_limits<double>::quiet_NaN() : mean);
    } else {
      const bool overflows =
          std::isfinite(row[lower]) && std::isfinite(row[upper]) && std::isinf(row[lower] + row[upper]);
      const T mean = overflows ? row[lower] / 2 + row[upper] / 2 : (T{0} + row[lower] + row[upper]) / 2;
      return mean != mean ? std::numeric_limits<T>::quiet_NaN() : mean;
    }
  }
}

class SelectionDeviceTest : public test::EachDevice {
 protected:
  // Those that a test can wait for: PoCL takes long to compile.
  [[nodiscard]] bool has(Dtype dtype) const {
    if (dtype == Dtype::f64 && !device.info().fp64) return false;
    const bool some = device.kind() != DeviceKind::cpu && !device.info().gpu;
    return !some || dtype == Dtype::i8 || dtype == Dtype::f16 || dtype == Dtype::f32 || dtype == Dtype::f64;
  }

  // `offset`: elements in front of the data, so that it is not aligned.
  template <class T>
  void check(const std::vector<T>& data, std::uint64_t rows, const std::vector<std::uint64_t>& places,
             std::uint64_t offset = 0) {
    SCOPED_TRACE(testing::Message() << to_string(dtype_of<T>) << ", " << data.size() << " elements, " << rows
                                    << " rows");
    const std::uint64_t length = data.size() / rows;
    Buffer<T> memory(device, data.size() + offset);
    Buffer<T> there = memory.slice(offset, data.size());
    there.write(std::span<const T>(data));
    using Median = decltype(median_of_sorted(data));
    Buffer<T> found(device, rows * places.size());
    Buffer<Median> medians(device, rows);
    Stream stream(device, Timing::off);
    elements_at(stream, there, dtype_of<T>, places, found, {.rows = rows}).get();
    median(stream, there, dtype_of<T>, medians, {.rows = rows}).get();
    const std::vector<T> elements = found.read();
    const std::vector<Median> middles = medians.read();
    for (std::uint64_t row = 0; row < rows; ++row) {
      const auto first = data.begin() + static_cast<std::ptrdiff_t>(row * length);
      const std::vector<T> order = sorted(std::vector<T>(first, first + static_cast<std::ptrdiff_t>(length)));
      for (std::size_t p = 0; p < places.size(); ++p) {
        ASSERT_EQ(bits_of(elements[row * places.size() + p]), bits_of(order[places[p]])) << "place " << places[p];
      }
      ASSERT_EQ(bits_of(middles[row]), bits_of(median_of_sorted(order))) << "median of row " << row;
    }
  }

  // The elements parted around each place, and their indices; neither the results nor the data are aligned.
  template <class T>
  void check_parts(const std::vector<T>& data, const std::vector<std::uint64_t>& places, std::uint64_t offset = 0) {
    SCOPED_TRACE(testing::Message() << to_string(dtype_of<T>) << ", parts of " << data.size() << " elements");
    const std::uint64_t count = data.size();
    Buffer<T> memory(device, count + offset);
    Buffer<T> there = memory.slice(offset, count);
    there.write(std::span<const T>(data));
    const std::vector<T> order = sorted(data);
    std::vector<KeyOf<T>> keys(count);
    std::transform(data.begin(), data.end(), keys.begin(), [](const T& x) { return ordered_key(x); });
    Buffer<T> parts(device, count + 1);
    Buffer<std::uint64_t> wide(device, count + 1);
    Buffer<std::uint32_t> narrow(device, count + 3);
    Buffer<std::uint64_t> sizes(device, 3);
    Stream stream(device, Timing::off);
    for (const std::uint64_t k : places) {
      const KeyOf<T> pivot = ordered_key(order[k]);
      std::vector<std::uint64_t> expected(count);
      std::iota(expected.begin(), expected.end(), 0);
      std::ranges::stable_sort(expected, {}, [&](std::uint64_t i) {
        return keys[i] < pivot ? 0 : keys[i] > pivot ? 2 : 1;
      });
      const auto less = static_cast<std::uint64_t>(std::ranges::count_if(keys, [&](auto key) { return key < pivot; }));
      const auto equal = static_cast<std::uint64_t>(std::ranges::count(keys, pivot));
      const Buffer<std::uint64_t> both = sizes.slice(1, 2);
      const auto expect_sizes = [&] {
        EXPECT_EQ(both.read(), (std::vector<std::uint64_t>{less, equal})) << "place " << k;
        sizes.fill(77);
      };
      Buffer<T> to = parts.slice(k % 2, count);
      partition(stream, there, dtype_of<T>, {to, both}, k).get();
      expect_sizes();
      const std::vector<T> found = to.read();
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(bits_of(found[i]), bits_of(data[expected[i]])) << "element " << i << " around " << k;
      }
      Buffer<std::uint64_t> indices = wide.slice(k % 2, count);
      argpartition(stream, there, dtype_of<T>, {indices, both}, Dtype::u64, k).get();
      expect_sizes();
      ASSERT_EQ(indices.read(), expected) << "around " << k;
      if (sizeof(T) != 4) continue;
      Buffer<std::uint32_t> small = narrow.slice(1 + k % 3, count);
      argpartition(stream, there, dtype_of<T>, {small, both}, Dtype::u32, k).get();
      expect_sizes();
      ASSERT_TRUE(std::ranges::equal(small.read(), expected)) << "around " << k;
    }
  }

  template <class T>
  void check_all(std::uint64_t count, Kind kind, std::uint64_t rows = 1) {
    SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind));
    const std::uint64_t length = count / rows;
    std::vector<std::uint64_t> places{0, length / 3, length / 2, length / 2 + 1, length - 1};
    std::erase_if(places, [&](std::uint64_t place) { return place >= length; });
    places.erase(std::unique(places.begin(), places.end()), places.end());
    const std::vector<T> data = values_of<T>(kind, count, count + 17 * static_cast<unsigned>(kind));
    check(data, rows, places, count % 3);
    if (rows == 1) check_parts(data, places, count % 3);
  }

  template <class Body>
  void each_type(const Body& body) {
    for (const Dtype dtype : test::all_dtypes) {
      if (has(dtype)) dispatch(dtype, body);
    }
  }
};
MASU_ON_EACH_DEVICE(SelectionDeviceTest);

TEST_P(SelectionDeviceTest, ShortRows) {
  each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const std::uint64_t count : {1, 2, 3, 63, 64, 65, 1000, 4099}) {
      for (const Kind kind : kinds) check_all<T>(count, kind);
    }
    check_all<T>(7 * 501, Kind::specials, 7);
    check_all<T>(3 * 1024, Kind::zeros, 3);
  });
}

// What numpy.median of NumPy 2.0 to 2.5 gives.
TEST_P(SelectionDeviceTest, MediansThatAreZeros) {
  each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float(dtype_of<T>)) {
      const T minus = from_number<T>(-0.0);
      const T least = of_bits<T>(key_sign<T> | 1);  // the greatest number below -0
      const std::vector<std::vector<T>> rows{{minus},        {minus, minus},     {minus, minus, minus},
                                             {T{}, minus},   {minus, T{}},       {least, minus, minus, minus},
                                             {least, minus}, {least, minus, T{}}};
      for (const std::vector<T>& row : rows) {
        Buffer<T> there = device.upload(std::span<const T>(row));
        Buffer<T> found(device, 1);
        Stream stream(device, Timing::off);
        median(stream, there, dtype_of<T>, found).get();
        const bool underflows = row.size() == 2 && bits_of(row[0]) == bits_of(least);
        EXPECT_EQ(bits_of(found.read()[0]), bits_of(underflows ? minus : T{})) << row.size() << " elements";
      }
    }
  });
}

TEST_P(SelectionDeviceTest, Passes) {
  each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::uint64_t beyond = selection_plan::tuned.most_short + 1;
    for (const Kind kind : kinds) check_all<T>(beyond, kind);
    check_all<T>(2 * beyond + 2, Kind::specials, 2);
  });
  // Parts of a cluster, and more than it holds.
  check_all<float>(std::uint64_t{3} * 50257, Kind::specials, 3);
  check_all<float>(400003, Kind::few);
}

// Bounds from a sample: they hold, they fall together, they mislead, what lies between them is more than the list
// takes.
TEST_P(SelectionDeviceTest, Bounds) {
  const selection_plan::Plan plan = selection_plan::make(device.info(), Dtype::f32);
  const std::uint64_t count = plan.least_bounded + 5;
  for (const Kind kind : kinds) {
    check_all<float>(count, kind);
    if (has(Dtype::u64)) check_all<std::uint64_t>(count, kind);
    else if (has(Dtype::f64)) check_all<double>(count, kind);
  }
  // Blocks as long as a part of the sample has elements: which of them are taken is as good as random.
  std::vector<float> blocks(count);
  for (std::uint64_t i = 0; i < count; ++i) blocks[i] = static_cast<float>(i / 32 % 2 * 1000 + i % 3);
  check(blocks, 1, {0, count / 2 - 3, count / 2, count - 1});
  check_parts(blocks, {0, count / 2, count - 1});
  // The sample's elements are all great, those between them small.
  const selection_plan::Bounds bounds = selection_plan::bounds(plan, count, count / 2, count / 2);
  std::vector<float> misleading(count, 0.0F);
  for (std::uint64_t i = 0; i < bounds.samples; ++i) {
    auto x = static_cast<std::uint32_t>(i);  // as in scrambled.cl
    x = (x ^ x >> 16) * 0x7feb352dU;
    x = (x ^ x >> 15) * 0x846ca68bU;
    x ^= x >> 16;
    const std::uint64_t width = count / bounds.samples;
    misleading[i * count / bounds.samples + (std::uint64_t{x} * width >> 32)] = static_cast<float>(i + 1);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (misleading[i] == 0) misleading[i] = static_cast<float>(i % 1000) * -0.25F;
  }
  check(misleading, 1, {0, count / 2, count - 1});
  check_parts(misleading, {0, count / 2});
  // Half of all between two bounds that are the sample's least and greatest.
  for (std::uint64_t i = 0; i < count; ++i) {
    if (misleading[i] > 0) misleading[i] = misleading[i] < static_cast<float>(bounds.samples) / 2 ? -1e9F : 1e9F;
  }
  check(misleading, 1, {1, count / 2, count - 2});
  check_parts(misleading, {1, count / 2, count - 2});
}

// What racecheck has the time for: digits of a row, rows that are sorted, and bounds from a sample, of numbers that
// hold them and of equal elements.
TEST_P(SelectionDeviceTest, LittleOfARow) {
  check_all<float>(selection_plan::tuned.most_short + 1, Kind::specials);
  check_all<std::int8_t>(selection_plan::tuned.most_short + 1, Kind::any_bits);
}

TEST_P(SelectionDeviceTest, LittleOfManyRows) {
  check_all<float>(std::uint64_t{5000} * 7, Kind::specials, 5000);
  std::vector<std::uint64_t> places;
  for (std::uint64_t place = 3; place < 9000; place += 400) places.push_back(place);
  check(values_of<float>(Kind::zeros, 9000, 5), 1, places);
}

TEST_P(SelectionDeviceTest, LittleWithBounds) {
  const std::uint64_t count = selection_plan::make(device.info(), Dtype::f32).least_bounded + 5;
  check(values_of<float>(Kind::numbers, count, 3), 1, {count / 2}, 1);
}

// Sizes around tiles and chunks of a partition.
TEST_P(SelectionDeviceTest, PartsOfAnySize) {
  const selection_plan::Plan plan = selection_plan::make(device.info(), Dtype::f32);
  const std::uint64_t tile = plan.tile_vectors() * 4;
  for (const std::uint64_t tiles : {std::uint64_t{1}, std::uint64_t{2}, plan.groups(1 << 30) * 3}) {
    for (const std::uint64_t count : {tiles * tile - 5, tiles * tile - 1, tiles * tile, tiles * tile + 3}) {
      const auto data = values_of<float>(Kind::numbers, count, count);
      for (std::uint64_t offset = 0; offset < 4; ++offset) {
        check_parts(data, {offset * (count - 1) / 3}, offset);
        if (tiles > 2) break;
      }
    }
  }
  std::mt19937_64 random(5);
  for (int turn = 0; turn < 30; ++turn) {
    const std::uint64_t count = 1 + random() % (turn % 4 == 0 ? 50000 : 700);
    const Kind kind = kinds[random() % std::size(kinds)];
    check_parts(values_of<float>(kind, count, random()), {random() % count}, random() % 5);
    check_parts(values_of<std::int8_t>(kind, count, random()), {random() % count}, random() % 17);
  }
}

TEST_P(SelectionDeviceTest, ManyRowsAndManyPlacesAreSorted) {
  const std::uint64_t rows = 5000;
  check_all<float>(rows * 11, Kind::specials, rows);
  check_all<Half>(rows * 4, Kind::any_bits, rows);
  std::vector<std::uint64_t> places;
  for (std::uint64_t place = 3; place < 9000; place += 400) places.push_back(place);
  check(values_of<float>(Kind::zeros, 9000, 5), 1, places);
  check(values_of<std::int64_t>(Kind::any_bits, 18000, 6), 2, places);
}

TEST_P(SelectionDeviceTest, HasTheBitsOfTheCpuForRandomShapes) {
  std::mt19937_64 random(3);
  for (int turn = 0; turn < 40; ++turn) {
    const std::uint64_t rows = 1 + random() % 5;
    const std::uint64_t length = 1 + random() % (turn % 4 == 0 ? 50000 : 700);
    const auto data = values_of<float>(kinds[random() % std::size(kinds)], rows * length, random());
    std::vector<std::uint64_t> places;
    for (unsigned i = 0; i < 1 + random() % 5; ++i) places.push_back(random() % length);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    check(data, rows, places, random() % 5);
  }
}

TEST_P(SelectionDeviceTest, BadInput) {
  Stream stream(device, Timing::off);
  Buffer<float> data(device, 100);
  data.fill(1.0F);
  Buffer<float> result(device, 4);
  const std::vector<std::uint64_t> two{3, 50};
  const auto at = [&](const std::vector<std::uint64_t>& places, const BufferBase& to, std::uint64_t rows = 1) {
    elements_at(stream, data, Dtype::f32, places, to, {.rows = rows}).get();
  };
  const Buffer<float> of_two = result.slice(0, 2);
  MASU_EXPECT_ERROR(at(two, of_two, 3), invalid_argument, "elements_at: rows must divide the 100 elements, got 3");
  MASU_EXPECT_ERROR(at(two, result, 2), invalid_argument,
                    "elements_at: places must be below 50, the length of a row, got 50");
  MASU_EXPECT_ERROR(at({3, 3}, of_two), invalid_argument, "elements_at: places must ascend, got 3 after 3");
  MASU_EXPECT_ERROR(at(two, result), invalid_argument, "elements_at: the result");
  MASU_EXPECT_ERROR(at(two, data.slice(0, 2)), invalid_argument, "elements_at: the result");
  MASU_EXPECT_ERROR(median(stream, data, Dtype::f32, of_two).get(), invalid_argument, "median: the result");
  const Buffer<std::uint64_t> sizes(device, 2);
  const Buffer<float> parts(device, 100);
  const auto part = [&](const PartitionTargets& to, std::uint64_t k) {
    partition(stream, data, Dtype::f32, to, k).get();
  };
  MASU_EXPECT_ERROR(part({parts, sizes}, 100), invalid_argument,
                    "partition: k must be below the 100 elements, got 100");
  MASU_EXPECT_ERROR(part({of_two, sizes}, 1), invalid_argument, "partition: the result");
  MASU_EXPECT_ERROR(part({data, sizes}, 1), invalid_argument, "partition: the result");
  MASU_EXPECT_ERROR(part({parts, sizes.slice(0, 1)}, 1), invalid_argument, "partition: the sizes");
  MASU_EXPECT_ERROR(part({parts, parts.slice(0, 4)}, 1), invalid_argument, "partition: the sizes");
  MASU_EXPECT_ERROR(argpartition(stream, data, Dtype::f32, {parts, sizes}, Dtype::f32, 1).get(), invalid_argument,
                    "argpartition: indices are u64 or u32, got f32");
  if (device.kind() != DeviceKind::cpu) {
    const Buffer<std::byte> little(device, 16);
    MASU_EXPECT_ERROR(partition(stream, data, Dtype::f32, {parts, sizes}, 1, &little).get(), invalid_argument,
                      "partition: workspace must be at least");
  }
  const Buffer<float> none(device, 0);
  MASU_EXPECT_ERROR(median(stream, none, Dtype::f32, result.slice(0, 1)).get(), invalid_argument,
                    "median: there must be data, got no elements");
  elements_at(stream, data, Dtype::f32, {}, none).get();
}

}  // namespace
}  // namespace masu
