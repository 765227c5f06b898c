// SPDX-License-Identifier: Apache-2.0
// Scans, on every device, against a plain loop.
#include "all_dtypes.h"
#include "each_device.h"
#include "each_instruction_set.h"
#include "expect_error.h"
#include "misaligned.h"
#include "scan/scan_cpu.h"
#include "scan/scan_device.h"
#include "scan/scan_plan.h"
#include "scan/scan_reference.h"

#include <masu/scan.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

using reference::same_bits;
using reference::Shape;

class ScanTest : public test::EachDevice {
 protected:
  [[nodiscard]] bool slow() const { return device.kind() != DeviceKind::cpu && !device.info().gpu; }
  struct Case {
    Dtype dtype;
    ScanOp op;
    bool exclusive;
  };
  // OpenCL CPU devices have slow compilers.
  [[nodiscard]] std::vector<Case> cases() const {
    if (slow()) {
      return {{Dtype::u8, ScanOp::sum, false}, {Dtype::f32, ScanOp::min, false}, {Dtype::f32, ScanOp::sum, false}};
    }
    std::vector<Case> all;
    for (const Dtype dtype : test::all_dtypes) {
      for (const ScanOp op : {ScanOp::sum, ScanOp::min, ScanOp::max}) {
        for (const bool exclusive : {false, true}) all.push_back({dtype, op, exclusive});
      }
    }
    return all;
  }
};
MASU_ON_EACH_DEVICE(ScanTest);

std::vector<std::uint8_t> random_flags(std::size_t count, unsigned one_in) {
  std::mt19937 random(3);
  std::vector<std::uint8_t> flags(count);
  for (std::uint8_t& flag : flags) flag = random() % one_in == 0 ? static_cast<std::uint8_t>(1 + random() % 255) : 0;
  return flags;
}

TEST_P(ScanTest, EveryTypeAndShape) {
  for (const Case& one : cases()) {
    dispatch(one.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const Shape shape : reference::shapes) {
        const std::string name = std::string(to_string(one.dtype)) + " " + std::string(to_string(one.op)) + " shape " +
                                 std::to_string(static_cast<int>(shape)) + (one.exclusive ? " exclusive" : "");
        const std::size_t count = is_exact_sum(one.dtype, one.op) ? 3001 : 20011;
        const std::vector<T> data = reference::data_of<T>(shape, count, 5);
        const ScanOptions options{.op = one.op, .exclusive = one.exclusive};
        const auto right = reference::scan(data, one.op, one.exclusive);
        EXPECT_TRUE(same_bits(scan(device.upload(data), options).read(), right)) << name;
        EXPECT_TRUE(same_bits(scan(device, data, options), right)) << name << ", host";
        // From one odd place to another, and in place.
        const Buffer<T> odd = test::misaligned(device, data);
        Buffer<T> target = Buffer<T>(device, count + 3).slice(3, count);
        scan(odd, target, options);
        EXPECT_TRUE(same_bits(target.read(), right)) << name << ", misaligned";
        Buffer<T> both = device.upload(data);
        scan(both, both, options);
        EXPECT_TRUE(same_bits(both.read(), right)) << name << ", in place";
      }
    });
  }
}

// Around vectors, tiles and work-groups' chunks; one row, several, and segments.
TEST_P(ScanTest, EverySizeRowsAndFlags) {
  for (const std::size_t row : {1, 2, 3, 15, 16, 17, 255, 1023, 4095, 4096, 4097, 8191, 30011}) {
    for (const std::uint64_t rows : {1, 3, 100}) {
      if (rows == 100 && row > 300) continue;
      const std::string name = std::to_string(rows) + " rows of " + std::to_string(row);
      const auto words = reference::data_of<std::uint32_t>(Shape::random_bits, row * rows, 3);
      const auto expected = reference::scan(words, ScanOp::sum, true, rows);
      EXPECT_TRUE(same_bits(scan(test::misaligned(device, words), {.exclusive = true, .rows = rows}).read(), expected))
          << name;
      const auto floats = reference::data_of<float>(Shape::special, row * rows, 4);
      for (const unsigned one_in : {2U, 500U}) {
        const auto flags = random_flags(words.size(), one_in);
        const Buffer<std::uint8_t> there = test::misaligned(device, flags);
        const ScanOptions with{.exclusive = true, .rows = rows, .device_flags = &there};
        EXPECT_TRUE(
            same_bits(scan(device.upload(words), with).read(), reference::scan(words, ScanOp::sum, true, rows, flags)))
            << name << ", flags";
        if (slow()) continue;
        const ScanOptions least{.op = ScanOp::min, .rows = rows, .flags = ArrayView(flags)};
        EXPECT_TRUE(same_bits(scan(device, floats, least), reference::scan(floats, ScanOp::min, false, rows, flags)))
            << name << ", least, flags";
      }
    }
  }
}

