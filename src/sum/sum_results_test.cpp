// SPDX-License-Identifier: Apache-2.0
// Results that are left in device memory: the bits of those that are returned.
#include "each_device.h"
#include "elements/stored_float.h"
#include "expect_error.h"
#include "sum/sum_test_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <masu/sum.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

using test::sum_data;

class SumResults : public test::EachDevice {
 protected:
  // The bits of `rows` results that a function leaves on the device, a word for each; `status` gets the status word.
  template <class F>
  std::vector<std::uint64_t> left(Dtype result, std::uint64_t rows, std::uint32_t& status, const F& call) {
    const std::uint64_t size = size_of(result);
    const Buffer<std::byte> memory = device.upload(std::vector<std::byte>((rows + 2) * size, std::byte{0xab}));
    const Buffer<std::byte> results = memory.slice(size, rows * size);
    const Buffer<std::uint32_t> word = device.upload(std::vector<std::uint32_t>{77});
    Stream stream(device);
    call(stream, results, word).get();
    status = word.read()[0];
    const std::vector<std::byte> all = memory.read();
    for (std::uint64_t i = 0; i < size; ++i) {  // nothing else is written
      EXPECT_EQ(all[i], std::byte{0xab});
      EXPECT_EQ(all[(rows + 1) * size + i], std::byte{0xab});
    }
    std::vector<std::uint64_t> bits(rows);
    for (std::uint64_t row = 0; row < rows; ++row) std::memcpy(&bits[row], all.data() + (row + 1) * size, size);
    return bits;
  }
  // What is returned, as it lies in memory of the result's dtype.
  static std::vector<std::uint64_t> returned(const SumResult& sums, Dtype result) {
    std::vector<std::uint64_t> bits(sums.rows());
    for (std::uint64_t row = 0; row < sums.rows(); ++row) {
      const double value = sums.value(row);
      switch (result) {
        case Dtype::i64: bits[row] = static_cast<std::uint64_t>(sums.signed_integer(row)); break;
        case Dtype::u64: bits[row] = sums.unsigned_integer(row); break;
        case Dtype::f16: bits[row] = rounded_to<Half>(value).bits; break;
        case Dtype::f32: bits[row] = std::bit_cast<std::uint32_t>(static_cast<float>(value)); break;
        default: bits[row] = std::bit_cast<std::uint64_t>(value);
      }
    }
    return bits;
  }
  // All functions, or those whose results fit whatever the integers are; the data begin at an odd element.
  template <class T>
  void check(const std::vector<T>& x, const std::vector<T>& y, SumOptions options, bool all_fit = true) {
    constexpr Dtype dtype = dtype_of<T>;
    const Buffer<T> all_x = device.upload(x);
    const Buffer<T> all_y = device.upload(y);
    const Buffer<T> a = all_x.slice(1, x.size() - 1);
    const Buffer<T> b = all_y.slice(1, x.size() - 1);
    const Dtype exact = test::is_real<T> ? options.result : std::is_signed_v<T> ? Dtype::i64 : Dtype::u64;
    const auto same = [&](Dtype result, const SumResult& expected, const auto& call) {
      std::uint32_t status = 77;
      const auto run = [&](Stream& stream, const BufferBase& results, const BufferBase& word) {
        options.status = &word;
        return call(stream, results);
      };
      EXPECT_EQ(left(result, options.rows, status, run), returned(expected, result)) << to_string(result);
      EXPECT_EQ(status, 0U);
    };
    if (all_fit) {
      same(exact, sum(a, dtype, options), [&](Stream& s, const BufferBase& r) { return sum(s, a, dtype, r, options); });
      same(exact, dot(a, b, dtype, options),
           [&](Stream& s, const BufferBase& r) { return dot(s, a, b, dtype, r, options); });
    }
    same(options.result, mean(a, dtype, options),
         [&](Stream& s, const BufferBase& r) { return mean(s, a, dtype, r, options); });
    same(options.result, norm2(a, dtype, options),
         [&](Stream& s, const BufferBase& r) { return norm2(s, a, dtype, r, options); });
    if (a.size() / options.rows < 2) return;
    for (options.ddof = 0; options.ddof < 2; ++options.ddof) {
      same(options.result, variance(a, dtype, options),
           [&](Stream& s, const BufferBase& r) { return variance(s, a, dtype, r, options); });
      same(options.result, standard_deviation(a, dtype, options),
           [&](Stream& s, const BufferBase& r) { return standard_deviation(s, a, dtype, r, options); });
    }
  }
};
MASU_ON_EACH_DEVICE(SumResults);

