// SPDX-License-Identifier: Apache-2.0
// Rows parted, their orders and elements at places, against the stable sort of each row.
#include "each_instruction_set.h"
#include "elements/stored_float.h"

#include <masu/quantile.h>
#include <masu/sort.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace masu {
namespace {

template <class T>
class Selection : public testing::Test {};
using SelectionTypes = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                                      std::int32_t, std::uint64_t, std::int64_t, Half, float, double>;
TYPED_TEST_SUITE(Selection, SelectionTypes);

template <class T>
T number(double x) {
  if constexpr (is_stored<T>) return rounded_to<T>(x);
  else return static_cast<T>(x);
}

template <class T>
bool have_same_bits(const T& a, const T& b) {
  return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof(T)) == 0;
}

// Kinds: any elements, few different ones, ascending ones, equal ones; of floats also NaN, infinities and both zeros.
template <class T>
std::vector<T> elements(std::uint64_t count, unsigned kind, std::mt19937_64& random) {
  std::vector<T> result(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    double x = static_cast<double>(random() % 100);
    if (kind == 1) x = static_cast<double>(random() % 3);
    const std::uint64_t percent = i * 100 / count;
    if (kind == 2) x = static_cast<double>(percent);
    if (kind == 3) x = 7;
    result[i] = number<T>(x);
    if (kind == 0) {
      const std::uint64_t bits = random();
      std::memcpy(&result[i], &bits, sizeof(T));
    }
    if constexpr (is_float(dtype_of<T>)) {
      const double special[] = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
      if (kind == 1) result[i] = number<T>(special[random() % 5]);
      if (kind == 2 && random() % 50 == 0) result[i] = number<T>(special[random() % 5]);
    }
  }
  return result;
}

// The stable order of each row, and from it the parts: classes of what lies between and on the places.
template <class T>
void check(const std::vector<T>& data, std::uint64_t rows, const std::vector<std::uint64_t>& places) {
  const std::uint64_t length = data.size() / rows;
  const Device cpu = Device::open("cpu");
  std::vector<T> parted(data.size());
  std::vector<std::uint64_t> indices(data.size());
  std::vector<T> found(rows * places.size());
  partition_rows(ArrayView(data), rows, places, MutableArrayView(parted));
  argpartition_rows(ArrayView(data), rows, places, indices);
  elements_at(ArrayView(data), rows, places, MutableArrayView(found));
  std::vector<std::uint64_t> order(data.size());
  argsort(cpu, ArrayView(data), MutableArrayView(order), {.rows = rows});
  const auto equal = [](T a, T b) {
    if constexpr (is_float(dtype_of<T>)) {
      double x = 0;
      double y = 0;
      if constexpr (is_stored<T>) x = to_double(a), y = to_double(b);
      else x = a, y = b;
      return x == y || (x != x && y != y);
    } else {
      return a == b;
    }
  };
  for (std::uint64_t row = 0; row < rows; ++row) {
    const T* const x = data.data() + row * length;
    const std::uint64_t* const sorted = order.data() + row * length;
    std::vector<std::uint64_t> rank(length);  // of equal elements one
    for (std::uint64_t i = 1; i < length; ++i) {
      rank[sorted[i]] = rank[sorted[i - 1]] + (equal(x[sorted[i]], x[sorted[i - 1]]) ? 0 : 1);
    }
    std::vector<std::uint64_t> part(length);
    for (std::uint64_t i = 0; i < length; ++i) {
      for (const std::uint64_t place : places) {
        const std::uint64_t pivot = rank[sorted[place]];
        part[i] += (rank[i] >= pivot ? 1 : 0) + (rank[i] > pivot ? 1 : 0);
      }
    }
    std::vector<std::uint64_t> want(length);
    for (std::uint64_t i = 0; i < length; ++i) want[i] = i;
    std::stable_sort(want.begin(), want.end(), [&](std::uint64_t a, std::uint64_t b) { return part[a] < part[b]; });
    if (rows > 1 && length <= 64 && !places.empty()) want.assign(sorted, sorted + length);
    for (std::uint64_t i = 0; i < length; ++i) {
      ASSERT_EQ(indices[row * length + i], want[i]) << "row " << row << ", " << i << " of " << length;
      ASSERT_TRUE(have_same_bits(parted[row * length + i], x[want[i]])) << "row " << row << ", " << i;
    }
    for (std::size_t p = 0; p < places.size(); ++p) {
      const T one = found[row * places.size() + p];
      const T other = x[sorted[places[p]]];
      if (equal(other, other) && have_same_bits(one, other)) continue;
      ASSERT_TRUE(equal(one, other) && is_float(dtype_of<T>)) << "row " << row << ", place " << places[p];
      const T quiet = number<T>(std::numeric_limits<double>::quiet_NaN());
      ASSERT_TRUE(have_same_bits(one, quiet)) << "row " << row << ", place " << places[p];
    }
  }
}

