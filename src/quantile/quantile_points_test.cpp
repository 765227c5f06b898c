// SPDX-License-Identifier: Apache-2.0
// Quantiles that stay on the device, against the CPU's, and those against the quantiles of host data.
#include "each_device.h"
#include "elements/order.h"
#include "elements/stored_float.h"
#include "expect_error.h"
#include "quantile/quantile_plan.h"
#include "transpose/strided.h"

#include <masu/quantile.h>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

namespace masu {
namespace {

constexpr int method_count = static_cast<int>(QuantileMethod::nearest) + 1;

// Any bits, or few values: zeros of both signs, infinities, subnormals, in some rows NaN.
template <class T>
std::vector<T> data_of(std::uint64_t count, bool any_bits, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result(count);
  for (T& x : result) {
    std::uint64_t bits = random();
    if (!any_bits) {
      const double infinity = std::numeric_limits<double>::infinity();
      const double some[] = {0.0, -0.0, infinity, -infinity, 1.5, -2.5, 3.0, 100.0, 0.1, -7.3};
      const double number = some[bits / 64 % 10];
      if constexpr (is_stored<T>) x = rounded_to<T>(number);
      else if constexpr (is_float(dtype_of<T>)) x = static_cast<T>(number);
      else x = static_cast<T>(bits / 64 % 100);
      if (!is_float(dtype_of<T>) || bits % 64 > 4) continue;
      bits = bits >> 60;  // a subnormal
    }
    if (is_float(dtype_of<T>) && random() % (count < 1000 ? 50 : 1) != 0) {
      bits &= ~(std::uint64_t{3} << (8 * sizeof(T) - 3));  // no NaN
    }
    std::memcpy(static_cast<void*>(&x), &bits, sizeof x);
  }
  return result;
}

class QuantilePointsTest : public test::EachDevice {
 protected:
  static std::vector<std::byte> found_on(const Device& on, Dtype dtype, std::span<const std::byte> data,
                                         std::uint64_t rows, std::span<const QuantilePoint> points, Dtype result) {
    const Buffer<std::byte> there = on.upload(data);
    Buffer<std::byte> to(on, rows * points.size() * size_of(result));
    Stream stream(on, Timing::off);
    quantiles(stream, there, dtype, points, to, result, {.rows = rows}).get();
    return to.read();
  }
  template <class T>
  void check(const std::vector<T>& data, std::uint64_t rows, QuantileMethod method, const std::vector<double>& q) {
    constexpr Dtype dtype = dtype_of<T>;
    const auto points = quantile_points(method, data.size() / rows, q);
    const auto bytes = std::as_bytes(std::span(data));
    const Device cpu = Device::open("cpu");
    std::vector<Dtype> results{Dtype::f16, Dtype::f32, Dtype::f64};
    if (points.front().kind == QuantilePoint::Kind::element) results.push_back(dtype);
    for (const Dtype result : results) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << " " << to_string(method) << " to " << to_string(result)
                                      << ", " << data.size() << " elements, " << rows << " rows");
      const std::vector<std::byte> want = found_on(cpu, dtype, bytes, rows, points, result);
      ASSERT_EQ(found_on(device, dtype, bytes, rows, points, result), want);
      if (result != Dtype::f64) continue;
      // Zeros of quantiles of host data are +0.
      const std::vector<double> host = quantiles(cpu, ArrayView(data), q, {.method = method, .rows = rows});
      std::vector<double> numbers(host.size());
      std::memcpy(numbers.data(), want.data(), want.size());
      for (std::uint64_t i = 0; i < host.size(); ++i) {
        const double number = numbers[i % q.size() * rows + i / q.size()];
        ASSERT_EQ(std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number), std::bit_cast<std::uint64_t>(host[i])) << i;
      }
    }
  }
  template <class Body>
  void each_type(const Body& body) {
    for (const Dtype dtype : {Dtype::u8, Dtype::i16, Dtype::u32, Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64}) {
      if (dtype == Dtype::f64 && !device.info().fp64) continue;
      // Those that a test can wait for: PoCL takes long to compile.
      const bool some = device.kind() != DeviceKind::cpu && !device.info().gpu;
      if (!some || dtype == Dtype::i16 || dtype == Dtype::i64 || is_float(dtype)) dispatch(dtype, body);
    }
  }
};
MASU_ON_EACH_DEVICE(QuantilePointsTest);

