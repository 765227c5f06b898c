// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_merge.h"
#include "sort/device/sort_device.h"

#include "sort/device/sort_kernels_test.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace masu {
namespace {

using sort_kernels::Arrays;

class SortMerge : public test::KernelSorts {
 protected:
  template <class T, class Index = std::uint32_t>
  void expect_merged(std::size_t pieces, std::size_t length, test::Keys kind, Order order,
                     test::With with = test::With::nothing) {
    expect_sorted<T, Index>(
        test::make_keys<T>(pieces * length, kind, 3), test::equal_pieces(pieces, length), order, with,
        [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
          sort_merge::sort(stream, arrays, pieces, length, nullptr, work);
        },
        std::string(to_string(dtype_of<T>)) + ' ' + std::to_string(pieces) + " x " + std::to_string(length));
  }
};
MASU_ON_EACH_KERNEL_DEVICE(SortMerge);

// Lengths around runs and tiles: those of the device, 2,048 here. Some devices take a second to compile a kernel, so
// each kind of key and payload stands once.
TEST_P(SortMerge, LongPieces) {
  for (const std::size_t length : {2049, 4097, 6143, 17000, 100003}) {
    expect_merged<std::uint32_t>(1, length, test::Keys::random, Order::ascending);
  }
  for (const test::Keys kind : test::all_keys) expect_merged<std::uint32_t>(2, 9000, kind, Order::ascending);
  for (const test::With with : {test::With::nothing, test::With::records, test::With::indices}) {
    expect_merged<float>(1, 33000, test::Keys::special, Order::descending, with);
    expect_merged<float>(3, 5000, test::Keys::few, Order::descending, with);
  }
  expect_merged<double, std::uint64_t>(1, 6000, test::Keys::special, Order::ascending, test::With::indices);
  expect_merged<std::int8_t>(2, 8200, test::Keys::random, Order::descending);
}

// Records of 8 bytes move with the keys themselves.
TEST_P(SortMerge, ShortRecords) {
  const std::vector<std::uint32_t> keys = test::make_keys<std::uint32_t>(30000, test::Keys::few, 5);
  const auto expected = test::expected_of(keys, {{0, keys.size()}}, Order::descending);
  std::vector<std::uint64_t> records(keys.size());
  std::iota(records.begin(), records.end(), std::uint64_t{0});
  const Buffer<std::uint32_t> data = device.upload(keys);
  const Buffer<std::uint64_t> moved = device.upload(records);
  Arrays arrays;
  arrays.dtype = Dtype::u32;
  arrays.order = Order::descending;
  arrays.source = arrays.target = &data;
  arrays.payload = {Payload::Kind::records, &moved, 8};
  const std::uint64_t bytes = sort_merge::workspace_bytes(device.info(), arrays, 1, keys.size());
  EXPECT_EQ(bytes, 30000U * 12);
  const Buffer<std::byte> workspace(device, bytes);
  Stream stream(device);
  DeviceWork work;
  sort_merge::sort(stream, arrays, 1, keys.size(), &workspace, work);
  stream.finish();
  EXPECT_EQ(data.read(), expected.keys);
  EXPECT_EQ(moved.read(), expected.indices);
}

}  // namespace
}  // namespace masu
