// SPDX-License-Identifier: Apache-2.0
#include "each_device.h"
#include "expect_error.h"
#include "sum/sum_reference.h"
#include "sum/sum_test_data.h"

#include <gtest/gtest.h>
#include <masu/sum.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

using test::sum_data;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t quiet_nan = 0x7ff8000000000000U;

template <class T>
T real_infinity() {
  return test::real<T>(infinity);
}

class Sum : public test::EachDevice {
 protected:
  template <class T>
  [[nodiscard]] bool can() const {
    return !std::is_same_v<T, double> || device.info().fp64;
  }
  // All five functions of device memory that begins `shift` elements behind an alignment, y's twice that.
  template <class T>
  void check(const std::vector<T>& x, const std::vector<T>& y, std::size_t shift, Dtype result, bool all) {
    std::vector<T> shifted(shift, T{});
    shifted.insert(shifted.end(), x.begin(), x.end());
    std::vector<T> other(2 * shift, T{});
    other.insert(other.end(), y.begin(), y.end());
    const Buffer<T> whole_x = device.upload(shifted);
    const Buffer<T> whole_y = device.upload(other);
    const Buffer<T> on_x = whole_x.slice(shift, x.size());
    const Buffer<T> on_y = whole_y.slice(2 * shift, y.size());
    const reference::Total total = reference::sum(x);
    const reference::Total products = reference::dot(x, y);
    const SumOptions options{.result = result};
    constexpr Dtype dtype = dtype_of<T>;
    const Natural one(1);
    if constexpr (test::is_real<T>) {
      EXPECT_TRUE(reference::is_quotient(total, one, sum(on_x, dtype, options).value(), result));
      EXPECT_TRUE(reference::is_quotient(products, one, dot(on_x, on_y, dtype, options).value(), result));
    } else {
      const auto equals = [&](const reference::Total& expected, SumType<T> got) {
        reference::Total difference = expected;
        const bool negative = got < 0;
        const auto bits = static_cast<std::uint64_t>(got);
        difference.add(!negative, Natural(negative ? 0 - bits : bits, reference::scale));
        return difference.plus == difference.minus;
      };
      EXPECT_TRUE(equals(total, sum(on_x)));
      EXPECT_TRUE(equals(products, dot(on_x, on_y)));
    }
    if (!all || x.size() < 2) return;
    const std::uint64_t n = x.size();
    const reference::Total squares = reference::dot(x, x);
    EXPECT_TRUE(reference::is_quotient(total, Natural(n), mean(on_x, dtype, options).value(), result));
    EXPECT_TRUE(reference::is_root(squares, norm2(on_x, dtype, options).value(), result));
    SumOptions sample = options;
    sample.ddof = 1;
    EXPECT_TRUE(reference::is_variance(total, squares, n, 1, variance(on_x, dtype, sample).value(), result));
    const SumResult deviation = standard_deviation(on_x, dtype, sample);
    EXPECT_TRUE(reference::is_deviation(total, squares, n, 1, deviation.value(), result));
  }
};
MASU_ON_EACH_DEVICE(Sum);

template <class T, class F>
void each_data(const F& check) {
  for (const std::string& name : test::sum_data_names()) {
    if (!test::is_real<T> && name != "wide" && name != "equal" && name != "zeros") continue;
    SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " " + name);
    check(name);
  }
}

TEST_P(Sum, FloatsAreRoundedOnce) {
  const auto check_type = [&]<class T>(T) {
    if (!can<T>()) return;
    each_data<T>([&](const std::string& name) {
      for (const std::size_t count : {1, 2, 3, 300}) {
        const std::vector<T> x = sum_data<T>(name, count);
        check(x, sum_data<T>(name, count, 2), count % 4,
              count == 2   ? Dtype::f32
              : count == 1 ? Dtype::f16
                           : Dtype::f64,
              true);
      }
      check(sum_data<T>(name, 1531), sum_data<T>(name == "equal" ? "normal" : name, 1531, 3), 1, Dtype::f32, false);
    });
  };
  check_type(Half{});
  check_type(float{});
  check_type(double{});
}

TEST_P(Sum, IntegersAreExact) {
  const auto check_type = [&]<class T>(T) {
    each_data<T>([&](const std::string& name) {
      for (const std::size_t count : {1, 2, 77}) {
        check(sum_data<T>(name, count), sum_data<T>(name, count, 2), count % 5, Dtype::f64, sizeof(T) == 8);
      }
      check(sum_data<T>(name, 1531), sum_data<T>(name, 1531, 3), 1, Dtype::f32, false);
    });
  };
  check_type(std::uint8_t{});
  check_type(std::int16_t{});
  check_type(std::int32_t{});
  check_type(std::uint64_t{});
  check_type(std::int64_t{});
}

