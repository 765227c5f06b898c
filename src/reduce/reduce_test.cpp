// SPDX-License-Identifier: Apache-2.0
// Extremes and counts, on every device, against a plain loop.
#include "all_dtypes.h"
#include "each_device.h"
#include "expect_error.h"
#include "misaligned.h"
#include "reduce/reduce_plan.h"
#include "unique/unique_reference.h"

#include <masu/reduce.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace masu {
namespace {

using reference::Shape;

template <class T>
bool is_nan(T x) {
  return !reference::same(x, x) || !(reference::number(x) == reference::number(x));
}

struct Expected {
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  std::uint64_t nonzero = 0;
  bool only_nans = true;
};

template <class T>
Expected expected_of(const T* x, std::uint64_t count, NanPolicy nan) {
  Expected result;
  std::optional<std::uint64_t> first_nan;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (reference::number(x[i]) != 0) ++result.nonzero;
    if (is_nan(x[i])) {
      if (!first_nan) first_nan = i;
      continue;
    }
    if (result.only_nans || reference::number(x[i]) < reference::number(x[result.least])) result.least = i;
    if (result.only_nans || reference::number(x[i]) > reference::number(x[result.greatest])) result.greatest = i;
    result.only_nans = false;
  }
  if (first_nan && (nan == NanPolicy::propagate || result.only_nans)) result.least = result.greatest = *first_nan;
  result.only_nans = result.only_nans && nan == NanPolicy::skip;
  return result;
}

template <class T>
bool same_bits(T a, T b) {
  using Bytes = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
}

template <class T>
void expect_result(const ReduceResult& found, const std::vector<T>& data, std::uint64_t rows, NanPolicy nan,
                   const std::string& name) {
  const std::uint64_t row = data.size() / rows;
  ASSERT_EQ(found.rows(), rows) << name;
  bool only_nans = false;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const Expected right = expected_of(data.data() + r * row, row, nan);
    only_nans = only_nans || right.only_nans;
    if (found.op() == ReduceOp::count_nonzero) {
      ASSERT_EQ(found.nonzero()[r], right.nonzero) << name << ", row " << r;
      continue;
    }
    if (found.op() != ReduceOp::max) {
      ASSERT_TRUE(same_bits(found.min<T>(r), data[r * row + right.least])) << name << ", least, row " << r;
    }
    if (found.op() != ReduceOp::min) {
      ASSERT_TRUE(same_bits(found.max<T>(r), data[r * row + right.greatest])) << name << ", greatest, row " << r;
    }
  }
  if (found.op() == ReduceOp::count_nonzero) return;
  if (only_nans) {
    const auto indices = [&] { (void)(found.op() == ReduceOp::max ? found.max_indices() : found.min_indices()); };
    MASU_EXPECT_ERROR(indices(), invalid_argument, "has only NaNs, which are skipped");
    return;
  }
  for (std::uint64_t r = 0; r < rows; ++r) {
    const Expected right = expected_of(data.data() + r * row, row, nan);
    if (found.op() != ReduceOp::max) {
      ASSERT_EQ(found.min_indices()[r], right.least) << name << ", row " << r;
    }
    if (found.op() != ReduceOp::min) {
      ASSERT_EQ(found.max_indices()[r], right.greatest) << name << ", row " << r;
    }
  }
}

class ReduceTest : public test::EachDevice {
 protected:
  // OpenCL CPU devices have slow compilers.
  [[nodiscard]] bool slow() const { return device.kind() != DeviceKind::cpu && !device.info().gpu; }
  struct Case {
    Dtype dtype;
    ReduceOp op;
    NanPolicy nan;
  };
  [[nodiscard]] std::vector<Case> cases() const {
    constexpr NanPolicy propagate = NanPolicy::propagate;
    if (slow()) {
      return {{Dtype::i8, ReduceOp::minmax, propagate},         {Dtype::u16, ReduceOp::max, propagate},
              {Dtype::f16, ReduceOp::minmax, NanPolicy::skip},  {Dtype::f32, ReduceOp::minmax, propagate},
              {Dtype::f32, ReduceOp::minmax, NanPolicy::skip},  {Dtype::f64, ReduceOp::min, propagate},
              {Dtype::i8, ReduceOp::count_nonzero, propagate},  {Dtype::f16, ReduceOp::count_nonzero, propagate},
              {Dtype::f32, ReduceOp::count_nonzero, propagate}, {Dtype::f64, ReduceOp::count_nonzero, propagate}};
    }
    std::vector<Case> all;
    for (const Dtype dtype : test::all_dtypes) {
      for (const ReduceOp op : {ReduceOp::min, ReduceOp::max, ReduceOp::minmax, ReduceOp::count_nonzero}) {
        all.push_back({dtype, op, propagate});
        if (is_float(dtype)) all.push_back({dtype, op, NanPolicy::skip});
      }
    }
    return all;
  }
};
MASU_ON_EACH_DEVICE(ReduceTest);

