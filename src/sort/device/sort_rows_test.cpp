// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_rows.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_kernels_test.h"

#include <gtest/gtest.h>
#include <masu/sort.h>

#include <string>
#include <vector>

namespace masu {
namespace {

using sort_kernels::Arrays;
using test::Pairs;
using test::With;

class SortRows : public test::KernelSorts {};
MASU_ON_EACH_KERNEL_DEVICE(SortRows);

// Each kernel takes long to compile on some devices, and what differs is how keys are read: words are in the tests
// below.
TEST_P(SortRows, EveryTypeAndOrder) {
  const auto check = [&](auto tag, Order order) {
    using T = decltype(tag);
    const std::uint64_t rows = 37;
    const std::uint64_t length = 100;
    for (const test::Keys kind : test::all_keys) {
      expect_sorted(
          test::make_keys<T>(rows * length, kind, 1), test::equal_pieces(rows, length), order, With::nothing,
          [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
            sort_rows::sort(stream, arrays, {rows, length, length}, nullptr, work);
          },
          std::string(to_string(dtype_of<T>)) + " keys " + std::to_string(static_cast<int>(kind)));
    }
  };
  check(std::uint8_t{}, Order::ascending);
  check(std::int16_t{}, Order::descending);
  check(std::int64_t{}, Order::ascending);
  check(Half{}, Order::ascending);
  check(double{}, Order::descending);
}

TEST_P(SortRows, EveryLength) {
  const std::uint64_t most = sort_rows::most_local_keys(device.info(), Dtype::u32, false);
  const auto check = [&](std::uint64_t length, With with) {
    const std::uint64_t rows = length > 500 ? 2 : 300;
    const test::Keys kind = length % 2 == 0 ? test::Keys::random : test::Keys::special;
    expect_sorted(
        test::make_keys<std::uint32_t>(rows * length, kind, 2), test::equal_pieces(rows, length), Order::ascending,
        with,
        [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
          sort_rows::sort(stream, arrays, {rows, length, length}, nullptr, work);
        },
        std::to_string(length));
  };
  for (const std::uint64_t length : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{17}, most - 1, most}) {
    check(length, With::nothing);
  }
  check(17, With::records);
  check(17, With::indices);
}

// Only some tiles of floats need a second look; the workspace memory may be the caller's.
TEST_P(SortRows, SomeTilesAreListed) {
  const std::uint64_t length = 100;
  const std::uint64_t rows = 400;
  std::vector<double> keys = test::make_keys<double>(rows * length, test::Keys::random, 3);
  const auto nan = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
  keys[5] = nan(0xfff8000000000000);  // all of one kind
  keys[9] = nan(0xfff8000000000000);
  keys[100 * length] = 0.0;
  keys[100 * length + 1] = -0.0;
  keys[100 * length + 2] = 0.0;
  keys[399 * length + 3] = nan(0x7ff8000000000000);
  keys[399 * length + 4] = nan(0xfff8000000000000);
  keys[250 * length + 4] = nan(0x7ff0000000000001);
  expect_sorted(
      keys, test::equal_pieces(rows, length), Order::descending, With::nothing,
      [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
        const sort_rows::Rows shape{rows, length, length};
        const std::uint64_t bytes = sort_rows::workspace_bytes(device.info(), arrays, shape);
        EXPECT_GT(bytes, 0U);
        const Buffer<std::byte>& memory = work.memory.emplace_back(device, bytes + 16);
        const Buffer<std::byte> workspace = memory.slice(16, bytes);
        sort_rows::sort(stream, arrays, shape, &workspace, work);
      },
      "f64");
}

TEST_P(SortRows, PiecesCutIntoRows) {
  const std::uint64_t pieces = 3;
  const std::uint64_t piece_length = 700;
  const std::uint64_t row_length = 256;
  const std::vector<std::uint32_t> keys = test::make_keys<std::uint32_t>(pieces * piece_length, test::Keys::few, 4);
  Pairs rows;
  for (std::size_t p = 0; p < pieces; ++p) {
    for (std::size_t first = 0; first < piece_length; first += row_length) {
      rows.emplace_back(p * piece_length + first, p * piece_length + std::min(piece_length, first + row_length));
    }
  }
  const auto expected = test::expected_of(keys, rows, Order::descending);
  Stream stream(device);
  const Buffer<std::uint32_t> data = device.upload(keys);
  const Buffer<std::uint32_t> target(device, keys.size());
  const Buffer<std::uint32_t> indices(device, keys.size());
  Arrays arrays;
  arrays.dtype = Dtype::u32;
  arrays.order = Order::descending;
  arrays.source = &data;
  arrays.target = &target;
  arrays.payload = {Payload::Kind::indices, &indices, 4};
  DeviceWork work;
  sort_rows::sort(stream, arrays, {pieces, piece_length, row_length}, nullptr, work);
  stream.finish();
  EXPECT_EQ(target.read(), expected.keys);
  const std::vector<std::uint32_t> got = indices.read();
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], expected.indices[i] - i / piece_length * piece_length) << i;
  }
}

// Two classes of lengths, and segments of no key or one, which are in no class.
TEST_P(SortRows, SegmentsOfSeveralClasses) {
  const std::uint64_t most = sort_rows::most_local_keys(device.info(), Dtype::i32, true);
  std::vector<std::uint64_t> offsets{2};
  for (int i = 0; i < 300; ++i) offsets.push_back(offsets.back() + (i % 3 == 0 ? i % 2 : 3 + i % 2));
  for (const std::uint64_t length : {most, std::uint64_t{4}, most - 1, std::uint64_t{1}}) {
    offsets.push_back(offsets.back() + length);
  }
  Pairs pieces;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) pieces.emplace_back(offsets[s], offsets[s + 1]);
  const auto keys = test::make_keys<std::int32_t>(offsets.back() + 5, test::Keys::special, 6);
  for (const With with : {With::nothing, With::records, With::indices}) {
    expect_sorted(
        keys, pieces, Order::ascending, with,
        [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
          const bool indexed = !arrays.alone();
          const auto ready = std::make_shared<const sort_rows::Segments>(device, arrays.dtype, indexed, offsets);
          work.kept.push_back(ready);
          ready->sort(stream, arrays, nullptr, work);
        },
        "segments");
  }
}

// So many that short ones are sorted here, whatever the device, while long ones are sorted by digits.
TEST_P(SortRows, ManySegments) {
  std::vector<std::uint64_t> offsets{1};
  for (int i = 0; i < 5000; ++i) offsets.push_back(offsets.back() + (i == 77 ? 9000 : i % 3 == 0 ? i % 2 : 3 + i % 2));
  Pairs pieces;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) pieces.emplace_back(offsets[s], offsets[s + 1]);
  const auto keys = test::make_keys<std::int32_t>(offsets.back() + 2, test::Keys::few, 8);
  const auto expected = test::expected_of(keys, pieces, Order::descending);
  const SortOptions options{.order = Order::descending, .segments = offsets};
  const Buffer<std::int32_t> source = device.upload(keys);
  Buffer<std::int32_t> sorted(device, keys.size());
  sort(source, Dtype::i32, sorted, options);
  EXPECT_EQ(sorted.read(), expected.keys);
  const std::vector<std::uint32_t> indices = argsort<std::uint32_t>(source, options).read();
  for (const auto& [begin, end] : pieces) {
    for (std::size_t i = begin; i < end; ++i) ASSERT_EQ(indices[i] + begin, expected.indices[i]) << i;
  }
}

}  // namespace
}  // namespace masu