template <class T>
T from_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 2) return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
  else if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  else return std::bit_cast<T>(bits);
}

TEST_P(Sum, NanAndInfinities) {
  const auto check_type = [&]<class T>(T) {
    if (!can<T>()) return;
    const T inf = real_infinity<T>();
    const T minus = test::real<T>(-infinity);
    const T nan = from_bits<T>(sizeof(T) == 2 ? 0xff01U : sizeof(T) == 4 ? 0xffc12345U : 0xfff8000000000123U);
    const T zero = test::real<T>(-0.0);
    for (const std::size_t count : {1, 40, 3000}) {
      const auto with = [&](std::initializer_list<T> values) {
        std::vector<T> x = sum_data<T>("normal", count);
        std::size_t at = count - 1;
        for (const T& value : values) x[at] = value, at /= 2;
        return x;
      };
      const auto sum_of = [&](std::initializer_list<T> values) { return sum(device.upload(with(values))); };
      EXPECT_EQ(sum_of({inf}), infinity);
      EXPECT_EQ(sum_of({minus}), -infinity);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of({nan})), quiet_nan);
      const Buffer<T> x = device.upload(with({minus}));
      EXPECT_EQ(mean(x), -infinity);
      EXPECT_EQ(norm2(x), infinity);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(variance(x)), quiet_nan);
      EXPECT_EQ(dot(x, device.upload(with({minus}))), infinity);
      EXPECT_EQ(dot(device.upload(with({inf})), x), -infinity);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(dot(device.upload(with({zero})), x)), quiet_nan);
      if (count == 1) continue;
      EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of({inf, minus})), quiet_nan);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of({nan, inf})), quiet_nan);
    }
  };
  check_type(float{});
  check_type(double{});
  if (device.kind() == DeviceKind::cpu) check_type(Half{});
}

TEST_P(Sum, IntegersAtTheEdge) {
  const auto most = std::numeric_limits<std::int64_t>::max();
  const auto least = std::numeric_limits<std::int64_t>::min();
  const auto all = std::numeric_limits<std::uint64_t>::max();
  const auto of = [&](const std::vector<std::int64_t>& x) { return sum(device.upload(x)); };
  const auto of_unsigned = [&](const std::vector<std::uint64_t>& x) { return sum(device.upload(x)); };
  EXPECT_EQ(of({most, 1, -1}), most);  // beyond, and back
  EXPECT_EQ(of({least, -1, 1}), least);
  EXPECT_EQ(of({most, most, least, least, 7}), 5);
  MASU_EXPECT_ERROR(of({most, 1}), invalid_argument, "sum: the result must fit i64");
  MASU_EXPECT_ERROR(of({least, -1}), invalid_argument, "sum: the result must fit i64");
  EXPECT_EQ(of_unsigned({all - 1, 1}), all);
  MASU_EXPECT_ERROR(of_unsigned({all, 1}), invalid_argument, "sum: the result must fit u64");
  EXPECT_EQ(sum(device.upload(std::vector<std::int32_t>(300, std::numeric_limits<std::int32_t>::min()))),
            300 * std::int64_t{std::numeric_limits<std::int32_t>::min()});

  const auto dot_of = [&](const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y) {
    return dot(device.upload(x), device.upload(y));
  };
  EXPECT_EQ(dot_of({least, least, 5, 1}, {least, most, 3, least}), 15);
  EXPECT_EQ(dot_of({most, 1, least}, {1, least, -1}), most);
  MASU_EXPECT_ERROR(dot_of({least}, {-1}), invalid_argument, "dot: the result must fit i64");
  const std::vector<std::int64_t> beyond = {most, 1};
  const SumResult wrapped = sum(device, ArrayView(beyond), {.wrap = true});
  EXPECT_EQ(wrapped.signed_integer(), least);
  EXPECT_EQ(dot(device.upload(std::vector<std::uint64_t>{all, 0}), device.upload(std::vector<std::uint64_t>{1, all})),
            all);
  MASU_EXPECT_ERROR(
      (void)dot(device.upload(std::vector<std::uint64_t>{all}), device.upload(std::vector<std::uint64_t>{all})),
      invalid_argument, "dot: the result must fit u64");
  EXPECT_EQ(mean(device.upload(std::vector<std::uint64_t>(5, all))), 0x1p64);
}