TEST_P(SumResults, Floats) {
  const auto check_type = [&]<class T>(T) {
    if (std::is_same_v<T, double> && !device.info().fp64) return;
    for (const std::string& name : test::sum_data_names()) {
      SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " " + name);
      for (const Dtype result : {Dtype::f64, Dtype::f32, Dtype::f16}) {
        check(sum_data<T>(name, 2), sum_data<T>(name, 2, 2), {.result = result});
        check(sum_data<T>(name, 1531), sum_data<T>(name, 1531, 2), {.rows = 5, .result = result});
      }
    }
  };
  check_type(Half{});
  check_type(float{});
  check_type(double{});
}

// Rows that share a work-group: of certain sums, of those that lie between two numbers, and of those that cancel.
TEST_P(SumResults, RowsOfManyShapes) {
  const auto check_type = [&]<class T>(T) {
    if (std::is_same_v<T, double> && !device.info().fp64) return;
    struct Shape {
      std::uint64_t rows;
      std::uint64_t length;
    };
    // PoCL takes long for each work-group.
    const std::uint64_t part = device.kind() != DeviceKind::cpu && !device.info().gpu ? 8 : 1;
    for (const auto& [all_rows, length] : std::initializer_list<Shape>{
             {3000, 1}, {700, 2}, {1001, 3}, {90, 31}, {67, 64}, {40, 257}, {5, 4099}, {1, 30001}}) {
      const std::uint64_t rows = (all_rows + part - 1) / part;
      const std::uint64_t count = rows * length + 1;
      for (const std::string& name : test::sum_data_names()) {
        if (rows * length > 4000 && name != "uniform" && name != "cancelling") continue;
        SCOPED_TRACE(fmt::format("{} rows of {} {}, {}", rows, length, to_string(dtype_of<T>), name));
        std::vector<T> x = sum_data<T>(name, count);
        if (name == "uniform") x[count / 2] = test::real<T>(std::numeric_limits<double>::infinity());
        check(x, sum_data<T>(name, count, 2), {.rows = rows, .result = count % 2 == 0 ? dtype_of<T> : Dtype::f32});
      }
    }
  };
  check_type(Half{});
  check_type(float{});
  check_type(double{});
}

// So many that each sub-group of a GPU takes several before it waits for others.
TEST_P(SumResults, ManyRows) {
  const std::uint64_t rows = device.info().gpu ? 4300 : 43;
  constexpr std::uint64_t length = 1001;
  std::vector<float> x = sum_data<float>("uniform", rows * length);
  for (std::uint64_t row = 3; row < rows; row += 7) {
    const std::vector<float> odd =
        sum_data<float>(row % 2 == 0 ? "cancelling" : "equal", length, static_cast<unsigned>(row));
    std::copy(odd.begin(), odd.end(), x.begin() + static_cast<std::ptrdiff_t>(row * length));
  }
  x[20 * length + 5] = std::numeric_limits<float>::quiet_NaN();
  x[(rows - 1) * length] = -std::numeric_limits<float>::infinity();
  const Buffer<float> there = device.upload(x);
  const SumOptions options{.rows = rows, .result = Dtype::f32};
  const std::vector<std::uint64_t> sums = returned(sum(there, Dtype::f32, options), Dtype::f32);
  const std::vector<std::uint64_t> means = returned(mean(there, Dtype::f32, options), Dtype::f32);
  std::uint32_t status = 77;
  EXPECT_EQ(left(Dtype::f32, rows, status,
                 [&](Stream& stream, const BufferBase& results, const BufferBase& /*word*/) {
                   return sum(stream, there, Dtype::f32, results, options);
                 }),
            sums);
  EXPECT_EQ(left(Dtype::f32, rows, status,
                 [&](Stream& stream, const BufferBase& results, const BufferBase& /*word*/) {
                   return mean(stream, there, Dtype::f32, results, options);
                 }),
            means);
  // Deviations that only differences show; in one row nothing can.
  std::mt19937 random(5);
  for (float& each : x) each = 1 + static_cast<float>(random() % 4096) * 0x1p-23F;
  x[20 * length + 5] = std::numeric_limits<float>::quiet_NaN();
  x[21 * length] = 0x1p-60F;
  const Buffer<float> close = device.upload(x);
  EXPECT_EQ(left(Dtype::f32, rows, status,
                 [&](Stream& stream, const BufferBase& results, const BufferBase& /*word*/) {
                   return standard_deviation(stream, close, Dtype::f32, results, options);
                 }),
            returned(standard_deviation(Device::open("cpu"), ArrayView(x), options), Dtype::f32));
}

