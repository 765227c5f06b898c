// SPDX-License-Identifier: Apache-2.0
#include "each_instruction_set.h"
#include "elements/order.h"
#include "plan_devices.h"
#include "sort/cpu/sort_simd.h"

#include <masu/device.h>
#include <masu/sort.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace masu {
namespace {

// Many equal ones, the ends of the dtype, subnormal numbers and infinities.
template <class T>
std::vector<T> short_rows_of(std::size_t count) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(count);
  const T ends[] = {Limits::lowest(), Limits::max(), Limits::denorm_min(), Limits::infinity(), T{7}};
  std::vector<T> x(count);
  for (T& each : x) {
    if (random() % 8 == 0) each = ends[random() % std::size(ends)];
    else if (random() % 2 == 0) each = static_cast<T>(static_cast<std::int64_t>(random() % 9) - 4);
    else each = static_cast<T>(static_cast<std::int64_t>(random()));
  }
  return x;
}

template <class T>
void check_short_rows(std::size_t rows, std::size_t length) {
  const std::vector<T> x = short_rows_of<T>(rows * length);
  std::vector<T> expected = x;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = expected.begin() + static_cast<std::ptrdiff_t>(row * length);
    std::sort(from, from + static_cast<std::ptrdiff_t>(length));
  }
  std::vector<T> sorted(x.size());
  cpu::short_row_loops<T>().sort(x.data(), rows, length, sorted.data());
  EXPECT_EQ(sorted, expected) << rows << " rows of " << length;
  sorted = x;
  cpu::short_row_loops<T>().sort(sorted.data(), rows, length, sorted.data());
  EXPECT_EQ(sorted, expected) << rows << " rows of " << length << " in place";
  if (length > cpu::ranked_row_most) return;
  for (const bool descending : {false, true}) {
    std::vector<std::uint8_t> ranks(x.size());
    cpu::short_row_loops<T>().rank(x.data(), rows, length, descending, ranks.data());
    for (std::size_t row = 0; row < rows; ++row) {
      const T* const of_row = x.data() + row * length;
      std::vector<std::size_t> order(length);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return descending ? of_row[b] < of_row[a] : of_row[a] < of_row[b];
      });
      for (std::size_t place = 0; place < length; ++place) {
        ASSERT_EQ(ranks[row * length + order[place]], place) << rows << " rows of " << length << ", row " << row;
      }
    }
  }
}

TEST(SortShortRows, EveryInstructionSet) {
  test::each_instruction_set([] {
    for (const std::size_t length : {2, 3, 4, 7, 10, 16, 17, 23, 24, 25, 32, 33, 100, 511, 512}) {
      for (const std::size_t rows : {0, 1, 2, 3, 5, 8, 15, 16, 17, 37}) {
        check_short_rows<std::int32_t>(rows, length);
        check_short_rows<std::uint32_t>(rows, length);
        check_short_rows<std::int64_t>(rows, length);
        check_short_rows<std::uint64_t>(rows, length);
        check_short_rows<float>(rows, length);
        check_short_rows<double>(rows, length);
      }
    }
  });
}

// Any bits (so NaNs and zeros of both signs too); few values; numbers far apart, each of them with near ones.
template <class T>
std::vector<T> rows_of_kind(unsigned kind, std::size_t count) {
  std::mt19937_64 random(kind * 100 + count);
  std::vector<T> x(count);
  for (T& each : x) {
    const std::uint64_t far = random() % 3 << (8 * sizeof(T) - 3);
    const std::uint64_t bits = kind == 0   ? random()
                               : kind == 1 ? (random() % 4) << (8 * sizeof(T) - 2)
                                           : far + random() % 5;
    each = std::bit_cast<T>(static_cast<KeyOf<T>>(bits));
  }
  return x;
}

template <class T>
void check_rows(unsigned kind, std::uint64_t rows, std::uint64_t length, Order order) {
  const Device cpu = Device::open("cpu");
  const std::vector<T> x = rows_of_kind<T>(kind, rows * length);
  std::vector<std::uint64_t> expected(x.size());
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto first = expected.begin() + static_cast<std::ptrdiff_t>(row * length);
    const auto last = first + static_cast<std::ptrdiff_t>(length);
    std::iota(first, last, 0U);
    const auto key = [&](std::uint64_t i) { return ordered_key(x[row * length + i]); };
    std::stable_sort(first, last, [&](std::uint64_t i, std::uint64_t j) {
      return order == Order::ascending ? key(i) < key(j) : key(i) > key(j);
    });
  }
  std::vector<std::uint64_t> places(x.size());
  argsort(cpu, ArrayView(x), MutableArrayView(places), {.order = order, .rows = rows});
  ASSERT_EQ(places, expected) << to_string(dtype_of<T>) << ", kind " << kind << ", " << rows << " rows of " << length;
  std::vector<std::uint32_t> narrow(x.size());
  argsort(cpu, ArrayView(x), MutableArrayView(narrow), {.order = order, .rows = rows});
  ASSERT_TRUE(std::ranges::equal(narrow, expected)) << to_string(dtype_of<T>);
  std::vector<T> sorted(x.size());
  sort(cpu, ArrayView(x), MutableArrayView(sorted), {.order = order, .rows = rows});
  for (std::uint64_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<KeyOf<T>>(sorted[i]), std::bit_cast<KeyOf<T>>(x[i / length * length + expected[i]]))
        << to_string(dtype_of<T>) << ", kind " << kind << ", element " << i << " of " << rows << " rows of " << length;
  }
}

TEST(SortCpuRows, EveryTypeLengthAndOrder) {
  for (const std::uint64_t length : {2, 3, 10, 24, 25, 32, 33, 100, 128, 129, 512, 513}) {
    for (const std::uint64_t rows : {2, 7, 8, 21, 70}) {
      for (const Order order : {Order::ascending, Order::descending}) {
        for (unsigned kind = 0; kind < 3; ++kind) {
          for (const Dtype dtype : test::all_dtypes) {
            dispatch(dtype, [&](auto tag) { check_rows<typename decltype(tag)::type>(kind, rows, length, order); });
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace masu