// So many equal elements that each counter of a kernel's table is emptied more than once.
TEST_P(Sum, CountersAreEmptiedInTime) {
  constexpr std::size_t count = 1200001;
  for (const float value : {0x1.fffffep-3F, -0x1.fffffep-3F}) {
    const std::vector<float> x(count, value);
    EXPECT_EQ(sum(device.upload(x)), static_cast<double>(value) * count);
  }
  if (!device.info().fp64) return;
  const std::vector<double> y(count / 2, -0x1.fffffffffffffp+10);
  ExactSum expected;
  expected.add(y[0], y.size());
  EXPECT_EQ(sum(device.upload(y)), expected.sum());
  if (device.kind() != DeviceKind::cpu) return;
  EXPECT_EQ(sum(device.upload(std::vector<std::uint8_t>(count, 255))), 255 * count);
  EXPECT_EQ(sum(device.upload(std::vector<std::int16_t>(count, -32768))), -32768 * static_cast<std::int64_t>(count));
}

TEST_P(Sum, RowsAreRowsOfTheirOwn) {
  for (const std::uint64_t rows : {1, 3, 500}) {
    for (const std::size_t length : {1, 7, 130}) {
      std::vector<float> x = sum_data<float>("wide", rows * length, 5);
      if (rows == 3) x[length] = std::numeric_limits<float>::infinity();
      const SumOptions options{.rows = rows};
      const Buffer<float> there = device.upload(x);
      const SumResult sums = sum(there, Dtype::f32, options);
      const SumResult dots = dot(there, there, Dtype::f32, options);
      const SumResult from_host = sum(device, ArrayView(x), options);
      ASSERT_EQ(sums.rows(), rows);
      EXPECT_EQ(sums, from_host);
      for (std::uint64_t row = 0; row < rows; row += 1 + rows / 20) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * length);
        const std::vector<float> one(begin, begin + static_cast<std::ptrdiff_t>(length));
        if (rows == 3 && row == 1) {
          EXPECT_EQ(sums.value(row), infinity);
          continue;
        }
        EXPECT_TRUE(reference::is_quotient(reference::sum(one), Natural(1), sums.value(row)));
        EXPECT_TRUE(reference::is_quotient(reference::dot(one, one), Natural(1), dots.value(row)));
      }
    }
  }
  const std::vector<std::int32_t> x = {1, 2, 3, 4, 5, 6};
  const SumResult result = sum(device, ArrayView(x), {.rows = 2});
  EXPECT_EQ(result.dtype(), Dtype::i64);
  EXPECT_EQ(result.signed_integer(0), 6);
  EXPECT_EQ(result.signed_integer(1), 15);
  EXPECT_EQ(result.value(1), 15.0);
}

TEST_P(Sum, EmptyDataAndErrors) {
  const Buffer<float> none = device.upload(std::vector<float>{});
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum(none)), 0U);
  EXPECT_EQ(dot(none, none), 0);
  EXPECT_EQ(norm2(none), 0);
  MASU_EXPECT_ERROR((void)mean(none), invalid_argument, "mean: needs at least one element");
  MASU_EXPECT_ERROR((void)variance(none), invalid_argument, "variance: needs more elements than ddof");
  const Buffer<float> x = device.upload(std::vector<float>{1, 2, 3});
  const Buffer<float> y = device.upload(std::vector<float>{1, 2});
  MASU_EXPECT_ERROR((void)dot(x, y), invalid_argument, "dot: x and y must have as many elements, got 3 and 2");
  MASU_EXPECT_ERROR((void)variance(x, {.ddof = 3}), invalid_argument, "ddof, 3, got 3");
  MASU_EXPECT_ERROR((void)sum(x, Dtype::f32, {.rows = 2}), invalid_argument, "divide the 3 elements, got 2");
  MASU_EXPECT_ERROR((void)sum(x, {.rows = 3}), invalid_argument, "rows must be 1");
  MASU_EXPECT_ERROR((void)mean(x, {.result = Dtype::i32}), invalid_argument, "must be f16, bf16, f32 or f64, got i32");
  MASU_EXPECT_ERROR((void)sum(x, Dtype::f64), invalid_argument, "size must be a multiple of 8 bytes (f64), got 12");
  MASU_EXPECT_ERROR((void)sum(x, Dtype::f32).signed_integer(), invalid_argument, "must be i64, got f64");
  MASU_EXPECT_ERROR((void)sum(x, Dtype::f32).value(1), invalid_argument, "has 1 rows, got row 1");
  EXPECT_EQ(sum(x, {.result = Dtype::f16}), 6);
  EXPECT_EQ(variance(x), 2.0 / 3);
  EXPECT_EQ(standard_deviation(x), std::sqrt(2.0 / 3));
}