// Memory of zeros in place of a fill: it is left so.
TEST_P(SumResults, ZerosAreLeft) {
  constexpr std::size_t count = (std::size_t{1} << 19) + 3;
  const Buffer<std::uint32_t> zeros = device.upload(std::vector<std::uint32_t>(64));
  const Buffer<std::byte> workspace(
      device, std::max<std::uint64_t>(sum_workspace(device, Dtype::f32, 2 * count, {.rows = 2}), 16));
  SumOptions options{.rows = 2, .result = Dtype::f32, .workspace = &workspace, .zeros = &zeros};
  std::uint32_t status = 77;
  for (const std::string name : {"uniform", "cancelling", "uniform"}) {
    const Buffer<float> x = device.upload(sum_data<float>(name, 2 * count));
    EXPECT_EQ(left(Dtype::f32, 2, status,
                   [&](Stream& stream, const BufferBase& results, const BufferBase& /*word*/) {
                     return sum(stream, x, Dtype::f32, results, options);
                   }),
              returned(sum(x, Dtype::f32, {.rows = 2, .result = Dtype::f32}), Dtype::f32))
        << name;
    EXPECT_EQ(zeros.read(), std::vector<std::uint32_t>(64));
  }
  const Buffer<float> x = device.upload(std::vector<float>(4, 1.0F));
  const Buffer<double> result(device, 2);
  Stream stream(device);
  const Buffer<std::uint32_t> one = zeros.slice(0, 1);
  options = {.rows = 2, .zeros = &one};
  if (device.kind() == DeviceKind::cpu) return;
  MASU_EXPECT_ERROR(sum(stream, x, Dtype::f32, result, options).get(), invalid_argument,
                    "sum: zeros must be at least 8 bytes, got 4");
}

// Rows that several work-groups share, whose parts are put together.
TEST_P(SumResults, LongRows) {
  constexpr std::size_t count = (std::size_t{1} << 21) + 8;
  for (const std::string name : {"uniform", "cancelling"}) {
    SCOPED_TRACE(name);
    std::vector<float> x = sum_data<float>(name, count + 1);
    check(x, x, {.rows = 2, .result = Dtype::f32});
    x[count - 1] = std::numeric_limits<float>::infinity();  // in the second row
    check(x, x, {.rows = 2, .result = Dtype::f32});
  }
  check(std::vector<float>(count + 1, 0.1F), sum_data<float>("normal", count + 1), {.result = Dtype::f32});
}

TEST_P(SumResults, Integers) {
  const auto check_type = [&]<class T>(T) {
    for (const char* name : {"wide", "equal", "zeros"}) {
      SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " " + name);
      check(sum_data<T>(name, 2), sum_data<T>(name, 2, 2), {});
      check(sum_data<T>(name, 1531), sum_data<T>(name, 1531, 2), {.rows = 3, .result = Dtype::f32});
      check(sum_data<T>(name, 8251), sum_data<T>(name, 8251, 2), {.rows = 250, .result = Dtype::f64});
    }
  };
  check_type(std::uint8_t{});
  check_type(std::int16_t{});
  check_type(std::uint64_t{});
  check_type(std::int64_t{});
}