// More than the CPU's threads take at a time.
TEST_P(ScanTest, Large) {
  const auto data = reference::data_of<std::uint32_t>(Shape::random_bits, 700007, 6);
  auto flags = std::vector<std::uint8_t>(data.size());
  for (const std::size_t i : {100000, 350000, 350001}) flags[i] = 1;
  for (const bool flagged : {false, true}) {
    const auto right = reference::scan(data, ScanOp::sum, true, 1, flagged ? flags : std::vector<std::uint8_t>());
    const ScanOptions options{.exclusive = true, .flags = flagged ? ArrayView(flags) : ArrayView()};
    EXPECT_TRUE(same_bits(scan(device, data, options), right));
  }
  const auto narrow = reference::data_of<std::int16_t>(Shape::random_bits, data.size(), 8);
  std::vector<std::int64_t> sums(narrow.size());
  scan(device, ArrayView(narrow), MutableArrayView(sums), {.result = Dtype::i64});
  EXPECT_TRUE(
      same_bits(sums, reference::scan(std::vector<std::int64_t>(narrow.begin(), narrow.end()), ScanOp::sum, false)));
  const auto floats = reference::data_of<float>(Shape::few, 400009, 7);
  EXPECT_TRUE(same_bits(scan(device, floats), reference::scan(floats, ScanOp::sum, false)));
}

// Of each narrower integer into 64 bits: whole, by rows and by flags, exclusive or not, on devices around tiles.
TEST_P(ScanTest, WiderResults) {
  const auto check = [&](auto from, auto to, bool exclusive, bool segmented) {
    using T = typename decltype(from)::type;
    using R = typename decltype(to)::type;
    for (const std::size_t count : {1, 2, 3, 17, 509, 511, 512, 513, 1024, 2047, 2048, 2049, 4098, 20011}) {
      const std::uint64_t rows = segmented && count % 3 == 0 ? 3 : 1;
      const std::string name = std::string(to_string(dtype_of<T>)) + " as " + std::string(to_string(dtype_of<R>)) +
                               ", " + std::to_string(count) + (exclusive ? ", exclusive" : "") +
                               (segmented ? ", segments" : "");
      const auto data = reference::data_of<T>(Shape::random_bits, count, static_cast<unsigned>(count));
      const auto flags = segmented ? random_flags(count, 100) : std::vector<std::uint8_t>();
      const auto right = reference::scan(std::vector<R>(data.begin(), data.end()), ScanOp::sum, exclusive, rows, flags);
      ScanOptions options{.exclusive = exclusive, .rows = rows, .result = dtype_of<R>};
      const Buffer<std::uint8_t> flags_there = device.upload(flags);
      if (segmented) options.device_flags = &flags_there;
      for (const std::size_t shift : {0, 1}) {
        const Buffer<T> input = test::misaligned(device, data, shift);
        Buffer<R> output = Buffer<R>(device, count + 2).slice(1 - shift, count);
        scan(input, dtype_of<T>, output, options);
        EXPECT_TRUE(same_bits(output.read(), right)) << name << ", from " << shift;
        Buffer<R> behind(device, count);
        const Buffer<std::byte> workspace(device, scan_workspace(device, dtype_of<T>, count, options));
        options.workspace = &workspace;
        Stream stream(device);
        scan(stream, input, dtype_of<T>, behind, options).get();
        options.workspace = nullptr;
        EXPECT_TRUE(same_bits(behind.read(), right)) << name << ", on a stream";
      }
      std::vector<R> here(count);
      options.device_flags = nullptr;
      options.flags = segmented ? ArrayView(flags) : ArrayView();
      scan(device, ArrayView(data), MutableArrayView(here), options);
      EXPECT_TRUE(same_bits(here, right)) << name << ", host";
    }
  };
  const TypeTag<std::int64_t> i64;
  const TypeTag<std::uint64_t> u64;
  check(TypeTag<std::int16_t>(), i64, false, false);
  check(TypeTag<std::uint8_t>(), u64, true, true);
  if (slow()) return;
  for (const bool exclusive : {false, true}) {
    check(TypeTag<std::uint32_t>(), i64, exclusive, false);
    check(TypeTag<std::int32_t>(), u64, exclusive, true);
    check(TypeTag<std::int8_t>(), i64, exclusive, false);
    check(TypeTag<std::int8_t>(), u64, exclusive, true);
    check(TypeTag<std::uint16_t>(), i64, exclusive, true);
    check(TypeTag<std::uint8_t>(), i64, exclusive, false);
    check(TypeTag<std::int64_t>(), u64, exclusive, false);
  }
}