TEST_P(Sum, StreamsAndWorkspaces) {
  const std::vector<float> x = sum_data<float>("cancelling", 5001);
  const Buffer<float> there = device.upload(x);
  const double expected = sum(there);
  Stream stream(device);
  const std::uint64_t bytes = sum_workspace(device, Dtype::f32, x.size());
  EXPECT_EQ(bytes == 0, device.kind() == DeviceKind::cpu);
  const Buffer<std::byte> workspace(device, bytes + 16);
  const Buffer<std::byte> inside = workspace.slice(16, bytes);
  Times times;
  EXPECT_EQ(sum(there, {.workspace = &inside, .times = &times}), expected);
  EXPECT_GT(times.compute, 0);
  Pending<SumResult> first = sum(stream, there, Dtype::f32, {.workspace = &inside});
  EXPECT_EQ(first.get().value(), expected);
  Pending<SumResult> second = norm2(stream, there, Dtype::f32);
  Pending<SumResult> third = mean(stream, there, Dtype::f32, {.rows = 3});
  EXPECT_EQ(second.get().value(), norm2(there));
  EXPECT_EQ(third.get(), mean(there, Dtype::f32, {.rows = 3}));
  if (bytes == 0) return;
  const Buffer<std::byte> small = workspace.slice(0, 16);
  MASU_EXPECT_ERROR((void)sum(there, {.workspace = &small}), invalid_argument, "sum: workspace must be at least");
}

TEST_P(Sum, PiecesGiveTheSameAsAll) {
  const std::vector<float> x = sum_data<float>("wide", 3000, 11);
  const std::vector<float> y = sum_data<float>("normal", 3000, 12);
  SumAccumulator squares(device, Dtype::f32, SumKind::squares);
  SumAccumulator products(device, Dtype::f32, SumKind::dot);
  SumAccumulator rows(device, Dtype::f32, SumKind::squares, 600);
  const Buffer<float> on_x = device.upload(x);
  const Buffer<float> on_y = device.upload(y);
  std::uint64_t first = 0;
  for (const std::uint64_t length : {1, 0, 700, 1300, 999}) {
    const ArrayView of_x(Dtype::f32, x.data() + first, length);
    const ArrayView of_y(Dtype::f32, y.data() + first, length);
    if (first % 2 == 0) {
      squares.add(of_x);
      products.add(of_x, of_y);
      rows.add_buffer(on_x.slice(first, length), Dtype::f32);
    } else {
      squares.add_buffer(on_x.slice(first, length), Dtype::f32);
      products.add_buffers(on_x.slice(first, length), on_y.slice(first, length), Dtype::f32);
      rows.add(of_x);
    }
    first += length;
  }
  EXPECT_EQ(squares.count(), x.size());
  EXPECT_EQ(squares.sum().value(), sum(on_x));
  EXPECT_EQ(squares.mean(Dtype::f32), mean(on_x, Dtype::f32, {.result = Dtype::f32}));
  EXPECT_EQ(squares.norm2().value(), norm2(on_x));
  EXPECT_EQ(squares.variance(1).value(), variance(on_x, {.ddof = 1}));
  EXPECT_EQ(squares.standard_deviation(1).value(), standard_deviation(on_x, {.ddof = 1}));
  EXPECT_EQ(products.dot().value(), dot(on_x, on_y));
  EXPECT_EQ(rows.rows(), 5U);
  EXPECT_EQ(rows.variance(), variance(on_x, Dtype::f32, {.rows = 5}));
  EXPECT_EQ(rows.sum(), sum(on_x, Dtype::f32, {.rows = 5}));

  // Merged and through bytes; equal totals have equal bytes, wherever they come from.
  const Device cpu = Device::open("cpu");
  SumAccumulator back = SumAccumulator::from_bytes(cpu, squares.bytes());
  EXPECT_EQ(back.bytes(), squares.bytes());
  SumAccumulator reversed(device, Dtype::f32, SumKind::squares);
  reversed.add(ArrayView(std::vector<float>(x.rbegin(), x.rend())));
  EXPECT_EQ(reversed.bytes(), squares.bytes());
  back.merge(reversed);
  EXPECT_EQ(back.count(), 2 * x.size());
  EXPECT_EQ(back.mean().value(), mean(on_x));

  MASU_EXPECT_ERROR((void)squares.dot(), invalid_argument, "a dot needs what SumKind::squares does not keep");
  MASU_EXPECT_ERROR(squares.add(ArrayView(x), ArrayView(y)), invalid_argument, "1 inputs are added, got 2");
  MASU_EXPECT_ERROR(squares.merge(products), invalid_argument, "one type and kind");
  MASU_EXPECT_ERROR((void)rows.bytes(), invalid_argument, "there must be no rows");
  rows.add(ArrayView(Dtype::f32, x.data(), 1));
  EXPECT_EQ(rows.rows(), 6U);
  MASU_EXPECT_ERROR((void)rows.sum(), invalid_argument, "the last row must have 600 elements, got 1");
}