// Rows whose squares and products few words hold, up to the longest of them and past it: extremes, and any bits.
TEST_P(SumResults, ShortRowsOfIntegers) {
  const auto check_type = [&]<class T>(T) {
    std::mt19937_64 random(sizeof(T));
    const auto least = std::numeric_limits<T>::min();
    const auto greatest = std::numeric_limits<T>::max();
    const auto of = [&](std::size_t count, unsigned kind) {
      std::vector<T> x(count);
      for (T& value : x) {
        const std::uint64_t r = random();
        value = kind == 0   ? static_cast<T>(r)
                : kind == 1 ? (r % 2 == 0 ? least : greatest)
                : kind == 2 ? greatest
                            : static_cast<T>(r % 3);
      }
      return x;
    };
    for (const std::uint64_t length : {1, 2, 3, 8, 33}) {
      const std::uint64_t rows = 90 / length + 2;
      for (const unsigned kind : {0U, 1U, 2U, 3U}) {
        SCOPED_TRACE(fmt::format("{} rows of {} {}, kind {}", rows, length, to_string(dtype_of<T>), kind));
        for (const Dtype result : {Dtype::f64, Dtype::f16}) {
          const bool fits = sizeof(T) < 4 || kind == 3;
          check(of(rows * length + 1, kind), of(rows * length + 1, kind), {.rows = rows, .result = result}, fits);
        }
      }
    }
    for (const std::uint64_t length : {65535, 65536}) {
      for (const unsigned kind : {1U, 2U}) {
        check(of(2 * length + 1, kind), of(2 * length + 1, kind), {.rows = 2}, sizeof(T) < 4);
      }
    }
  };
  check_type(std::int16_t{});
  check_type(std::uint32_t{});
  check_type(std::int64_t{});
  if (device.kind() == DeviceKind::opencl && !device.info().gpu) return;  // whose compilers are slow
  check_type(std::uint8_t{});
  check_type(std::int32_t{});
  check_type(std::uint64_t{});
}

// For every function: of many elements, which work-groups share, and of rows.
TEST_P(SumResults, WorkspaceIsEnough) {
  for (const std::uint64_t count : {std::uint64_t{3000}, std::uint64_t{1} << 21}) {
    const Buffer<float> x = device.upload(std::vector<float>(count, 1.5F));
    for (const std::uint64_t rows : {1, 4}) {
      for (const Dtype result : {Dtype::f64, Dtype::f32}) {
        SumOptions options{.rows = rows, .result = result};
        const Buffer<std::byte> room(device, sum_workspace(device, Dtype::f32, count, options));
        options.workspace = &room;
        const Buffer<std::byte> results(device, rows * size_of(result));
        Stream stream(device);
        EXPECT_NO_THROW(sum(stream, x, Dtype::f32, results, options).get());
        EXPECT_NO_THROW(dot(stream, x, x, Dtype::f32, results, options).get());
        EXPECT_NO_THROW(mean(stream, x, Dtype::f32, results, options).get());
        EXPECT_NO_THROW(norm2(stream, x, Dtype::f32, results, options).get());
        EXPECT_NO_THROW(variance(stream, x, Dtype::f32, results, options).get());
        EXPECT_NO_THROW(standard_deviation(stream, x, Dtype::f32, results, options).get());
      }
    }
  }
}

TEST_P(SumResults, NanAndInfinities) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& special : std::vector<std::vector<float>>{
           {infinity}, {-infinity}, {nan}, {infinity, -infinity}, {infinity, nan}, {infinity, 0.0F}}) {
    for (const Dtype result : {Dtype::f64, Dtype::f32, Dtype::f16}) {
      std::vector<float> x = sum_data<float>("normal", 601);
      for (std::size_t i = 0; i < special.size(); ++i) x[350 + 10 * i] = special[i];  // in the second of three rows
      check(x, x, {.rows = 3, .result = result});
    }
  }
}

