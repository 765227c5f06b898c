// SPDX-License-Identifier: Apache-2.0
// Converting on every device, against exact arithmetic in long double, which holds every value of every dtype, and the
// hardware's own rounding.
#include "all_dtypes.h"
#include "convert/convert_plan.h"
#include "each_device.h"
#include "elements/stored_float.h"
#include "expect_error.h"

#include <masu/convert.h>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace masu {
namespace {

constexpr std::array<Rounding, 4> roundings = {Rounding::nearest_even, Rounding::zero, Rounding::up, Rounding::down};

// Bits of an element, and what it is worth.
template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

long double value_of(Half half) {
  const int exponent = (half.bits >> 10) & 31;
  const int fraction = half.bits & 1023;
  const double magnitude = exponent == 31
                               ? (fraction == 0 ? INFINITY : NAN)
                               : std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25);
  return (half.bits & 0x8000) != 0 ? -magnitude : magnitude;
}
long double value_of(Bfloat16 x) {
  return static_cast<long double>(std::bit_cast<float>(std::uint32_t{x.bits} << 16));
}
template <class T>
long double value_of(T value) {
  return static_cast<long double>(value);
}

struct Answer {
  std::uint64_t bits = 0;
  bool fits = true;
};

// The fraction bits and the bits in all of a float, by its dtype.
template <class T>
constexpr int fraction_bits = float_format(dtype_of<T>).precision - 1;

// |x| > 0, as the bits of the magnitude, rounded to the place that the format has there; may be infinity and beyond.
template <class T>
std::uint64_t rounded_magnitude(long double x, bool negative, Rounding rounding) {
  constexpr int bias = (1 << (8 * sizeof(T) - 2 - fraction_bits<T>)) - 1;
  const int exponent = std::max(std::ilogb(x), 1 - bias);
  const long double places = std::ldexp(x, fraction_bits<T> - exponent);
  long double whole = std::floor(places);  // exact: places have at most 64 bits
  const long double rest = places - whole;
  const bool odd = std::fmod(whole, 2) != 0;
  if (rounding == Rounding::nearest_even ? rest > 0.5L || (rest == 0.5L && odd)
                                         : rest > 0 && rounding == (negative ? Rounding::down : Rounding::up)) {
    whole += 1;
  }
  return static_cast<std::uint64_t>(whole) + (static_cast<std::uint64_t>(exponent - (1 - bias)) << fraction_bits<T>);
}

template <class S, class T>
Answer expected(S source, Overflow overflow, Rounding rounding) {
  const long double x = value_of(source);
  constexpr bool from_float = is_float(dtype_of<S>);
  if constexpr (is_float(dtype_of<T>)) {
    constexpr std::uint64_t infinity = infinity_bits<T>;
    const std::uint64_t sign =
        from_float && (bits_of(source) >> (8 * sizeof(S) - 1)) != 0 ? std::uint64_t{1} << (8 * sizeof(T) - 1) : 0;
    if (std::isnan(x)) {
      if constexpr (from_float) {
        const std::uint64_t payload = bits_of(source) & ((std::uint64_t{1} << fraction_bits<S>)-1);
        const std::uint64_t kept =
            fraction_bits<S> > fraction_bits<T>
                ? payload >> (fraction_bits<S> > fraction_bits<T> ? fraction_bits<S> - fraction_bits<T> : 0)
                : payload << (fraction_bits<S> > fraction_bits<T> ? 0 : fraction_bits<T> - fraction_bits<S>);
        return {sign | infinity | kept | std::uint64_t{1} << (fraction_bits<T> - 1)};
      }
    }
    const bool negative = x < 0;
    const std::uint64_t minus = negative ? std::uint64_t{1} << (8 * sizeof(T) - 1) : sign;
    if (x == 0) return {minus};
    if (std::isinf(x)) return {minus | infinity};
    const std::uint64_t magnitude = rounded_magnitude<T>(std::fabs(x), negative, rounding);
    if (magnitude < infinity) return {minus | magnitude};
    const bool away = rounding == Rounding::nearest_even || rounding == (negative ? Rounding::down : Rounding::up);
    return {minus | (overflow == Overflow::wrap && away ? infinity : infinity - 1), false};
  } else {
    using Limits = std::numeric_limits<T>;
    if (std::isnan(x)) return {0, false};
    const long double whole = std::trunc(x);
    const bool low = whole < static_cast<long double>(Limits::min());
    const bool high = whole > static_cast<long double>(Limits::max());
    if (overflow != Overflow::wrap) {
      if (low) return {bits_of(Limits::min()), false};
      if (high) return {bits_of(Limits::max()), false};
    } else if (low || high) {
      if (std::isinf(x)) return {0, false};
      const auto modulo = static_cast<std::uint64_t>(std::fmod(std::fabs(whole), 0x1p64L));
      return {bits_of(static_cast<T>(whole < 0 ? 0 - modulo : modulo)), false};
    }
    return {bits_of(static_cast<T>(whole)), true};
  }
}