// Enough for several pieces on a device.
TEST_P(Sum, HostDataInPieces) {
  constexpr std::size_t count = 4500001;
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(static_cast<std::int32_t>(i * 2654435761U)) * 0x1p-40F;
  }
  ExactSum expected;
  for (const float value : x) expected.add(value);
  EXPECT_EQ(sum(device, ArrayView(x)).value(), expected.sum());
  const std::uint64_t pairs = count - 1;
  const SumResult dots =
      dot(device, ArrayView(Dtype::f32, x.data(), pairs), ArrayView(Dtype::f32, x.data() + 1, pairs), {.rows = 2});
  const Buffer<float> half = device.upload(std::span(x).first(pairs / 2 + 1));
  EXPECT_EQ(dots.value(0), dot(half.slice(0, pairs / 2), half.slice(1, pairs / 2)));
}

TEST(SumAccumulatorBytes, AreCheckedOnReading) {
  const Device cpu = Device::open("cpu");
  SumAccumulator accumulator(cpu, Dtype::i16);
  accumulator.add(ArrayView(std::vector<std::int16_t>{-5, -6}));
  const std::vector<std::byte> bytes = accumulator.bytes();
  // magic, version, type, kind, 0; count; sign, place 2^0, one word: 11.
  const std::vector<unsigned> expected = {'m', 's', 'u', 'm', 1, 3, 0,   0, 2, 0,  0, 0, 0,
                                          0,   0,   0,   8,   0, 0, 128, 1, 0, 11, 0, 0, 0};
  ASSERT_EQ(bytes.size(), expected.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(static_cast<unsigned>(bytes[i]), expected[i]) << i;
  EXPECT_EQ(SumAccumulator::from_bytes(cpu, bytes).sum().signed_integer(), -11);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW((void)SumAccumulator::from_bytes(cpu, std::span(bytes).first(length)), Error) << length;
  }
  const auto changed = [&](std::size_t at, unsigned value) {
    std::vector<std::byte> other = bytes;
    other.resize(std::max(other.size(), at + 1));
    other[at] = static_cast<std::byte>(value);
    MASU_EXPECT_ERROR((void)SumAccumulator::from_bytes(cpu, other), invalid_argument, "SumAccumulator::from_bytes");
  };
  changed(0, 'M');
  changed(4, 2);    // another version
  changed(5, 200);  // no dtype
  changed(6, 3);    // no kind
  changed(16, 16);  // no flag
  changed(19, 0);   // far below
  changed(19, 255);
  changed(20, 0);  // words behind the end
  changed(22, 0);  // a first word of 0
  changed(26, 0);  // a byte too many
  ExactSum sum;
  sum.add(0.1);
  sum.add(-1e300);
  EXPECT_EQ(ExactSum::from_bytes(sum.bytes()).bytes(), sum.bytes());
  EXPECT_EQ(ExactSum::from_bytes(sum.bytes()).sum(), sum.sum());
  const auto refused = [](const std::vector<std::byte>& other, const std::string& why) {
    MASU_EXPECT_ERROR((void)ExactSum::from_bytes(other), invalid_argument, "ExactSum::from_bytes: " + why);
  };
  refused(bytes, "the bytes must begin with MS01, got 26 bytes that do not");
  refused({}, "the bytes must begin with MS01, got 0 bytes that do not");
  std::vector<std::byte> other = sum.bytes();
  other.pop_back();
  refused(other,
          "the bytes must be what bytes() wrote, got " + std::to_string(other.size()) + " bytes of another form");
  other = sum.bytes();
  other[11] = std::byte{0x80};
  refused(other, "the sum must be of fewer than 2^63 values, got 9223372036854775810");
  other = sum.bytes();
  other[4] = std::byte{0};
  refused(other, "the sum must be one that 0 values can have, got a greater one");
}