// Ties, what is just beside them, and where a format ends.
TEST_P(SumResults, RoundedOnce) {
  const auto one = [&](const std::vector<float>& x) {
    for (const Dtype result : {Dtype::f64, Dtype::f32, Dtype::f16}) check(x, x, {.result = result});
  };
  one({0, 2049, 0x1p-40F});
  one({0, 2049, -0x1p-140F});
  one({0, 2051});
  one({0, 65519, 0x1p-20F});
  one({0, 65520});
  one({0, -0x1p-25F});
  one({0, -0x1p-25F, -0x1p-149F});
  one({0, 0x1.fffffep127F, 0x1p103F});
  one({0, 0x1.fffffep127F, 0x1p102F});
  one({0, 0x1p-149F, -0x1p-149F});
  one({0, 1, 0, 0});
}

TEST_P(SumResults, IntegersThatDoNotFit) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  const auto modular = [&]<class T>(const std::vector<T>& x, std::uint64_t bits, std::uint32_t misfit) {
    const Buffer<T> there = device.upload(x);
    const Dtype dtype = dtype_of<T>;
    std::uint32_t status = 77;
    const auto run = [&](Stream& stream, const BufferBase& results, const BufferBase& word) {
      return sum(stream, there, dtype, results, {.status = &word});
    };
    EXPECT_EQ(left(dtype, 1, status, run), std::vector<std::uint64_t>{bits});
    EXPECT_EQ(status, misfit);
  };
  modular(std::vector<std::int64_t>{most, 1}, std::uint64_t{1} << 63, 1);
  modular(std::vector<std::int64_t>{least, -1}, static_cast<std::uint64_t>(most), 1);
  modular(std::vector<std::int64_t>{least, -1, 1}, std::uint64_t{1} << 63, 0);
  modular(std::vector<std::int64_t>{most, most, least, least, 7}, 5, 0);
  modular(std::vector<std::uint64_t>{~std::uint64_t{0}, 3}, 2, 1);
  modular(std::vector<std::uint64_t>{~std::uint64_t{0}, 0}, ~std::uint64_t{0}, 0);
}

TEST_P(SumResults, EmptyDataAndErrors) {
  const Buffer<float> none = device.upload(std::vector<float>{});
  std::uint32_t status = 77;
  const auto of_none = [&](Stream& stream, const BufferBase& results, const BufferBase& word) {
    return sum(stream, none, Dtype::f32, results, {.status = &word});
  };
  EXPECT_EQ(left(Dtype::f64, 1, status, of_none), std::vector<std::uint64_t>{0});
  const Buffer<float> x = device.upload(std::vector<float>{1, 2, 3, 4});
  Stream stream(device);
  const Buffer<double> results(device, 2);
  const Buffer<double> one = results.slice(0, 1);
  const auto call = [&](const BufferBase& into, const SumOptions& options = {}) {
    sum(stream, x, Dtype::f32, into, options).get();
  };
  MASU_EXPECT_ERROR(call(results), invalid_argument, "sum: results must have 8 bytes (1 x 8), got 16");
  MASU_EXPECT_ERROR(call(x.slice(0, 2)), invalid_argument, "sum: results and data must not overlap");
  MASU_EXPECT_ERROR(call(x.slice(1, 2)), invalid_argument, "sum: results must begin at a multiple of 8 bytes, got ");
  MASU_EXPECT_ERROR(call(one, {.status = &results}), invalid_argument, "sum: status must have 4 bytes");
  MASU_EXPECT_ERROR(call(one, {.rows = 3}), invalid_argument, "divide the 4 elements, got 3");
  MASU_EXPECT_ERROR(mean(stream, none, Dtype::f32, one, {}).get(), invalid_argument, "needs at least one element");
  const std::uint64_t bytes = sum_workspace(device, Dtype::f32, 4);
  if (bytes == 0) return;
  const Buffer<std::byte> workspace(device, bytes);
  call(one, {.workspace = &workspace});
  EXPECT_EQ(one.read()[0], 10);
  const Buffer<std::byte> small = workspace.slice(0, 16);
  MASU_EXPECT_ERROR(call(one, {.workspace = &small}), invalid_argument, "sum: workspace must be at least");
}

}  // namespace
}  // namespace masu