TEST_P(QuantilePointsTest, EveryMethod) {
  each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::vector<double> q{0, 0.1, 0.25, 1 / 3.0, 0.5, 0.77, 1};
    for (const std::uint64_t length : {1, 2, 3, 10, 501}) {
      for (int i = 0; i < method_count; ++i) {
        const auto method = static_cast<QuantileMethod>(i);
        check(data_of<T>(length * 3, true, length), 3, method, q);
        check(data_of<T>(length * 3, false, length), 3, method, {q[length % q.size()]});
      }
    }
  });
}

// Digits of a row, rows that are sorted, bounds from a sample.
TEST_P(QuantilePointsTest, EveryWay) {
  const std::vector<double> few{0.001, 0.5, 0.999};
  std::vector<double> many;
  for (int i = 0; i < 37; ++i) many.push_back(i / 36.0);
  each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    check(data_of<T>(2 * selection_plan::tuned.most_short + 2, true, 5), 2, QuantileMethod::linear, few);
    check(data_of<T>(selection_plan::tuned.most_short + 1, false, 6), 1, QuantileMethod::midpoint, few);
    check(data_of<T>(3000, true, 7), 3, QuantileMethod::hazen, many);
    check(data_of<T>(4 * 5000, false, 8), 5000, QuantileMethod::linear, few);
  });
  const std::uint64_t bounded = selection_plan::make(device.info(), Dtype::f32).least_bounded;
  check(data_of<float>(bounded + 5, true, 9), 1, QuantileMethod::linear, few);
  check(data_of<float>(bounded + 5, false, 9), 1, QuantileMethod::weibull, few);
}

// So little that racecheck ends: rows of a work-group, and rows that are sorted.
TEST_P(QuantilePointsTest, Little) {
  const std::vector<double> few{0.1, 0.5};
  std::vector<double> many;
  for (int i = 0; i < 37; ++i) many.push_back(i / 36.0);
  const auto check_rows = [&]<class T>(T) {
    check(data_of<T>(std::uint64_t{501} * 3, true, 5), 3, QuantileMethod::linear, few);
    check(data_of<T>(std::uint64_t{1500} * 2, false, 7), 2, QuantileMethod::hazen, many);
  };
  check_rows(std::int16_t{});
  check_rows(float{});
  if (device.info().fp64) check_rows(double{});
}

// Lines of few elements where they lie, along any axis, as those that are copied to rows; others are left.
TEST_P(QuantilePointsTest, FewAlongAnAxis) {
  if (device.kind() == DeviceKind::cpu) return;
  const std::vector<double> q{0.5, 0.1, 1};
  each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr Dtype dtype = dtype_of<T>;
    for (const std::uint64_t length : {2, 5, 16, 17}) {
      const std::array<std::int64_t, 3> shape{3, static_cast<std::int64_t>(length), 7};
      call::Lines lines;
      ASSERT_TRUE(lines.find(shape, 2));
      const std::vector<T> data = data_of<T>(3 * length * 7, false, length);
      std::vector<T> turned(data.size());
      swap_axes(sizeof(T), data.data(), 3, length, 7, turned.data());
      const auto points = quantile_points(QuantileMethod::linear, length, q);
      const Dtype result = is_float(dtype) ? dtype : Dtype::f64;
      const auto found = [&](const FewQuantiles& wanted, std::size_t results) {
        const Buffer<T> there = device.upload(data);
        Buffer<std::byte> to(device, 21 * results * size_of(result));
        Stream stream(device, Timing::off);
        EXPECT_EQ(few_quantiles(stream, there, dtype, lines, wanted, to, result), length < 17);
        stream.finish();
        return to.read();
      };
      if (length == 17) {
        found({points}, q.size());
        continue;
      }
      const auto bytes = std::as_bytes(std::span(turned));
      const Device cpu = Device::open("cpu");
      EXPECT_EQ(found({points}, q.size()), found_on(cpu, dtype, bytes, 21, points, result));
      const QuantilePoint median = median_point(length);
      const auto on_cpu = [&](const auto& function) {
        const Buffer<std::byte> there = cpu.upload(bytes);
        Buffer<std::byte> to(cpu, 21 * size_of(result));
        Stream stream(cpu, Timing::off);
        function(stream, there, to);
        return to.read();
      };
      EXPECT_EQ(found({{&median, 1}}, 1), on_cpu([&](Stream& stream, const BufferBase& there, const BufferBase& to) {
                  masu::median(stream, there, dtype, to, {.rows = 21}).get();
                }));
      if (!is_float(dtype)) continue;
      EXPECT_EQ(found({{}, median_method, std::span(q).first(1)}, 1),
                on_cpu([&](Stream& stream, const BufferBase& there, const BufferBase& to) {
                  nan_median(stream, there, dtype, to, {.rows = 21}).get();
                }));
    }
  });
}