// Numbers alone, whose extremes lie anywhere; and everything that floats can be.
template <class T>
std::vector<std::vector<T>> all_kinds(std::size_t count) {
  std::vector<std::vector<T>> kinds;
  for (const Shape shape : reference::shapes) kinds.push_back(reference::data_of<T>(shape, count, 5));
  kinds.push_back(reference::data_of<T>(Shape::random_bits, count, 6));
  for (T& x : kinds.back()) {
    if (is_nan(x)) x = T{};
  }
  kinds.emplace_back(count);  // zeros, and at the end one with a sign
  if constexpr (std::is_floating_point_v<T>) kinds.back().back() = -T{0};
  return kinds;
}

TEST_P(ReduceTest, EveryTypeAndShape) {
  for (const Case& one : cases()) {
    dispatch(one.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      int number = 0;
      for (const std::vector<T>& data : all_kinds<T>(40009)) {
        const std::string name = std::string(to_string(one.dtype)) + " " + std::string(to_string(one.op)) + " data " +
                                 std::to_string(++number) + (one.nan == NanPolicy::skip ? " skip" : "");
        expect_result(reduce(test::misaligned(device, data), one.op, {.nan = one.nan}), data, 1, one.nan, name);
      }
    });
  }
}

// Around vectors, tiles and blocks; rows that are short and long.
TEST_P(ReduceTest, EverySizeAndRows) {
  const std::size_t sizes[] = {1,  2,   3,    4,    5,    15,   16,   17,   31,   63,
                               65, 257, 1023, 1024, 1025, 4095, 4096, 4097, 8191, 16389};
  for (const std::size_t row : sizes) {
    for (const std::uint64_t rows : {1, 2, 7, 301}) {
      if (row > 100 && rows > 7) continue;
      const std::string name = std::to_string(rows) + " rows of " + std::to_string(row);
      const auto words = reference::data_of<float>(Shape::special, row * rows, 3);
      const auto bytes = reference::data_of<std::int8_t>(Shape::random_bits, row * rows, 4);
      const Buffer<float> there = test::misaligned(device, words);
      for (const NanPolicy nan : {NanPolicy::propagate, NanPolicy::skip}) {
        expect_result(reduce(there, ReduceOp::minmax, {.nan = nan, .rows = rows}), words, rows, nan, name + " f32");
      }
      expect_result(reduce(test::misaligned(device, bytes), ReduceOp::minmax, {.rows = rows}), bytes, rows,
                    NanPolicy::propagate, name + " i8");
      expect_result(reduce(test::misaligned(device, bytes), ReduceOp::count_nonzero, {.rows = rows}), bytes, rows,
                    NanPolicy::propagate, name + " i8 count");
      if (row * rows < 3000) {
        expect_result(reduce(device, words, ReduceOp::minmax, {.rows = rows}), words, rows, NanPolicy::propagate,
                      name + " host f32");
      }
    }
  }
}

// The extreme stands everywhere once, twice, and a better one behind it.
TEST_P(ReduceTest, EveryPlace) {
  std::vector<float> data(70001, 9);
  for (std::size_t place = 0; place < data.size(); place += 4373) {
    data[place] = 3;
    if (place + 20001 < data.size()) data[place + 20001] = 3;
    EXPECT_EQ(reduce(test::misaligned(device, data), ReduceOp::minmax).min_indices().front(), place);
    data[place] = data[std::min(place + 20001, data.size() - 1)] = 9;
  }
  EXPECT_EQ(reduce(test::misaligned(device, data), ReduceOp::minmax).min_indices().front(), 0U);
  EXPECT_EQ(reduce(test::misaligned(device, data), ReduceOp::minmax).max_indices().front(), 0U);
}