TEST(SumRounding, ToNarrowFormatsOnce) {
  const auto rounded = [](const std::vector<double>& x, Dtype dtype) { return sum(x, {.result = dtype}); };
  // To f64 first, these would be ties.
  EXPECT_EQ(rounded({1, 0x1p-24, 0x1p-80}, Dtype::f32), 1 + 0x1p-23);
  EXPECT_EQ(rounded({1, 0x1p-24}, Dtype::f32), 1);
  EXPECT_EQ(rounded({1, 0x1p-11, 0x1p-80}, Dtype::f16), 1 + 0x1p-10);
  EXPECT_EQ(rounded({65519.99}, Dtype::f16), 65504);
  EXPECT_EQ(rounded({65520}, Dtype::f16), infinity);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(rounded({-0x1p-25}, Dtype::f16)), 0U);  // never -0
  EXPECT_EQ(std::bit_cast<std::uint64_t>(rounded({-0x1p-200}, Dtype::f32)), 0U);
  const std::vector<double> tiny = {-0x1p-600};
  EXPECT_EQ(std::bit_cast<std::uint64_t>(dot(tiny, std::vector<double>{0x1p-600})), 0U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(mean(std::vector<double>{-0x1p-1074, 0, 0})), 0U);
  EXPECT_EQ(rounded({-0x1.8p-24, -0x1p-1000}, Dtype::f16), -0x1p-23);
  EXPECT_EQ(rounded({0x1.ffffffp127}, Dtype::f32), infinity);
  EXPECT_EQ(rounded({0x1.fffffep127, 0x1p102}, Dtype::f32), 0x1.fffffep127);
}

// On devices one reading decides most variances; these are equal values, values that differ in few bits, and sums that
// nearly cancel, of which it must not decide wrongly.
TEST_P(Sum, VariancesOfNearlyEqualValues) {
  std::mt19937_64 random(3);
  const Device cpu = Device::open("cpu");
  const auto same = [&](const std::vector<float>& x, const std::string& what) {
    const Buffer<float> there = device.upload(x);
    for (const Dtype result : {Dtype::f64, Dtype::f32, Dtype::f16}) {
      SumOptions options;
      options.result = result;
      const auto bits = [](const SumResult& r) { return std::bit_cast<std::uint64_t>(r.value()); };
      EXPECT_EQ(bits(variance(there, Dtype::f32, options)), bits(variance(cpu, ArrayView(x), options))) << what;
      EXPECT_EQ(bits(standard_deviation(there, Dtype::f32, options)),
                bits(standard_deviation(cpu, ArrayView(x), options)))
          << what;
    }
  };
  for (const std::size_t size : {2, 33, 5000, 200003}) {
    for (const float c : {1.0F, -3.1415927F, 1e-38F, 1e-44F, 3e37F, 0.0F}) {
      const std::string what = std::to_string(size) + " of " + std::to_string(c);
      std::vector<float> x(size, c);
      same(x, what + ", equal");
      x[size / 2] = std::nextafter(c, 4e37F);
      same(x, what + ", one differs");
      for (float& each : x) each = random() % 2 == 0 ? c : std::nextafter(c, 4e37F);
      same(x, what + ", two values");
      for (float& each : x) each = random() % 2 == 0 ? c : -c;
      same(x, what + ", both signs");
      for (float& each : x) each = c * (1 + static_cast<float>(random() % 4096) * 0x1p-23F);
      same(x, what + ", close");
      for (float& each : x) each = static_cast<float>(random() % 7);
      same(x, what + ", small integers");
      // Four neighbours whose sum is exact in double, or just not; squares that outgrow those before.
      const auto significand = [&] { return 1 + static_cast<float>(random() % 0x800000) * 0x1p-23F; };
      for (const int apart : {26, 27, 28, 29}) {
        for (float& each : x)
          each = std::ldexp(random() % 2 == 0 ? significand() : -significand(), random() % 2 == 0 ? apart : 0);
        same(x, what + ", apart by " + std::to_string(apart));
      }
      for (std::size_t i = 0; i < size; ++i) x[i] = std::ldexp(significand(), static_cast<int>(60 * i / size) - 30);
      same(x, what + ", growing");
      x.front() = std::numeric_limits<float>::infinity();
      same(x, what + ", infinite");
    }
  }
}

}  // namespace
}  // namespace masu
