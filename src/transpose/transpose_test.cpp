// SPDX-License-Identifier: Apache-2.0
// Transposing on every device, against a plain loop over bytes.
#include "each_device.h"
#include "expect_error.h"
#include "transpose/transpose_plan.h"

#include <masu/transpose.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace masu {
namespace {

using Bytes = std::vector<std::byte>;

class TransposeTest : public test::EachDevice {
 protected:
  // OpenCL CPU devices compile slowly.
  [[nodiscard]] bool thorough() const { return device.kind() == DeviceKind::cpu || device.info().gpu; }
};
MASU_ON_EACH_DEVICE(TransposeTest);

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  Bytes bytes(count);
  std::uint64_t state = seed * 2 + 1;
  for (std::byte& one : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    one = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

Bytes expected(const Bytes& in, std::size_t size, std::size_t rows, std::size_t columns) {
  Bytes out(in.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t b = 0; b < size; ++b) out[(c * rows + r) * size + b] = in[(r * columns + c) * size + b];
    }
  }
  return out;
}

// From `skip` elements on in longer buffers: what lies around must stay as it was.
void expect_transposed(const Device& device, std::size_t size, std::size_t rows, std::size_t columns,
                       std::size_t skip) {
  const std::string name = std::to_string(rows) + " x " + std::to_string(columns) + " of " + std::to_string(size) +
                           " bytes, " + std::to_string(skip) + " skipped";
  const Bytes in = random_bytes(rows * columns * size, size + rows);
  const Bytes right = expected(in, size, rows, columns);
  Bytes around(in.size() + (skip + 3) * size, std::byte{0xa5});
  const auto place = around.begin() + static_cast<std::ptrdiff_t>(skip * size);
  std::ranges::copy(in, place);
  const Buffer<std::byte> there = device.upload(around);
  std::fill_n(place, in.size(), std::byte{0xa5});
  const Buffer<std::byte> target = device.upload(around);
  std::ranges::copy(right, place);
  Buffer<std::byte> out = target.slice(skip * size, in.size());
  transpose(there.slice(skip * size, in.size()), size, rows, columns, out);
  EXPECT_TRUE(target.read() == around) << name;
  if (rows != columns) return;
  Buffer<std::byte> square = there.slice(skip * size, in.size());
  transpose(square, size, rows, rows, square);
  EXPECT_TRUE(square.read() == right) << name << ", in place";
}

TEST_P(TransposeTest, SizesOfElements) {
  for (const std::size_t size : {1, 2, 3, 4, 8, 12, 16, 24, 64}) {
    if (!thorough() && size != 1 && size != 3 && size != 16) continue;
    expect_transposed(device, size, 70, 70, 0);
    expect_transposed(device, size, 3, 200, 1);
  }
}

TEST_P(TransposeTest, EverySizeOfElement) {
  if (!thorough()) GTEST_SKIP() << "compiling for each takes long";
  for (std::size_t size = 1; size <= 64; size += device.info().gpu ? 7 : 1) {
    expect_transposed(device, size, 29, 35, 1);
    expect_transposed(device, size, 30, 30, 0);
  }
}

// Small elements in words: rows that begin at whole words and rows that do not.
TEST_P(TransposeTest, Shapes) {
  constexpr std::array<std::pair<std::size_t, std::size_t>, 15> shapes = {{{0, 5},
                                                                           {5, 0},
                                                                           {1, 1000},
                                                                           {1000, 1},
                                                                           {2, 1001},
                                                                           {1003, 3},
                                                                           {24, 24},
                                                                           {31, 33},
                                                                           {63, 65},
                                                                           {64, 128},
                                                                           {127, 129},
                                                                           {128, 132},
                                                                           {131, 255},
                                                                           {257, 258},
                                                                           {256, 256}}};
  for (const auto& [rows, columns] : shapes) {
    for (const std::size_t size : {2, 1, 4}) {
      if (!thorough() && size == 2) continue;
      expect_transposed(device, size, rows, columns, size == 2 ? 3 : 0);
    }
  }
  expect_transposed(device, 1, 128, 132, 3);
  expect_transposed(device, 1, 259, 259, 1);
  if (thorough()) expect_transposed(device, 2, 131, 131, 1);
}

// What racecheck has the time for: each kernel, elements of words, of parts of them and of several.
TEST_P(TransposeTest, Little) {
  for (const std::size_t size : {1, 3, 4, 16}) {
    expect_transposed(device, size, 131, 255, size == 3 ? 1 : 0);
    expect_transposed(device, size, 70, 70, 0);
  }
}

// Past the bands of tiles, and on the CPU past the caches.
TEST_P(TransposeTest, Large) {
  expect_transposed(device, 4, 1100, 1301, 1);
  expect_transposed(device, 1, 2100, 2303, 0);
  expect_transposed(device, 16, 300, 300, 0);
  expect_transposed(device, 3, 1500, 1111, 2);
  if (device.kind() != DeviceKind::cpu) return;
  // Where all rows of the output begin with lines of 64 bytes, the CPU writes whole lines; some columns are left over.
  for (const std::size_t size : {1, 2, 4, 8, 16}) {
    const std::size_t line = 64 / size;
    for (const std::size_t columns : {(std::size_t{5} << 20) / (17 * line * size) + 3, std::size_t{16384}}) {
      expect_transposed(device, size, 17 * line, columns, line);
    }
    expect_transposed(device, size, 17 * line, 5003, 1);  // no row begins with a line
  }
}