TEST(ScanCpu, WiderResultsOnEachInstructionSet) {
  const auto check = [](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr std::uint64_t before = ~std::uint64_t{0} - 100;  // wraps
    for (const std::size_t count : {0, 1, 2, 3, 7, 8, 9, 31, 64, 67, 1031}) {
      const auto data = reference::data_of<T>(Shape::random_bits, count, 3);
      for (const bool exclusive : {false, true}) {
        std::vector<std::uint64_t> found(count);
        std::vector<std::uint64_t> right(count);
        std::uint64_t sum = before;
        for (std::size_t i = 0; i < count; ++i) {
          if (exclusive) right[i] = sum;
          sum += static_cast<std::uint64_t>(data[i]);
          if (!exclusive) right[i] = sum;
        }
        const std::string name = std::to_string(count) + " " + std::string(to_string(dtype_of<T>));
        EXPECT_EQ(cpu::scan_elements(dtype_of<T>, Dtype::i64, ScanOp::sum, exclusive, data.data(), found.data(), count,
                                     before),
                  sum)
            << name;
        EXPECT_EQ(found, right) << name;
        EXPECT_EQ(cpu::scan_total(dtype_of<T>, Dtype::u64, ScanOp::sum, data.data(), count, before), sum) << name;
      }
    }
  };
  test::each_instruction_set([&] {
    check(TypeTag<std::uint8_t>());
    check(TypeTag<std::int8_t>());
    check(TypeTag<std::uint16_t>());
    check(TypeTag<std::int16_t>());
    check(TypeTag<std::uint32_t>());
    check(TypeTag<std::int32_t>());
  });
}

TEST_P(ScanTest, WiderResultsRefused) {
  const Buffer<std::int32_t> six = device.upload(std::vector<std::int32_t>(6, 1));
  Buffer<std::int64_t> wide(device, 6);
  MASU_EXPECT_ERROR(scan(six, Dtype::i32, wide), invalid_argument,
                    "scan: input and output must be of one size, got 6 and 12");
  Buffer<std::int64_t> five(device, 5);
  MASU_EXPECT_ERROR(scan(six, Dtype::i32, five, {.result = Dtype::u64}), invalid_argument,
                    "scan: input and output must be of one size, got 6 and 5");
  MASU_EXPECT_ERROR((void)scan(six, {.result = Dtype::i64}), invalid_argument, "of one size, got 6 and 3");
  MASU_EXPECT_ERROR(scan(six, Dtype::i32, wide, {.result = Dtype::u32}), invalid_argument,
                    "scan: the result must be i32, i64 or u64, got u32");
  MASU_EXPECT_ERROR(scan(six, Dtype::i32, wide, {.op = ScanOp::max, .result = Dtype::i64}), invalid_argument,
                    "scan: the result must be i32, got i64");
  MASU_EXPECT_ERROR(scan(six, Dtype::f32, wide, {.result = Dtype::f64}), invalid_argument,
                    "scan: the result must be f32, got f64");
  MASU_EXPECT_ERROR((void)scan_workspace(device, Dtype::i32, 6, {.result = Dtype::f64}), invalid_argument,
                    "scan: the result must be i32, i64 or u64, got f64");
  // In place there is no room, whichever begins first.
  const Buffer<std::int32_t> eight(device, 8);
  Buffer<std::int32_t> front = eight.slice(0, 4);
  for (const std::uint64_t first : {0, 3}) {
    MASU_EXPECT_ERROR(scan(eight.slice(first, 2), Dtype::i32, front, {.result = Dtype::i64}), invalid_argument,
                      "scan: the output and the input must not overlap");
  }
  std::vector<std::int64_t> here(6);
  const ArrayView narrow(Dtype::i32, here.data(), 6);
  MASU_EXPECT_ERROR(scan(device, narrow, MutableArrayView(here), {.result = Dtype::i64}), invalid_argument,
                    "scan: the output and the input must not overlap");
  MASU_EXPECT_ERROR(scan(device, narrow, MutableArrayView(here), {.result = Dtype::u64}), invalid_argument,
                    "scan: the output of i32 must be u64, got i64");
  MASU_EXPECT_ERROR(ScanAccumulator(device, Dtype::u8, {.result = Dtype::u64}), invalid_argument,
                    "scan: the result of data that comes in pieces must be u8, got u64");
  // Elements begin at multiples of their size.
  const Buffer<std::byte> bytes(device, 100);
  Buffer<std::byte> sums(device, 100);
  Buffer<std::byte> odd = sums.slice(4, 48);
  MASU_EXPECT_ERROR(scan(bytes.slice(1, 24), Dtype::i32, sums, {.rows = 1}), invalid_argument, "of one size");
  MASU_EXPECT_ERROR(scan(bytes.slice(1, 48), Dtype::i32, odd), invalid_argument,
                    "scan: the input must begin at a multiple of 4 bytes, got");
  MASU_EXPECT_ERROR(scan(bytes.slice(0, 24), Dtype::i32, odd, {.result = Dtype::i64}), invalid_argument,
                    "scan: the output must begin at a multiple of 8 bytes, got");
  // Of the same size in place.
  Buffer<std::int64_t> place = device.upload(std::vector<std::int64_t>{-3, 1, 1});
  scan(place, Dtype::i64, place, {.result = Dtype::u64});
  EXPECT_EQ(place.read(), (std::vector<std::int64_t>{-3, -2, -1}));
}