// Values around every border of every dtype, with their neighbours, and random bits.
template <class S>
std::vector<S> values_of(std::size_t random) {
  std::vector<S> values;
  std::uint64_t state = 12345;
  const auto add = [&](std::uint64_t bits) {
    S value;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  };
  if constexpr (is_float(dtype_of<S>)) {
    for (const double border :
         {0.0,       0.5,      1.0,        1.5,        127.0,          128.0,           129.0,          255.0,
          256.0,     32767.0,  32768.0,    32769.0,    65504.0,        65519.0,         65520.0,        65535.0,
          65536.0,   0x1p31,   0x1p31 - 1, 0x1p31 + 1, 0x1p32,         0x1p32 - 1,      0x1p53,         0x1p63,
          0x1p64,    0x1p80,   0x1p-14,    0x1p-24,    0x1p-25,        0x1.8p-25,       0x1p-26,        0x1p-126,
          0x1p-149,  0x1p-150, 0x1.8p-150, 0x1p-160,   0x1.fffffep127, 0x1.fffffefp127, 0x1.ffffffp127, 0x1p128,
          0x1p-1074, 1e308}) {
      S near;
      if constexpr (is_stored<S>)
        near = {
            static_cast<std::uint16_t>(expected<double, S>(border, Overflow::saturate, Rounding::nearest_even).bits)};
      else near = static_cast<S>(border);
      for (std::uint64_t step = 0; step < 5; ++step) {
        for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << (8 * sizeof(S) - 1)})
          add((bits_of(near) + step - 2) ^ sign);
      }
    }
    for (const std::uint64_t payload : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << (fraction_bits<S> - 1),
                                        (std::uint64_t{1} << (fraction_bits<S> - 3)) + 5}) {
      add(infinity_bits<S> | payload);
      add(infinity_bits<S> | payload | std::uint64_t{1} << (8 * sizeof(S) - 1));
    }
  } else {
    for (unsigned bit = 0; bit < 8 * sizeof(S); ++bit) {
      for (std::uint64_t step = 0; step < 5; ++step) {
        add((std::uint64_t{1} << bit) + step - 2);
        add(0 - (std::uint64_t{1} << bit) + step - 2);
      }
    }
    for (const std::uint64_t border : {65504U, 65519U, 65520U, 65535U, 65536U, 70000U}) {
      add(border);
      add(0 - border);
    }
  }
  for (std::size_t i = 0; i < random; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    // Of various lengths.
    add(state >> (is_float(dtype_of<S>) ? 64 - 8 * sizeof(S) : state % 64));
  }
  return values;
}

class ConvertTest : public test::EachDevice {
 protected:
  // OpenCL CPU devices compile slowly: fewer pairs there.
  [[nodiscard]] bool thorough() const { return device.kind() == DeviceKind::cpu || device.info().gpu; }
};
MASU_ON_EACH_DEVICE(ConvertTest);

using Oracle = Answer (*)(const std::byte*, Overflow, Rounding);

template <class S, class T>
Answer answer_for(const std::byte* value, Overflow overflow, Rounding rounding) {
  S source;
  std::memcpy(&source, value, sizeof source);
  if constexpr (std::is_same_v<S, T>) return {bits_of(source)};
  else return expected<S, T>(source, overflow, rounding);
}