template <class T>
void check_row(std::uint64_t length, std::mt19937_64& random) {
  for (unsigned kind = 0; kind < 4; ++kind) {
    const auto data = elements<T>(length, kind, random);
    check(data, 1, {length / 2});
    check(data, 1, {length - 1});
    if (length < 3) continue;
    check(data, 1, {0, length / 3, length - 1});
    std::vector<std::uint64_t> many;
    for (std::uint64_t place = 0; place < length; place += 1 + length / 25) many.push_back(place);
    check(data, 1, many);
  }
}

TYPED_TEST(Selection, PartsAndFindsAsTheStableSortDoes) {
  test::each_instruction_set([] {
    std::mt19937_64 random(1);
    for (const std::uint64_t length : {1, 2, 3, 10, 24, 25, 31, 32, 33, 64, 65, 200, 1000, 2049}) {
      check_row<TypeParam>(length, random);
    }
  });
}

TYPED_TEST(Selection, PartsLongRows) {
  std::mt19937_64 random(3);
  for (const std::uint64_t length : {2048, 20000, 140000}) check_row<TypeParam>(length, random);
}

// Samples do not tell two elements apart that are most of a row.
TYPED_TEST(Selection, FindsAmongTwoElements) {
  std::mt19937_64 random(4);
  for (const std::uint64_t length : {65, 300, 2048, 5000, 70000}) {
    for (const std::uint64_t others : {0, 10}) {  // in 100
      std::vector<TypeParam> data(length);
      for (TypeParam& each : data) {
        each = number<TypeParam>(random() % 100 < others ? static_cast<double>(random() % 100)
                                 : random() % 2 == 0     ? 3
                                                         : 90);
      }
      for (const std::uint64_t place : {length / 20, length / 2 - 1, length / 2, length - length / 20})
        check(data, 1, {place});
      check(data, 1, {length / 2 - 2, length / 2, length / 2 + 2});
      if constexpr (is_float(dtype_of<TypeParam>)) {
        for (TypeParam& each : data)
          each = number<TypeParam>(random() % 2 == 0 ? -0.0 : std::numeric_limits<double>::quiet_NaN());
        data[length / 3] = number<TypeParam>(0.0);
        check(data, 1, {length / 2});
      }
    }
  }
}

TYPED_TEST(Selection, EachRowForItself) {
  test::each_instruction_set([] {
    std::mt19937_64 random(2);
    for (const auto& [rows, length] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {1000, 10}, {4100, 2}, {300, 32}, {40, 33}, {20, 100}, {17, 512}, {9, 513}, {5, 3000}, {70, 1}}) {
      for (unsigned kind = 0; kind < 4; ++kind) {
        const auto data = elements<TypeParam>(rows * length, kind, random);
        check(data, rows, {length / 2});
        if (length > 1) check(data, rows, {0, length - 1});
        check(data, rows, {});
        if (length < 40) continue;
        for (const std::uint64_t place :
             {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{8}, length - 9, length - 8, length - 1}) {
          check(data, rows, {place});
        }
      }
    }
  });
}

TEST(SelectionErrors, NameTheRule) {
  std::vector<int> data(10);
  std::vector<int> result(10);
  const auto error = [&](std::uint64_t rows, std::vector<std::uint64_t> places) -> std::string {
    try {
      partition_rows(ArrayView(data), rows, places, MutableArrayView(result));
    } catch (const Error& caught) {
      return caught.what();
    }
    return "";
  };
  EXPECT_EQ(error(3, {0}), "partition_rows: rows must divide the 10 elements, got 3");
  EXPECT_EQ(error(2, {5}), "partition_rows: places must be below 5, the length of a row, got 5");
  EXPECT_EQ(error(1, {3, 3}), "partition_rows: places must ascend, got 3 after 3");
  result.resize(9);
  EXPECT_EQ(error(1, {3}), "partition_rows: the result must be 10 i32, got 9 i32");
}

}  // namespace
}  // namespace masu