TEST_P(TransposeTest, RangesAndBuffers) {
  const std::vector<float> in = {1, 2, 3, 4, 5, 6};
  const std::vector<float> right = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(transpose(device, in, 2, 3), right);
  EXPECT_EQ(transpose(device.upload(in), 2, 3).read(), right);
  std::vector<double> square = {1, 2, 3, 4};
  transpose(device, ArrayView(square), 2, 2, MutableArrayView(square));
  EXPECT_EQ(square, (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(transpose(in, 3, 2), (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST_P(TransposeTest, OnAStream) {
  const Bytes in = random_bytes(100 * 90 * 4, 5);
  const Buffer<std::byte> there = device.upload(in);
  Buffer<std::byte> out(device, in.size());
  Buffer<std::byte> back(device, in.size());
  Stream stream(device);
  Pending<void> first = transpose(stream, there, 4, 100, 90, out);
  Pending<void> second = transpose(stream, out, 4, 90, 100, back);
  second.get();
  first.get();
  EXPECT_EQ(out.read(), expected(in, 4, 100, 90));
  EXPECT_EQ(back.read(), in);
  Buffer<std::byte> none(device, 0);
  transpose(stream, there.slice(0, 0), 4, 0, 7, none).get();
}

TEST_P(TransposeTest, Refusals) {
  Buffer<float> data = device.upload(std::vector<float>(12));
  Buffer<float> out(device, 12);
  MASU_EXPECT_ERROR(transpose(data, 4, 3, 5, out), invalid_argument,
                    "transpose: 3 x 5 matrices have 15 elements, got 12 in and 12 out");
  MASU_EXPECT_ERROR(transpose(data, 0, 3, 4, out), invalid_argument, "elements have 1 to 64 bytes, got 0");
  MASU_EXPECT_ERROR(transpose(data, 65, 3, 4, out), invalid_argument, "elements have 1 to 64 bytes, got 65");
  MASU_EXPECT_ERROR(transpose(data, 7, 3, 4, out), invalid_argument, "size must be a multiple of 7 bytes, got 48");
  MASU_EXPECT_ERROR(transpose(data, 4, std::uint64_t{1} << 63, 4, out), invalid_argument, "at most 2^48 elements");
  MASU_EXPECT_ERROR(transpose(data, 4, 3, 4, data), invalid_argument,
                    "a matrix must be square to be transposed in place, got 3 x 4");
  Buffer<float> part = data.slice(3, 9);
  MASU_EXPECT_ERROR(transpose(data.slice(0, 9), 4, 3, 3, part), invalid_argument, "must not overlap");
  std::vector<float> host(16);
  MASU_EXPECT_ERROR(transpose(device, ConstRecordsView(host.data(), 4, 4), 2, 2, RecordsView(host.data() + 2, 4, 4)),
                    invalid_argument, "must not overlap");
  MASU_EXPECT_ERROR(transpose(device, ConstRecordsView(host.data(), 4, 4), 2, 2, RecordsView(host.data() + 8, 8, 4)),
                    invalid_argument, "elements must have one size, got 4 and 8 bytes");
  if (device.kind() == DeviceKind::cpu) return;
  Buffer<float> elsewhere(Device::open("cpu"), 12);
  MASU_EXPECT_ERROR(transpose(data, 4, 3, 4, elsewhere), invalid_argument, "on one device");
  Stream stream(Device::open("cpu"));
  MASU_EXPECT_ERROR((void)transpose(stream, data, 4, 3, 4, out), invalid_argument, "of one device");
}

TEST_P(TransposeTest, TimesAndThreads) {
  const std::vector<float> in(300 * 200, 1.5F);
  std::vector<std::thread> threads;
  std::array<std::vector<float>, 3> found;
  for (auto& one : found) threads.emplace_back([&] { one = transpose(device, in, 300, 200); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : found) EXPECT_EQ(one, in);
  Times times{-1, -1};
  (void)transpose(device, in, 300, 200, {.times = &times});
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
}

TEST(Transpose, Plans) {
  using namespace transpose_plan;
  DeviceInfo device;
  device.local_bytes = 49152;
  device.max_work_group_size = 1024;
  EXPECT_EQ(make(device, {1000, 1000, 4}).strategy, Strategy::tiles);
  EXPECT_EQ(make(device, {1000, 3, 4}).strategy, Strategy::free);
  EXPECT_EQ(make(device, {1000, 1000, 12}).strategy, Strategy::free);
  EXPECT_EQ(make(device, {1000, 1000, 4, 2}).unit, 2U);  // misaligned
  EXPECT_TRUE(make(device, {1000, 1000, 1}).aligned);
  EXPECT_FALSE(make(device, {1000, 1001, 1}).aligned);
  EXPECT_FALSE(make(device, {1000, 1000, 2, 2}).aligned);
  for (std::size_t bytes = 1; bytes <= 64; ++bytes) {
    for (const std::uint64_t rows : {2U, 5U, 30U, 1000U, 1U << 20}) {
      for (const bool in_place : {false, true}) {
        for (const std::uint64_t columns : {2U, 7U, 1000U, 1U << 18}) {
          if (in_place && rows != columns) continue;
          const Plan plan = make(device, {rows, columns, bytes, 0, 0, in_place});
          EXPECT_LE(plan.local_bytes(), device.local_bytes);
          EXPECT_LT(plan.tile_rows * plan.tile_columns * bytes / plan.unit, 1U << 16);
        }
      }
    }
  }
}

}  // namespace
}  // namespace masu