void expect_converted(const Device& device, const ArrayView& values, Dtype target, Oracle oracle, Overflow overflow,
                      Rounding rounding) {
  const std::string name = std::string(to_string(values.dtype)) + " to " + std::string(to_string(target)) + ", " +
                           std::string(to_string(overflow)) + ", " + std::string(to_string(rounding));
  std::vector<std::byte> out(values.count * size_of(target));
  const ConvertOptions options{.overflow = overflow, .rounding = rounding};
  std::uint64_t first = values.count;
  std::string error;
  try {
    convert(device, values, MutableArrayView(target, out.data(), values.count), options);
  } catch (const Error& thrown) {
    error = thrown.what();
  }
  for (std::uint64_t i = 0; i < values.count; ++i) {
    const Answer answer =
        oracle(static_cast<const std::byte*>(values.data) + i * size_of(values.dtype), overflow, rounding);
    std::uint64_t made = 0;
    std::memcpy(&made, &out[i * size_of(target)], size_of(target));
    ASSERT_EQ(made, answer.bits) << name << " at " << i;
    if (!answer.fits && first == values.count) first = i;
  }
  if (overflow != Overflow::error || first == values.count) {
    EXPECT_EQ(error, "") << name;
  } else {
    EXPECT_NE(error.find(" at position " + std::to_string(first)), std::string::npos) << name << ": " << error;
  }
}

template <class S, class T>
void expect_converted(const Device& device, const std::vector<S>& values, Overflow overflow, Rounding rounding) {
  expect_converted(device, ArrayView(values), dtype_of<T>, &answer_for<S, T>, overflow, rounding);
}

TEST_P(ConvertTest, EveryPair) {
  int pair = 0;
  for (const Dtype source : test::all_dtypes) {
    for (const Dtype target : test::all_dtypes) {
      if (++pair % 17 != 0 && !thorough()) continue;
      dispatch(source, [&](auto from) {
        dispatch(target, [&](auto to) {
          using S = typename decltype(from)::type;
          using T = typename decltype(to)::type;
          const std::vector<S> values = values_of<S>(3000);
          for (const Overflow overflow : {Overflow::error, Overflow::saturate, Overflow::wrap}) {
            // One way for each program that a device must build.
            if (device.kind() != DeviceKind::cpu && static_cast<int>(overflow) != pair / (thorough() ? 1 : 17) % 3) {
              continue;
            }
            expect_converted<S, T>(device, values, overflow, Rounding::nearest_even);
          }
        });
      });
    }
  }
}

TEST_P(ConvertTest, EveryRounding) {
  int pair = 0;
  for (const Dtype source : test::all_dtypes) {
    for (const Dtype target : {Dtype::f16, Dtype::f32, Dtype::f64}) {
      dispatch(source, [&](auto from) {
        dispatch(target, [&](auto to) {
          using S = typename decltype(from)::type;
          using T = typename decltype(to)::type;
          const std::vector<S> values = values_of<S>(3000);
          for (const Rounding rounding : roundings) {
            if (rounding == Rounding::nearest_even || (!thorough() && ++pair % 25 != 0)) continue;
            for (const Overflow overflow : {Overflow::error, Overflow::wrap}) {
              if (device.kind() != DeviceKind::cpu && (overflow == Overflow::error) != (pair++ % 2 == 0)) continue;
              expect_converted<S, T>(device, values, overflow, rounding);
            }
          }
        });
      });
    }
  }
}

// All f16, to and from.
TEST_P(ConvertTest, AllHalves) {
  std::vector<Half> halves;
  for (unsigned bits = 0; bits < 65536; ++bits) halves.push_back({static_cast<std::uint16_t>(bits)});
  expect_converted<Half, float>(device, halves, Overflow::error, Rounding::nearest_even);
  const std::vector<float> floats = convert<float>(device, halves);
  std::vector<float> between;  // in the middle of two, and beside it
  for (const float x : floats) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    for (const std::uint32_t step : {0x0fffU, 0x1000U, 0x1001U}) between.push_back(std::bit_cast<float>(bits + step));
  }
  expect_converted<float, Half>(device, between, Overflow::saturate, Rounding::nearest_even);
  expect_converted<float, Half>(device, between, Overflow::wrap, Rounding::up);
}