// The last digit of the arithmetic: many differences, weights and roundings.
TEST_P(QuantilePointsTest, Arithmetic) {
  std::mt19937_64 random(4);
  each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool quick = device.kind() == DeviceKind::cpu || device.info().gpu;
    for (int turn = 0; turn < (quick ? 20 : 1); ++turn) {
      const std::uint64_t rows = quick ? 2000 : 300;
      std::vector<double> q{std::generate_canonical<double, 53>(random), 0.25};
      check(data_of<T>(2 * rows, true, random()), rows, QuantileMethod::linear, q);
    }
  });
}

// Of what is no NaN: rows with none, some and all, on the device as on the CPU, and there as of the numbers alone.
TEST_P(QuantilePointsTest, OfNumbers) {
  const Device cpu = Device::open("cpu");
  const std::vector<double> q{0, 0.1, 0.25, 1 / 3.0, 0.5, 0.77, 0.999, 1};
  each_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr Dtype dtype = dtype_of<T>;
    for (const std::uint64_t length : {1, 2, 5, 12, 201}) {
      constexpr std::uint64_t rows = 7;
      std::vector<T> data = data_of<T>(rows * length, length % 2 == 0, length);
      if constexpr (is_float(dtype)) {
        for (std::uint64_t i = 0; i < rows; ++i) {  // row i has i / 6 of NaN
          for (std::uint64_t k = 0; k < length * i / 6; ++k) {
            const auto bits = static_cast<KeyOf<T>>(infinity_key<T>() | 1 | (k % 2 == 0 ? key_sign<T> : 0));
            std::memcpy(static_cast<void*>(&data[i * length + k]), &bits, sizeof bits);
          }
        }
      }
      const auto found = [&](const Device& on, std::span<const T> values, std::uint64_t count, int method,
                             Dtype result) {
        const Buffer<T> there = on.upload(values);
        Buffer<std::byte> to(on, count * (method < 0 ? 1 : q.size()) * size_of(result));
        Stream stream(on, Timing::off);
        const SelectionOptions options{.rows = count};
        if (method < 0) nan_median(stream, there, dtype, to, options).get();
        else nan_quantiles(stream, there, dtype, static_cast<QuantileMethod>(method), q, to, result, options).get();
        return to.read();
      };
      for (int method = -1; method < method_count; ++method) {
        for (const Dtype result : {Dtype::f32, Dtype::f64}) {
          const Dtype to = method >= 0 ? result : is_float(dtype) ? dtype : Dtype::f64;
          SCOPED_TRACE(testing::Message() << to_string(dtype) << ", length " << length << ", method " << method);
          const std::vector<std::byte> here = found(cpu, data, rows, method, to);
          ASSERT_EQ(found(device, data, rows, method, to), here);
          const std::uint64_t nans = is_float(dtype) ? length * 3 / 6 : 0;  // of row 3
          const std::span<const T> numbers(data.data() + 3 * length + nans, length - nans);
          const std::vector<std::byte> alone = found(cpu, numbers, 1, method, to);
          for (std::size_t i = 0; i < alone.size(); ++i) {
            const std::size_t size = size_of(to);
            ASSERT_EQ(here[(i / size * rows + 3) * size + i % size], alone[i]);
          }
        }
      }
    }
  });
}