TEST_P(ScanTest, InPieces) {
  const auto check = [&](auto tag, ScanOp op, bool exclusive) {
    using T = typename decltype(tag)::type;
    const auto data = reference::data_of<T>(Shape::random_bits, 9001, 2);
    std::vector<T> found = data;
    ScanAccumulator accumulator(device, dtype_of<T>, {.op = op, .exclusive = exclusive});
    for (std::size_t first = 0; first < data.size(); first += 4500) {
      const std::size_t count = std::min<std::size_t>(4500, data.size() - first);
      accumulator.scan(ArrayView(dtype_of<T>, found.data() + first, count),
                       MutableArrayView(dtype_of<T>, found.data() + first, count));
    }
    EXPECT_EQ(accumulator.count(), data.size());
    EXPECT_GT(accumulator.times().compute, 0);
    EXPECT_TRUE(same_bits(found, reference::scan(data, op, exclusive))) << to_string(dtype_of<T>) << to_string(op);
  };
  check(TypeTag<std::uint32_t>(), ScanOp::sum, true);
  check(TypeTag<float>(), ScanOp::min, false);
  check(TypeTag<float>(), ScanOp::sum, false);
}

TEST_P(ScanTest, StreamWorkspaceAndTimes) {
  const auto data = reference::data_of<std::uint32_t>(Shape::random_bits, 30000, 2);
  const auto right = reference::scan(data, ScanOp::sum, true);
  const Buffer<std::uint32_t> there = device.upload(data);
  Buffer<std::uint32_t> output(device, data.size());
  Stream stream(device);
  scan(stream, there, Dtype::u32, output, {.exclusive = true}).get();
  stream.finish();
  EXPECT_EQ(output.read(), right);
  const auto floats = reference::data_of<float>(Shape::few, 3000, 2);
  const Buffer<float> floats_there = device.upload(floats);
  Buffer<float> sums(device, floats.size());
  scan(stream, floats_there, Dtype::f32, sums).get();
  EXPECT_TRUE(same_bits(sums.read(), reference::scan(floats, ScanOp::sum, false)));
  const Buffer<std::byte> workspace(device, scan_workspace(device, Dtype::u32, data.size(), {.exclusive = true}));
  Times times{-1, -1};
  scan(there, output, {.exclusive = true, .workspace = &workspace, .times = &times});
  EXPECT_EQ(output.read(), right);
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
  if (device.kind() == DeviceKind::cpu) return;
  const Buffer<std::byte> small = workspace.slice(0, 8);
  MASU_EXPECT_ERROR(scan(there, output, {.exclusive = true, .workspace = &small}), invalid_argument, "workspace");
}