// The hardware rounds as is expected here.
TEST(Convert, OracleIsRight) {
  constexpr std::array<int, 4> modes = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
  const std::vector<double> values = values_of<double>(2000);
  for (std::size_t m = 0; m < 4; ++m) {
    for (const double value : values) {
      std::fesetround(modes[m]);
      const volatile double x = value;
      const volatile auto y = static_cast<float>(x);
      std::fesetround(FE_TONEAREST);
      const float hardware = y;
      ASSERT_EQ(bits_of(hardware), (expected<double, float>(value, Overflow::wrap, roundings[m]).bits)) << value;
    }
  }
}

// Every number of elements around vectors and groups, and views that begin anywhere.
TEST_P(ConvertTest, SizesAndPlaces) {
  const std::vector<float> all = convert<float>(device, values_of<std::int16_t>(12000));
  const Buffer<float> there = device.upload(all);
  for (const std::size_t count : {0, 1, 2, 3, 4, 5, 15, 16, 17, 255, 257, 1023, 5000, 11003}) {
    for (const std::size_t skip : {0, 1, 3}) {
      Buffer<std::uint8_t> whole = device.upload(std::vector<std::uint8_t>(count + 8, 77));
      Buffer<std::uint8_t> out = whole.slice(count % 5, count);
      convert(there.slice(skip, count), Dtype::f32, out, Dtype::u8, {.overflow = Overflow::wrap});
      const std::vector<std::uint8_t> made = whole.read();
      for (std::size_t i = 0; i < made.size(); ++i) {
        const bool inside = i >= count % 5 && i < count % 5 + count;
        const std::uint64_t right =
            inside ? expected<float, std::uint8_t>(all[i - count % 5 + skip], Overflow::wrap, Rounding::zero).bits : 77;
        ASSERT_EQ(made[i], right) << count << " from " << skip << " at " << i;
      }
    }
  }
}

TEST_P(ConvertTest, FirstThatDoesNotFit) {
  std::vector<double> values(300007, 1.0);
  for (const std::size_t place : {300006U, 200000U, 65537U, 70U, 0U}) {
    values[place] = -1.5;
    std::vector<std::uint8_t> out(values.size());
    MASU_EXPECT_ERROR(convert(device, ArrayView(values), MutableArrayView(out), {.first_position = 1000}),
                      invalid_argument,
                      "convert: every value must fit u8, got f64 -1.5 at position " + std::to_string(place + 1000));
    EXPECT_EQ(out[place], 0);
  }
  std::vector<Half> halves = {{0x3c00}, {0x7e00}};
  MASU_EXPECT_ERROR((void)convert<int>(device, halves), invalid_argument, "fit i32, got f16 nan at position 1");
}

TEST_P(ConvertTest, OnAStream) {
  const std::vector<std::int32_t> values = values_of<std::int32_t>(5000);
  const Buffer<std::int32_t> there = device.upload(values);
  Buffer<float> floats(device, values.size());
  Buffer<std::uint8_t> bytes(device, values.size());
  const Buffer<std::byte> workspace(device, std::max<std::uint64_t>(convert_workspace(device), 8));
  Stream stream(device);
  Pending<void> first = convert(stream, there, Dtype::i32, floats, Dtype::f32, {.workspace = &workspace});
  first.get();
  Pending<void> second = convert(stream, there, Dtype::i32, bytes, Dtype::u8);
  std::size_t bad = 0;
  while (values[bad] >= 0 && values[bad] < 256) ++bad;
  MASU_EXPECT_ERROR(second.get(), invalid_argument,
                    "got i32 " + std::to_string(values[bad]) + " at position " + std::to_string(bad));
  const std::vector<float> made = floats.read();
  for (std::size_t i = 0; i < made.size(); ++i) ASSERT_EQ(made[i], static_cast<float>(values[i]));
}