TEST_P(ReduceTest, InPieces) {
  const auto data = reference::data_of<float>(Shape::special, 50021, 8);
  for (const ReduceOp op : {ReduceOp::minmax, ReduceOp::count_nonzero}) {
    for (const NanPolicy nan : {NanPolicy::propagate, NanPolicy::skip}) {
      ReduceAccumulator first(device, Dtype::f32, op, {.nan = nan});
      ReduceAccumulator second(device, Dtype::f32, op, {.nan = nan});
      first.add(ArrayView(Dtype::f32, data.data(), 0));
      first.add(ArrayView(Dtype::f32, data.data(), 1));
      first.add(ArrayView(Dtype::f32, data.data() + 1, 20000));
      second.add(device.upload(std::vector<float>(data.begin() + 20001, data.begin() + 30000)));
      second.add(ArrayView(Dtype::f32, data.data() + 30000, data.size() - 30000));
      first.merge(second);
      EXPECT_EQ(first.count(), data.size());
      expect_result(first.result(), data, 1, nan, std::string(to_string(op)));
      EXPECT_GT(first.times().compute, 0);
    }
  }
  // More than one piece of host memory on the way to a device.
  std::vector<std::int8_t> bytes(std::size_t{35} << 20, 7);
  bytes[(std::size_t{33} << 20) + 5] = 100;
  bytes[17] = 0;
  EXPECT_EQ(reduce(device, bytes, ReduceOp::minmax).max_indices().front(), (std::size_t{33} << 20) + 5);
  EXPECT_EQ(reduce(device, bytes, ReduceOp::count_nonzero).nonzero().front(), bytes.size() - 1);
}

TEST_P(ReduceTest, OnAStreamAndWorkspace) {
  const auto data = reference::data_of<float>(Shape::special, 30000, 2);
  const Buffer<float> there = device.upload(data);
  Stream stream(device);
  expect_result(reduce(stream, there, ReduceOp::minmax).get(), data, 1, NanPolicy::propagate, "stream");
  const ReduceOptions rows{.nan = NanPolicy::skip, .rows = 3};
  const std::uint64_t bytes = reduce_workspace(device, Dtype::f32, data.size(), ReduceOp::minmax, rows);
  const Buffer<std::byte> workspace(device, bytes);
  Times times{-1, -1};
  ReduceOptions with = rows;
  with.workspace = &workspace;
  with.times = &times;
  expect_result(reduce(there, ReduceOp::minmax, with), data, 3, NanPolicy::skip, "workspace");
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
  if (device.kind() == DeviceKind::cpu) return;
  const Buffer<std::byte> small(device, bytes - 1);
  with.workspace = &small;
  MASU_EXPECT_ERROR((void)reduce(there, ReduceOp::minmax, with), invalid_argument,
                    "reduce: workspace must be at least");
}

// Results in memory of the caller's, of every row.
template <class T>
void expect_into_memory(const Buffer<T>& there, const std::vector<T>& data, ReduceOp op, const ReduceOptions& options,
                        const std::string& name) {
  const Device& device = there.device();
  const std::uint64_t rows = options.rows;
  const std::uint64_t length = data.size() / rows;
  Stream stream(device, Timing::off);
  const Buffer<T> least(device, rows);
  const Buffer<T> greatest(device, rows);
  const Buffer<std::uint64_t> first(device, rows);
  const Buffer<std::uint64_t> second(device, rows);
  const Buffer<std::uint8_t> all(device, rows);
  const Buffer<std::uint8_t> any(device, rows);
  const bool counts = op == ReduceOp::count_nonzero;
  ReduceTargets to;
  if (counts) to = {.nonzero = &first, .all = &all, .any = &any};
  if (!counts && op != ReduceOp::max) to.min = &least, to.min_indices = &first;
  if (!counts && op != ReduceOp::min) to.max = &greatest, to.max_indices = &second;
  ASSERT_EQ(to.op(), op);
  reduce(stream, there, dtype_of<T>, to, options).get();
  const std::vector<std::uint64_t> firsts = first.read();
  const std::vector<std::uint64_t> seconds = second.read();
  for (std::uint64_t r = 0; r < rows; ++r) {
    const Expected right = expected_of(data.data() + r * length, length, options.nan);
    const auto index = [&](std::uint64_t place) { return right.only_nans ? ~std::uint64_t{0} : place; };
    if (counts) {
      ASSERT_EQ(firsts[r], right.nonzero) << name;
      ASSERT_EQ(all.read()[r], right.nonzero == length ? 1 : 0) << name;
      ASSERT_EQ(any.read()[r], right.nonzero != 0 ? 1 : 0) << name;
    }
    if (to.min != nullptr) {
      ASSERT_TRUE(same_bits(least.read()[r], data[r * length + right.least])) << name;
      ASSERT_EQ(firsts[r], index(right.least)) << name << ", row " << r;
    }
    if (to.max != nullptr) {
      ASSERT_TRUE(same_bits(greatest.read()[r], data[r * length + right.greatest])) << name;
      ASSERT_EQ(seconds[r], index(right.greatest)) << name << ", row " << r;
    }
  }
}