TEST_P(ScanTest, EmptyAndRefusals) {
  EXPECT_TRUE(scan(device, std::vector<float>()).empty());
  const Buffer<std::uint8_t> six = device.upload(std::vector<std::uint8_t>(6, 1));
  EXPECT_TRUE(scan(six.slice(0, 0)).empty());
  Buffer<std::uint8_t> five(device, 5);
  MASU_EXPECT_ERROR(scan(six, five), invalid_argument, "scan: input and output must be of one size, got 6 and 5");
  Buffer<std::uint8_t> twelve(device, 12);
  Buffer<std::uint8_t> shifted = twelve.slice(1, 6);
  MASU_EXPECT_ERROR(scan(twelve.slice(0, 6), shifted), invalid_argument,
                    "scan: the output and the input must not overlap");
  MASU_EXPECT_ERROR((void)scan(six, {.rows = 4}), invalid_argument,
                    "scan: rows must be at least 1 and divide the 6 elements, got 4");
  MASU_EXPECT_ERROR((void)scan(six, {.device_flags = &five}), invalid_argument,
                    "as many flags as elements, got 5 for 6");
  const std::vector<std::uint8_t> flags(6);
  MASU_EXPECT_ERROR((void)scan(six, {.flags = ArrayView(flags)}), invalid_argument, "use device_flags");
  const std::vector<std::uint32_t> data(6, 1);
  MASU_EXPECT_ERROR((void)scan(device, data, {.flags = ArrayView(data)}), invalid_argument, "flags are u8, got u32");
  MASU_EXPECT_ERROR((void)scan(device, data, {.device_flags = &six}), invalid_argument, "device_flags are for data");
  std::vector<float> other(6);
  MASU_EXPECT_ERROR(scan(device, ArrayView(data), MutableArrayView(other)), invalid_argument,
                    "scan: the output of u32 must be u32, got f32");
  MASU_EXPECT_ERROR(ScanAccumulator(device, Dtype::u8, {.rows = 2}), invalid_argument, "rows must be 1");
  EXPECT_EQ(scan_op_from_name("max"), ScanOp::max);
  MASU_EXPECT_ERROR((void)scan_op_from_name("mean"), invalid_argument, "one of sum min max, got \"mean\"");
}

// What the plan gives to large devices only: many chunks, and work-groups of other sizes.
class ScanKernelTest : public test::EachDevice {
 protected:
  // Work-groups that may wait for each other.
  [[nodiscard]] std::uint64_t together() const { return device.kind() == DeviceKind::cuda ? 7 : 1; }
};
MASU_ON_EACH_KERNEL_DEVICE(ScanKernelTest);

TEST_P(ScanKernelTest, ManyGroups) {
  const auto data = reference::data_of<std::uint32_t>(Shape::random_bits, 10011, 9);
  const auto right = reference::scan(data, ScanOp::sum, false);
  const Buffer<std::uint32_t> there = device.upload(data);
  Buffer<std::uint32_t> output(device, data.size());
  Stream stream(device);
  scan_plan::Plan plan =
      scan_plan::make(device.info(), Dtype::u32, Dtype::u32, data.size(), ScanOp::sum, false, false, 32, 50);
  for (const bool once : {false, true}) {
    if (once) plan = scan_plan::in_one_launch(device.info(), plan, together(), 32);
    EXPECT_TRUE(once || plan.once || plan.groups > plan.group / 2);
    DeviceScan job(device, plan, nullptr);
    job.start(stream, there, output, data.size(), nullptr);
    EXPECT_EQ(job.fetch_state(stream).front(), right.back());
    EXPECT_EQ(output.read(), right);
  }
}

TEST_P(ScanKernelTest, ManyGroupsOfNarrow) {
  const auto data = reference::data_of<std::int8_t>(Shape::random_bits, 10011, 9);
  const auto right = reference::scan(std::vector<std::int64_t>(data.begin(), data.end()), ScanOp::sum, false);
  const Buffer<std::int8_t> there = device.upload(data);
  const Buffer<std::int64_t> output(device, data.size());
  Stream stream(device);
  const auto plan =
      scan_plan::make(device.info(), Dtype::i8, Dtype::i64, data.size(), ScanOp::sum, false, false, 32, 50);
  EXPECT_GT(plan.groups, plan.group / 2);
  DeviceScan job(device, plan, nullptr);
  job.start(stream, there, output, data.size(), nullptr);
  EXPECT_EQ(static_cast<std::int64_t>(job.fetch_state(stream).front()), right.back());
  EXPECT_EQ(output.read(), right);
}