template <class T>
void expect_negated(const Device& device) {
  SCOPED_TRACE(to_string(dtype_of<T>));
  const std::vector<T> values = values_of<T>(70007);  // zeros, subnormals, infinities and NaNs among them
  const Buffer<T> there = device.upload(values);
  const Buffer<T> memory(device, values.size());
  Stream stream(device, Timing::off);
  for (const std::uint64_t from : {0, 1, 3}) {
    for (const std::uint64_t to : {0, 1}) {
      const std::uint64_t count = values.size() - 3;
      Buffer<T> out = memory.slice(to, count);
      convert(stream, there.slice(from, count), dtype_of<T>, out, dtype_of<T>, {.negate = true}).get();
      const std::vector<T> made = out.read();
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t sign = std::uint64_t{1} << (8 * sizeof(T) - 1);
        ASSERT_EQ(bits_of(made[i]), bits_of(values[from + i]) ^ sign) << i;
      }
    }
  }
  EXPECT_EQ(bits_of(convert<T>(device, values, {.negate = true}).back()),
            bits_of(values.back()) ^ std::uint64_t{1} << (8 * sizeof(T) - 1));
}

TEST_P(ConvertTest, TruthValues) {
  std::vector<std::uint8_t> bytes(70007);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i % 3 == 0 ? 0 : i * i % 256);
  const Buffer<std::uint8_t> there = device.upload(bytes);
  const Buffer<std::uint8_t> memory(device, bytes.size());
  Stream stream(device, Timing::off);
  for (const std::uint64_t from : {0, 1, 7}) {
    Buffer<std::uint8_t> out = memory.slice(3, bytes.size() - 7);
    convert(stream, there.slice(from, out.size()), Dtype::u8, out, Dtype::u8, {.truth = true}).get();
    const std::vector<std::uint8_t> made = out.read();
    for (std::size_t i = 0; i < made.size(); ++i) ASSERT_EQ(made[i], bytes[from + i] != 0 ? 1 : 0) << i;
  }
  EXPECT_EQ(convert<std::uint8_t>(device, std::vector<std::uint8_t>{0, 1, 2, 255}, {.truth = true}),
            (std::vector<std::uint8_t>{0, 1, 1, 1}));
  MASU_EXPECT_ERROR((void)convert<std::int8_t>(device, bytes, {.truth = true}), invalid_argument,
                    "convert: truth needs u8 to u8, without negate, got u8 to i8");
}

TEST_P(ConvertTest, Negated) {
  expect_negated<Half>(device);
  expect_negated<float>(device);
  expect_negated<double>(device);
  const std::vector<float> floats(4);
  MASU_EXPECT_ERROR((void)convert<double>(device, floats, {.negate = true}), invalid_argument,
                    "convert: negate needs floats of one dtype, got f32 to f64");
  MASU_EXPECT_ERROR((void)convert<int>(device, std::vector<int>(4), {.negate = true}), invalid_argument,
                    "got i32 to i32");
}

// A value that does not fit is noted in memory of the device, and get() throws nothing.
TEST_P(ConvertTest, StatusInMemory) {
  using Status = std::vector<std::uint64_t>;
  const Status none(2, ~std::uint64_t{0});
  std::vector<float> values(70001, 3);
  Buffer<std::uint64_t> status(device, 2);
  Buffer<std::uint8_t> bytes(device, values.size());
  Buffer<float> floats(device, values.size());
  Stream stream(device, Timing::off);
  for (const std::size_t place : {values.size(), std::size_t{70000}, std::size_t{33333}, std::size_t{0}}) {
    if (place < values.size()) values[place] = -5;
    const Buffer<float> there = device.upload(values);
    const Status expected = place == values.size() ? none : Status{place + 100, std::bit_cast<std::uint32_t>(-5.0F)};
    convert(stream, there, Dtype::f32, bytes, Dtype::u8, {.status = &status, .first_position = 100}).get();
    EXPECT_EQ(status.read(), expected);
    EXPECT_EQ(bytes.read()[place % values.size()], place == values.size() ? 3 : 0);
    for (const Overflow overflow : {Overflow::saturate, Overflow::wrap}) {
      status.fill(1);
      convert(stream, there, Dtype::f32, bytes, Dtype::u8, {.overflow = overflow, .status = &status}).get();
      EXPECT_EQ(status.read(), none);
    }
    status.fill(1);
    convert(stream, there, Dtype::f32, floats, Dtype::f32, {.status = &status}).get();
    EXPECT_EQ(status.read(), none);
  }
  status.fill(1);
  Buffer<std::uint8_t> nothing(device, 0);
  // Behind other work: get() waits for the status.
  const Buffer<float> many(device, 1 << 21);
  Buffer<double> wide(device, 1 << 21);
  for (int i = 0; i < 5 && device.info().fp64; ++i) (void)convert(stream, many, Dtype::f32, wide, Dtype::f64);
  convert(stream, floats.slice(0, 0), Dtype::f32, nothing, Dtype::u8, {.status = &status}).get();
  EXPECT_EQ(status.read(), none);
  const Buffer<std::uint64_t> one(device, 1);
  MASU_EXPECT_ERROR((void)convert(stream, floats, Dtype::f32, bytes, Dtype::u8, {.status = &one}), invalid_argument,
                    "convert: the status must have 16 bytes (2 x 8), got 8");
}