TEST_P(ReduceTest, IntoMemory) {
  for (const Case& one : cases()) {
    dispatch(one.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const std::uint64_t rows : {1, 3, 300}) {
        const std::uint64_t length = rows == 300 ? 7 : 9001;
        std::vector<T> data = reference::data_of<T>(Shape::special, rows * length, 4);
        // A row of NaNs, or of nothing but one value, and a row of zeros.
        std::fill_n(data.begin(), length,
                    std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : data.back());
        if (rows > 1) std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(length), length, T{});
        expect_into_memory(
            test::misaligned(device, data), data, one.op, {.nan = one.nan, .rows = rows},
            std::string(to_string(one.dtype)) + " " + std::string(to_string(one.op)) + " of " + std::to_string(rows));
      }
    });
  }
}

TEST_P(ReduceTest, IntoMemoryOfNothing) {
  const Buffer<float> nothing(device, 0);
  const Buffer<std::uint64_t> nonzero = device.upload(std::vector<std::uint64_t>{9, 9});
  const Buffer<std::uint8_t> all = device.upload(std::vector<std::uint8_t>{9, 9});
  const Buffer<std::uint8_t> any = device.upload(std::vector<std::uint8_t>{9, 9});
  Stream stream(device, Timing::off);
  reduce(stream, nothing, Dtype::f32, {.nonzero = &nonzero, .all = &all, .any = &any}, {.rows = 2}).get();
  EXPECT_EQ(nonzero.read(), (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(all.read(), (std::vector<std::uint8_t>{1, 1}));
  EXPECT_EQ(any.read(), (std::vector<std::uint8_t>{0, 0}));
  const Buffer<float> data = device.upload(std::vector<float>(10));
  const Buffer<float> one(device, 1);
  MASU_EXPECT_ERROR((void)reduce(stream, data, Dtype::f32, ReduceTargets{}), invalid_argument,
                    "reduce: the targets must be extremes, or what is counted, got neither");
  MASU_EXPECT_ERROR((void)reduce(stream, data, Dtype::f32, {.min = &one, .nonzero = &nonzero}), invalid_argument,
                    "got both");
  MASU_EXPECT_ERROR((void)reduce(stream, data, Dtype::f32, {.min = &one, .max = &one}), invalid_argument,
                    "reduce: min and max must not overlap");
  MASU_EXPECT_ERROR((void)reduce(stream, nothing, Dtype::f32, {.min = &one}), invalid_argument,
                    "min needs at least one element");
}

TEST_P(ReduceTest, EmptyAndRefusals) {
  const std::vector<float> none;
  const Buffer<float> nothing(device, 0);
  MASU_EXPECT_ERROR((void)reduce(device, none, ReduceOp::min), invalid_argument,
                    "reduce: min needs at least one element, got none");
  MASU_EXPECT_ERROR((void)masu::argmax(nothing), invalid_argument, "max needs at least one element");
  EXPECT_EQ(masu::count_nonzero(nothing), 0U);
  EXPECT_TRUE(masu::all(nothing));
  EXPECT_FALSE(masu::any(nothing));
  ReduceAccumulator accumulator(device, Dtype::u8, ReduceOp::max);
  MASU_EXPECT_ERROR((void)accumulator.result(), invalid_argument, "needs at least one element");
  MASU_EXPECT_ERROR(accumulator.add(ArrayView(none)), invalid_argument, "data must be u8 as before, got f32");
  MASU_EXPECT_ERROR(accumulator.merge(ReduceAccumulator(device, Dtype::u8, ReduceOp::min)), invalid_argument,
                    "must find the same, got the max of u8, NaN propagated and the min of u8, NaN propagated");
  MASU_EXPECT_ERROR(ReduceAccumulator(device, Dtype::u8, ReduceOp::max, {.rows = 2}), invalid_argument,
                    "rows must be 1");
  const std::vector<std::uint8_t> data(6, 1);
  const Buffer<std::uint8_t> there = device.upload(data);
  MASU_EXPECT_ERROR((void)reduce(there, ReduceOp::min, {.rows = 4}), invalid_argument,
                    "rows must be at least 1 and divide the 6 elements, got 4");
  MASU_EXPECT_ERROR((void)masu::min(there, {.rows = 2}), invalid_argument, "rows must be 1, got 2");
  MASU_EXPECT_ERROR((void)masu::min(there, {.nan = NanPolicy::last}), invalid_argument,
                    "nan must be propagate or skip, got last");
  MASU_EXPECT_ERROR((void)reduce(there, Dtype::f32, ReduceOp::min), invalid_argument,
                    "size must be a multiple of 4 bytes (f32), got 6");
  const ReduceResult least = reduce(there, ReduceOp::min);
  MASU_EXPECT_ERROR((void)least.max_values(), invalid_argument, "the greatest was not asked for, but min");
  MASU_EXPECT_ERROR((void)least.nonzero(), invalid_argument, "was not asked for");
  MASU_EXPECT_ERROR((void)least.min<float>(), invalid_argument, "the elements are u8, got f32");
  MASU_EXPECT_ERROR((void)least.min<std::uint8_t>(1), invalid_argument, "the result has 1 rows, got row 1");
}

TEST(Reduce, FunctionsOfOneResult) {
  const std::vector<int> data = {3, -1, 7, -1, 7};
  EXPECT_EQ(masu::min(data), -1);
  EXPECT_EQ(masu::max(data), 7);
  EXPECT_EQ(masu::minmax(data), std::pair(-1, 7));
  EXPECT_EQ(masu::argmin(data), 1U);
  EXPECT_EQ(masu::argmax(data), 2U);
  EXPECT_EQ(masu::count_nonzero(data), 5U);
  EXPECT_TRUE(masu::all(data));
  EXPECT_FALSE(masu::any(std::vector<float>{0, -0.0F}));
  EXPECT_FALSE(masu::all(std::vector<double>{1, 0}));
  const std::vector<float> nans = {NAN, 2, 1};
  EXPECT_TRUE(std::isnan(masu::min(nans)));
  EXPECT_EQ(masu::min(nans, {.nan = NanPolicy::skip}), 1.0F);
  EXPECT_EQ(masu::argmax(nans, {.nan = NanPolicy::skip}), 1U);
  EXPECT_TRUE(masu::all(nans));
}

// What the plan gives to large devices only: many work-groups a row, and work-groups of other sizes.
class ReduceKernelTest : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(ReduceKernelTest);

TEST_P(ReduceKernelTest, ManyGroups) {
  const std::uint64_t rows = 3;
  const auto data = reference::data_of<float>(Shape::special, rows * 20011, 9);
  const Buffer<float> there = device.upload(data);
  Stream stream(device);
  for (const ReduceOp op : {ReduceOp::minmax, ReduceOp::count_nonzero}) {
    const auto plan = reduce_plan::make(device.info(), Dtype::f32, op, true, rows, data.size() / rows, 32, 30);
    EXPECT_EQ(plan.members, 10U);
    DeviceReduce job(there, plan, Buffer<std::byte>(device, plan.workspace()));
    job.start(stream, there);
    const std::vector<Reduced> found = job.fetch(stream);
    for (std::uint64_t r = 0; r < rows; ++r) {
      const Expected right = expected_of(data.data() + r * plan.count, plan.count, NanPolicy::skip);
      if (op == ReduceOp::count_nonzero) {
        EXPECT_EQ(found[r].nonzero, right.nonzero);
      } else {
        EXPECT_EQ(found[r].extremes[0].index, right.least);
        EXPECT_EQ(found[r].extremes[1].index, right.greatest);
      }
    }
  }
}

}  // namespace
}  // namespace masu