// One launch, in place where elements are not widened, from a state on: elements of two words, packed ones, and those
// whose order shows.
TEST_P(ScanKernelTest, OneLaunch) {
  const auto widened = [&](auto from, auto to, ScanOp op, bool exclusive, std::size_t count, std::uint64_t state) {
    using From = typename decltype(from)::type;
    using T = typename decltype(to)::type;
    const auto data = reference::data_of<From>(op == ScanOp::sum ? Shape::random_bits : Shape::special, count, 9);
    const std::string name = std::string(to_string(dtype_of<From>)) + " as " + std::string(to_string(dtype_of<T>)) +
                             " " + std::string(to_string(op)) + " of " + std::to_string(count) +
                             (exclusive ? " exclusive" : "");
    std::vector<T> all(1);  // the state as a first element
    std::memcpy(all.data(), &state, sizeof(T));
    all.insert(all.end(), data.begin(), data.end());
    const auto inclusive = reference::scan(all, op, false);
    const auto* first = inclusive.data() + (exclusive ? 0 : 1);
    const std::vector<T> right(first, first + count);
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}}) {
      std::vector<From> padded(shift);
      padded.insert(padded.end(), data.begin(), data.end());
      const Buffer<From> input = device.upload(padded).slice(shift, count);
      const Buffer<T> output = sizeof(From) == sizeof(T)
                                   ? Buffer<T>(device, input.memory(), input.byte_offset(), input.size_bytes())
                                   : Buffer<T>(device, count);
      Stream stream(device);
      const scan_plan::Plan three =
          scan_plan::make(device.info(), dtype_of<From>, dtype_of<T>, count, op, exclusive, false, 32);
      const auto plan = scan_plan::in_one_launch(device.info(), three, together(), 32);
      DeviceScan job(device, plan, nullptr);
      job.start(stream, input, output, count, nullptr, {state});
      T last;
      const std::uint64_t behind = job.fetch_state(stream).front();
      std::memcpy(&last, &behind, sizeof last);
      EXPECT_TRUE(same_bits(std::vector<T>{last}, {inclusive.back()})) << name << ", from " << shift;
      EXPECT_TRUE(same_bits(output.read(), right)) << name << ", from " << shift;
    }
  };
  const auto check = [&](auto tag, auto... how) { widened(tag, tag, how...); };
  // Less than a tile, whole tiles, and so many that every word is used again.
  const std::size_t tile = std::size_t{32} * 8 * 16;  // bytes
  const std::size_t many = 12 * together() * tile;
  check(TypeTag<std::uint64_t>(), ScanOp::sum, true, 5011, 0xfedcba9876543210);
  check(TypeTag<std::uint8_t>(), ScanOp::sum, false, many + 77, 200);
  const TypeTag<std::uint64_t> u64;
  widened(TypeTag<std::int32_t>(), u64, ScanOp::sum, false, many / 8 + 5, ~std::uint64_t{0} - 9);
  if (device.kind() != DeviceKind::cuda && !device.info().gpu) return;  // a compiler that takes seconds
  widened(TypeTag<std::int8_t>(), u64, ScanOp::sum, true, many / 8, 3);
  widened(TypeTag<std::uint8_t>(), u64, ScanOp::sum, false, many / 8 + 1, ~std::uint64_t{0});
  widened(TypeTag<std::int16_t>(), u64, ScanOp::sum, false, tile * 3 / 8, 1);
  widened(TypeTag<std::uint16_t>(), u64, ScanOp::sum, true, 999, 0);
  widened(TypeTag<std::uint32_t>(), u64, ScanOp::sum, false, many / 8 + 3, 5);
  check(TypeTag<std::uint8_t>(), ScanOp::sum, true, tile * 3, 7);
  check(TypeTag<std::int16_t>(), ScanOp::sum, false, many / 2 + 1, 5);
  check(TypeTag<std::uint16_t>(), ScanOp::sum, true, 999, 0);
  check(TypeTag<std::uint32_t>(), ScanOp::sum, false, many / 4, 1);
  check(TypeTag<std::int8_t>(), ScanOp::max, false, many, 0x90);
  check(TypeTag<float>(), ScanOp::max, false, many / 4 + 3, std::bit_cast<std::uint32_t>(-INFINITY));
  check(TypeTag<double>(), ScanOp::min, true, many / 8 + 5, std::bit_cast<std::uint64_t>(double{INFINITY}));
  check(TypeTag<Half>(), ScanOp::min, false, many / 2 + 5, 0x7c00);
}

}  // namespace
}  // namespace masu