TEST_P(QuantilePointsTest, BadInput) {
  Stream stream(device, Timing::off);
  Buffer<float> data(device, 100);
  data.fill(1.0F);
  Buffer<float> result(device, 4);
  const auto find = [&](QuantilePoint point, const BufferBase& to, Dtype dtype = Dtype::f32, std::uint64_t rows = 1) {
    quantiles(stream, data, Dtype::f32, {&point, 1}, to, dtype, {.rows = rows}).get();
  };
  const Buffer<float> one = result.slice(0, 1);
  const auto between = QuantilePoint::Kind::from_next;
  MASU_EXPECT_ERROR(find({}, one, Dtype::f32, 3), invalid_argument,
                    "quantiles: rows must divide the 100 elements, got 3");
  MASU_EXPECT_ERROR(find({100}, one), invalid_argument,
                    "quantiles: places must be below 100, the length of a row, got 100");
  MASU_EXPECT_ERROR(find({3, 50, 0, between}, one, Dtype::f32, 2), invalid_argument,
                    "quantiles: places must be below 50");
  MASU_EXPECT_ERROR(find({3, 4, 0, between}, one, Dtype::u32), invalid_argument,
                    "quantiles: results must be f16, bf16, f32 or f64, got u32");
  MASU_EXPECT_ERROR(find({3}, result), invalid_argument, "quantiles: the result");
  MASU_EXPECT_ERROR(find({3}, data.slice(0, 1)), invalid_argument, "quantiles: the result");
  const double wrong = 1.5;
  const double half = 0.5;
  const auto of_numbers = [&](const double& q, const BufferBase& to, Dtype dtype = Dtype::f32, std::uint64_t rows = 1) {
    nan_quantiles(stream, data, Dtype::f32, QuantileMethod::linear, {&q, 1}, to, dtype, {.rows = rows}).get();
  };
  MASU_EXPECT_ERROR(of_numbers(wrong, one), invalid_argument, "quantile");
  MASU_EXPECT_ERROR(of_numbers(half, one, Dtype::i32), invalid_argument,
                    "results must be f16, bf16, f32 or f64, got i32");
  MASU_EXPECT_ERROR(of_numbers(half, one, Dtype::f32, 3), invalid_argument, "rows must divide the 100 elements, got 3");
  MASU_EXPECT_ERROR(of_numbers(half, result), invalid_argument, "nan_quantiles: the result");
  MASU_EXPECT_ERROR(nan_median(stream, data, Dtype::f32, result).get(), invalid_argument, "nan_median: the result");
  const double two[] = {1, 2};
  double found = 0;
  MASU_EXPECT_ERROR(interpolate(ArrayView(two), ArrayView(two), {&half, 1}, MutableArrayView(std::span(&found, 1))),
                    invalid_argument, "interpolate: all counts must be equal, got 2, 2, 1 and 1");
  const auto middle = [&](double first, double second, double weight) {
    interpolate(ArrayView(std::span(&first, 1)), ArrayView(std::span(&second, 1)), {&weight, 1},
                MutableArrayView(std::span(&found, 1)));
    return found;
  };
  MASU_EXPECT_ERROR(middle(1, 2, 1.5), invalid_argument, "interpolate: weights must be within 0 ... 1, got 1.5");
  MASU_EXPECT_ERROR(middle(1, 2, std::nan("")), invalid_argument, "interpolate: weights must be within 0 ... 1");
  MASU_EXPECT_ERROR(middle(2, 1, 0.5), invalid_argument, "interpolate: first must be <= second");
  EXPECT_EQ(middle(1, 2, 0.25), 1.25);
  EXPECT_EQ(middle(2, 2, 7), 2);  // beyond the ends both are one element, and its weight does not matter
  MASU_EXPECT_ERROR(quantile_points(QuantileMethod::linear, 5, {&wrong, 1}), invalid_argument, "quantile");
  MASU_EXPECT_ERROR(quantile_points(QuantileMethod::linear, 0, {}), invalid_argument, "length must be >= 1, got 0");
  const Buffer<float> none(device, 0);
  quantiles(stream, data, Dtype::f32, {}, none, Dtype::f32).get();
}

TEST_P(QuantilePointsTest, WorkspaceOfWhatMayHaveNaN) {
  Stream stream(device, Timing::off);
  const std::vector<double> q{0.2, 0.5, 0.9};
  for (const std::uint64_t length : {1, 2, 4, 300}) {
    for (const std::uint64_t rows : {1, 100}) {
      const Buffer<std::int32_t> data = device.upload(std::vector<std::int32_t>(rows * length, 7));
      const Buffer<double> to(device, rows * q.size());
      SelectionOptions options{.rows = rows};
      const std::uint64_t bytes = nan_quantiles_workspace(device, Dtype::i32, data.size(), options);
      const Buffer<std::byte> workspace(device, bytes);
      options.workspace = &workspace;
      nan_quantiles(stream, data, Dtype::i32, QuantileMethod::linear, q, to, Dtype::f64, options).get();
      EXPECT_EQ(to.read(), std::vector<double>(rows * q.size(), 7));
      nan_median(stream, data, Dtype::i32, to.slice(0, rows), options).get();
    }
  }
}

}  // namespace
}  // namespace masu