TEST_P(ConvertTest, Refusals) {
  Buffer<float> data = device.upload(std::vector<float>(8));
  Buffer<std::uint8_t> few(device, 7);
  MASU_EXPECT_ERROR(convert(data, Dtype::f32, few, Dtype::u8), invalid_argument,
                    "convert: as many elements out as in, got 7 for 8");
  MASU_EXPECT_ERROR(convert(data.slice(0, 7), Dtype::f64, few, Dtype::u8), invalid_argument,
                    "size must be a multiple of 8 bytes (f64), got 28");
  MASU_EXPECT_ERROR(convert(data, Dtype::f32, data, Dtype::u32), invalid_argument, "must not overlap");
  MASU_EXPECT_ERROR((void)rounding_from_name("odd"), invalid_argument,
                    "the rounding must be one of nearest-even, zero, up, down, got 'odd'");
  EXPECT_EQ(rounding_from_name("up"), Rounding::up);
  std::vector<float> host(4);
  MASU_EXPECT_ERROR(convert(device, ArrayView(host), MutableArrayView(Dtype::u32, host.data(), 4)), invalid_argument,
                    "must not overlap");
  if (device.kind() == DeviceKind::cpu) return;
  Buffer<std::uint8_t> out(device, 8);
  const Buffer<std::byte> small(device, 16);
  MASU_EXPECT_ERROR(convert(data, Dtype::f32, out, Dtype::u8, {.workspace = &small}), invalid_argument,
                    "workspace must be at least");
  Stream stream(Device::open("cpu"));
  MASU_EXPECT_ERROR((void)convert(stream, data, Dtype::f32, out, Dtype::u8), invalid_argument, "of one device");
}

// Devices without fp64: f64 to integers on bits.
TEST_P(ConvertTest, WithoutDoubles) {
  if (device.kind() == DeviceKind::cpu) GTEST_SKIP() << "has doubles";
  const std::vector<double> values = values_of<double>(3000);
  const Buffer<double> in = device.upload(values);
  const Buffer<std::int64_t> out(device, values.size());
  const ConvertRule rule = make_rule(Dtype::f64, Dtype::i64, Overflow::saturate, Rounding::zero);
  convert_plan::Plan plan = convert_plan::make(device.info(), rule, values.size(), 0, 0);
  plan.fp64 = false;
  Stream stream(device);
  convert_on_device(stream, in, out, values.size(), rule, plan, nullptr);
  stream.finish();
  const std::vector<std::int64_t> made = out.read();
  for (std::size_t i = 0; i < made.size(); ++i) {
    ASSERT_EQ(bits_of(made[i]), (expected<double, std::int64_t>(values[i], Overflow::saturate, Rounding::zero).bits))
        << values[i];
  }
}

TEST_P(ConvertTest, TimesAndThreads) {
  const std::vector<std::uint16_t> in(300000, 300);
  std::vector<std::thread> threads;
  std::array<std::vector<float>, 3> found;
  for (auto& one : found) threads.emplace_back([&] { one = convert<float>(device, in); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : found) EXPECT_EQ(one, std::vector<float>(in.size(), 300.0F));
  Times times{-1, -1};
  (void)convert<float>(device, in, {.times = &times});
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
  EXPECT_EQ(convert<std::int8_t>(std::vector<int>{1, -2}), (std::vector<std::int8_t>{1, -2}));
}

}  // namespace
}  // namespace masu
