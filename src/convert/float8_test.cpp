// SPDX-License-Identifier: Apache-2.0
// All codes of floats of 8 bits on every device: their numbers beside powers of two, the rest beside conversions and
// histograms of the same numbers in f32.
#include "all_dtypes.h"
#include "each_architecture.h"
#include "each_device.h"
#include "expect_error.h"

#include "convert/convert_plan.h"

#include <masu/masu.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace masu {
namespace {

constexpr Float8 formats[] = {Float8::e4m3fn, Float8::e5m2};

float number(Float8 format, unsigned code) {
  const int fraction_bits = format == Float8::e4m3fn ? 3 : 2;
  const int bias = format == Float8::e4m3fn ? 7 : 15;
  const int exponent = static_cast<int>(code & 127U) >> fraction_bits;
  const int fraction = static_cast<int>(code & ((1U << fraction_bits) - 1));
  float magnitude = 0;
  if (format == Float8::e4m3fn && (code & 127U) == 127) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (format == Float8::e5m2 && exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else {
    const int significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    magnitude = std::ldexp(static_cast<float>(significand), std::max(exponent, 1) - bias - fraction_bits);
  }
  return code < 128 ? magnitude : -magnitude;
}

std::vector<std::uint8_t> codes_of(std::size_t count) {
  std::vector<std::uint8_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint8_t>(i * 167 + i / 256);
  return codes;
}

std::vector<float> floats_of(std::span<const std::uint8_t> codes, Float8 format) {
  std::vector<float> numbers(codes.size());
  std::ranges::transform(codes, numbers.begin(), [&](std::uint8_t code) { return float8_values(format)[code]; });
  return numbers;
}

TEST(Float8, NumbersArePowersOfTwoTimesIntegers) {
  for (const Float8 format : formats) {
    for (unsigned code = 0; code < 256; ++code) {
      const float expected = number(format, code);
      const float found = float8_values(format)[code];
      EXPECT_EQ(std::isnan(found), std::isnan(expected)) << code;
      EXPECT_EQ(std::signbit(found), code >= 128) << code;
      if (!std::isnan(expected)) {
        EXPECT_EQ(found, expected) << code;
      }
    }
  }
  EXPECT_EQ(float8_values(Float8::e4m3fn)[0x7e], 448);
  EXPECT_EQ(float8_values(Float8::e5m2)[0x7b], 57344);
}

TEST(Float8, Names) {
  EXPECT_EQ(to_string(Float8::e4m3fn), "f8e4m3fn");
  EXPECT_EQ(to_string(Float8::e5m2), "f8e5m2");
  for (const Float8 format : formats) EXPECT_EQ(float8_from_name(to_string(format)), format);
  EXPECT_EQ(float8_from_name("float8_e4m3fn"), Float8::e4m3fn);
  EXPECT_EQ(float8_from_name("float8_e5m2"), Float8::e5m2);
  MASU_EXPECT_ERROR(float8_from_name("f8"), invalid_argument, "float8: must be one of f8e4m3fn, f8e5m2, got \"f8\"");
}

class Float8OnDevice : public test::EachDevice {};
MASU_ON_EACH_DEVICE(Float8OnDevice);

TEST_P(Float8OnDevice, ConvertsAsF32) {
  for (const Float8 format : formats) {
    for (const Dtype target : test::all_dtypes) {
      for (const Overflow overflow : {Overflow::saturate, Overflow::wrap}) {
        // A kernel for each would take a minute.
        const bool some = target == Dtype::u8 || target == Dtype::i64 || is_float(target);
        if (device.kind() != DeviceKind::cpu && (!some || (target == Dtype::u8) == (overflow == Overflow::wrap)))
          continue;
        for (const std::size_t count : {0, 1, 2, 3, 17, 255, 257, 4099, 70001}) {
          const std::vector<std::uint8_t> codes = codes_of(count);
          const ConvertOptions plain{.overflow = overflow};
          ConvertOptions options = plain;
          options.float8 = format;
          std::vector<std::byte> expected(count * size_of(target));
          std::vector<std::byte> found(count * size_of(target));
          convert(Device::open("cpu"), ArrayView(floats_of(codes, format)), {target, expected.data(), count}, plain);
          convert(device, ArrayView(codes), {target, found.data(), count}, options);
          ASSERT_EQ(found, expected) << to_string(format) << " to " << to_string(target) << ", " << count;
        }
      }
    }
  }
}

TEST_P(Float8OnDevice, MemoryMayBeginAnywhere) {
  const std::vector<std::uint8_t> codes = codes_of(1031);
  Buffer<std::uint8_t> there(device, codes.size());
  there.write(codes);
  for (const std::size_t skipped : {1, 2, 3, 7, 16}) {
    Buffer<float> made(device, codes.size());
    const auto in = there.slice(skipped, codes.size() - skipped);
    auto out = made.slice(skipped, codes.size() - skipped);
    convert(in, Dtype::u8, out, Dtype::f32, {.float8 = Float8::e5m2});
    const std::vector<float> expected = floats_of(codes, Float8::e5m2);
    const std::vector<float> found = made.read();
    for (std::size_t i = skipped; i < codes.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
    }
  }
}

TEST_P(Float8OnDevice, WhatDoesNotFitIsNamed) {
  std::vector<std::uint8_t> codes(3000, 0x38);
  std::vector<std::uint8_t> out(codes.size());
  convert(device, ArrayView(codes), MutableArrayView(out), {.float8 = Float8::e4m3fn});
  EXPECT_EQ(out, std::vector<std::uint8_t>(codes.size(), 1));
  codes[2001] = 0x7e;
  codes[2002] = 0x7f;
  MASU_EXPECT_ERROR(convert(device, ArrayView(codes), MutableArrayView(out), {.float8 = Float8::e4m3fn}),
                    invalid_argument, "every value must fit u8, got f8e4m3fn 448 at position 2001");
  std::vector<std::int16_t> wide(codes.size());
  MASU_EXPECT_ERROR(convert(device, ArrayView(codes), MutableArrayView(wide), {.float8 = Float8::e4m3fn}),
                    invalid_argument, "every value must fit i16, got f8e4m3fn nan at position 2002");
  std::vector<float> floats(3);
  MASU_EXPECT_ERROR(convert(device, ArrayView(floats), MutableArrayView(floats), {.float8 = Float8::e5m2}),
                    invalid_argument, "float8 needs u8, without truth and negate, got f32");
}

TEST_P(Float8OnDevice, HistogramsAsOfF32) {
  const std::vector<double> edges = {-448, -1, -0.0, 0.015625, 1, 1, 2, 96, 448};
  for (const Float8 format : formats) {
    for (const std::size_t count : {0, 1, 2, 257, 70001}) {
      const std::vector<std::uint8_t> codes = codes_of(count);
      const std::vector<float> numbers = floats_of(codes, format);
      for (const Bins& bins : {Bins::even(100, -448, 448), Bins::even(7, 0, 1), Bins::even(4097, -57344, 57344),
                               Bins::edges(edges), Bins::even(1, 0, 448)}) {
        for (const bool right_open : {false, true}) {
          for (const Outside outside : {Outside::drop, Outside::clamp}) {
            const HistogramOptions options{.right_open = right_open, .outside = outside};
            const Histogram expected =
                histogram_channels(Device::open("cpu"), ArrayView(numbers), bins, options).front();
            EXPECT_EQ(histogram(device, codes, format, bins, options), expected) << to_string(format) << count;
            Buffer<std::uint8_t> there(device, codes.size());
            there.write(codes);
            EXPECT_EQ(histogram(there, format, bins, options), expected);
          }
        }
      }
    }
  }
  const std::vector<std::uint8_t> codes = codes_of(4);
  MASU_EXPECT_ERROR(histogram(device, codes, Float8::e5m2, Bins::even(4, 0, 1), {.channels = 2}), invalid_argument,
                    "one channel");
}

class Float8Nvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(Float8Nvrtc);

TEST_P(Float8Nvrtc, Targets) {
  for (const Float8 format : formats) {
    for (const Dtype target : {Dtype::u8, Dtype::i16, Dtype::i64, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
      if (GetParam() != 90 && target != Dtype::f32) continue;
      const ConvertRule rule = make_rule(Dtype::u8, target, Overflow::error, Rounding::nearest_even, format);
      const auto plan = convert_plan::make(test::nvrtc_gpu(), rule, 1 << 20, 0, 0);
      expect_compiles(convert_plan::files, plan.defines(rule), {"convert_elements", "first_note"});
    }
  }
}

}  // namespace
}  // namespace masu
