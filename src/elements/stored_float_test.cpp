// SPDX-License-Identifier: Apache-2.0
// The arithmetic of stored floats against that in integers of soft_float.cl; the table of dtypes.
#include "elements/stored_float.h"
#include "elements/order.h"
#include "elements/soft_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>

namespace masu {
namespace {

// Calls f(T{}) for the type of each stored float.
template <class F>
void each_stored(const F& f) {
  for (const Dtype dtype : all_dtypes) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (is_stored<T>) f(T{});
    });
  }
}

// The bits of a double as a stored float, by integers alone.
template <class T>
std::uint16_t reference_bits(double x) {
  const FloatFormat format = float_format(dtype_of<T>);
  return static_cast<std::uint16_t>(soft::float_as(std::bit_cast<std::uint64_t>(x), MASU_DOUBLE_FORMAT,
                                                   static_cast<unsigned>(format.precision), format.least, 16U));
}

TEST(StoredFloat, EveryValueIsThatOfItsBits) {
  each_stored([]<class T>(T) {
    const FloatFormat format = float_format(dtype_of<T>);
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const T stored{static_cast<std::uint16_t>(bits)};
      const double value = to_double(stored);
      const std::uint64_t expected =
          soft::float_as(bits, static_cast<unsigned>(format.precision), format.least, 16U, MASU_DOUBLE_FORMAT);
      ASSERT_EQ(std::isnan(value), (bits & 0x7fffU) > infinity_bits<T>) << bits;
      if (std::isnan(value)) continue;
      ASSERT_EQ(std::bit_cast<std::uint64_t>(value), expected) << bits;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(to_float(stored)),
                std::bit_cast<std::uint32_t>(static_cast<float>(value)));
      ASSERT_EQ(rounded_to<T>(value), stored) << bits;
      ASSERT_EQ(to_double(value_of_key<T>(ordered_key(stored))), value) << bits;
    }
    EXPECT_EQ(greatest_of(format), to_double(T{static_cast<std::uint16_t>(infinity_bits<T> - 1)}));
  });
}

TEST(StoredFloat, NumbersAreRoundedToNearestEven) {
  each_stored([]<class T>(T) {
    const auto check = [](double x) {
      ASSERT_EQ(rounded_to<T>(x).bits, reference_bits<T>(x)) << x;
      ASSERT_EQ(rounded_to<T>(-x).bits, reference_bits<T>(-x)) << x;
      ASSERT_EQ(bits_rounded_to(dtype_of<T>, x), reference_bits<T>(x)) << x;
      ASSERT_EQ(rounded_to(dtype_of<T>, x), to_double(rounded_to<T>(x))) << x;
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (unsigned bits = 0; bits < infinity_bits<T>; ++bits) {  // the middle of neighbours, and beside it
      const double low = to_double(T{static_cast<std::uint16_t>(bits)});
      const double middle = low + (std::fmin(to_double(T{static_cast<std::uint16_t>(bits + 1)}),
                                             power_of_two(float_format(dtype_of<T>).end - 1) * 2) -
                                   low) /
                                      2;
      for (const double x : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, infinity)}) check(x);
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 100000; ++i) {
      const double x = std::bit_cast<double>(random());
      if (!std::isnan(x)) check(x);
    }
    for (const double x :
         {0.0, infinity, std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()})
      check(x);
    EXPECT_TRUE(std::isnan(to_double(rounded_to<T>(std::numeric_limits<double>::quiet_NaN()))));
  });
}

TEST(Dtypes, TheTableHasOneRowForEach) {
  std::set<std::string_view> names;
  std::set<std::string_view> codes;
  for (std::size_t i = 0; i < dtype_names.size(); ++i) {
    const DtypeNames& row = dtype_names[i];
    EXPECT_EQ(static_cast<std::size_t>(row.dtype), i);
    EXPECT_EQ(dtype_from_name(to_string(row.dtype)), row.dtype);
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_TRUE(row.numpy_name.empty() || codes.insert(row.numpy_name).second);
    dispatch(row.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      EXPECT_EQ(dtype_of<T>, row.dtype);
      EXPECT_EQ(size_of(row.dtype), sizeof(T));
      if constexpr (std::is_floating_point_v<T>) {
        EXPECT_EQ(float_format(row.dtype).precision, std::numeric_limits<T>::digits);
        EXPECT_EQ(float_format(row.dtype).end, std::numeric_limits<T>::max_exponent);
        EXPECT_EQ(infinity_bits<T>, std::bit_cast<UnsignedOf<sizeof(T)>>(std::numeric_limits<T>::infinity()));
      }
    });
  }
}

}  // namespace
}  // namespace masu
