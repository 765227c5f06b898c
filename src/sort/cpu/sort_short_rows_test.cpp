// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_short_rows.h"

#include <gtest/gtest.h>

#include "each_instruction_set.h"

#include <algorithm>
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
  cpu::sort_short_rows(x.data(), rows, length, sorted.data());
  EXPECT_EQ(sorted, expected) << rows << " rows of " << length;
  sorted = x;
  cpu::sort_short_rows(sorted.data(), rows, length, sorted.data());
  EXPECT_EQ(sorted, expected) << rows << " rows of " << length << " in place";
  if (length > cpu::ranked_row_most) return;
  for (const bool descending : {false, true}) {
    std::vector<std::uint8_t> ranks(x.size());
    cpu::rank_short_rows(x.data(), rows, length, descending, ranks.data());
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

}  // namespace
}  // namespace masu
