// SPDX-License-Identifier: Apache-2.0
// Segments made ready once, and sorted as often as wanted: the bits of plain loops, on every device.
#include "sort/sort_test_data.h"

#include "each_device.h"
#include "expect_error.h"

#include <masu/sort.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace masu {
namespace {

using test::bits_of;
using test::Keys;
using test::make_keys;
using test::plain_order;

// Lengths of 0, 1, some, and of more than any work-group takes, with elements in front, and behind.
std::vector<std::uint64_t> mixed_segments() {
  std::vector<std::uint64_t> offsets{5};
  for (const std::uint64_t length : {0, 1, 2, 3, 17, 0, 300, 1025, 4097, 1, 20000, 9000, 2, 70001}) {
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

// So many that processors, too, list the short ones by their lengths.
std::vector<std::uint64_t> many_segments() {
  std::vector<std::uint64_t> offsets{0};
  for (std::uint64_t s = 0; s < 5000; ++s) offsets.push_back(offsets.back() + s * 7 % 23);
  offsets.push_back(offsets.back() + 30000);
  return offsets;
}

class PreparedSegmentsTest : public test::EachDevice {
 protected:
  // Each is sorted twice, on other keys, by what was made ready once.
  template <class T>
  void expect_sorted(const std::vector<std::uint64_t>& offsets, Keys kind, Order order) const {
    const std::uint64_t count = offsets.back() + 3;
    const Dtype dtype = dtype_of<T>;
    const PreparedSegments alone(device, dtype, count, offsets);
    const PreparedSegments with_values(device, dtype, count, offsets, sizeof(std::uint32_t));
    const PreparedSegments with_records(device, dtype, count, offsets, 3);
    const PreparedSegments orders = PreparedSegments::for_argsort(device, dtype, count, offsets, Dtype::u64);
    Stream stream(device, Timing::off);
    for (const unsigned seed : {1U, 2U}) {
      const std::vector<T> keys = make_keys<T>(kind, count, seed);
      std::vector<T> expected = keys;
      std::vector<std::uint64_t> places(count);  // outside of segments: the own one
      std::iota(places.begin(), places.end(), std::uint64_t{0});
      std::vector<std::uint64_t> indices = places;
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        const std::uint64_t begin = offsets[s];
        const std::vector<std::uint64_t> found = plain_order(keys.data() + begin, offsets[s + 1] - begin, order);
        for (std::size_t i = 0; i < found.size(); ++i) {
          expected[begin + i] = keys[begin + found[i]];
          places[begin + i] = begin + found[i];
          indices[begin + i] = found[i];
        }
      }
      const Buffer<T> input = device.upload(keys);
      Buffer<T> apart(device, count);
      sort(stream, input, dtype, apart, {.order = order, .prepared = &alone}).get();
      ASSERT_EQ(bits_of(apart.read()), bits_of(expected)) << "apart";
      Buffer<T> in_place = device.upload(keys);
      sort(stream, in_place, dtype, {.order = order, .prepared = &alone}).get();
      ASSERT_EQ(bits_of(in_place.read()), bits_of(expected)) << "in place";

      const std::uint64_t bytes = argsort_workspace(device, dtype, count, Dtype::u64, {.prepared = &orders});
      const Buffer<std::byte> room(device, std::max<std::uint64_t>(bytes, 1));
      Buffer<std::uint64_t> order_found(device, count);
      argsort(stream, input, dtype, order_found, Dtype::u64, {.order = order, .prepared = &orders, .workspace = &room})
          .get();
      ASSERT_EQ(order_found.read(), indices);

      std::vector<std::uint32_t> values(count);
      std::iota(values.begin(), values.end(), 7U);
      Buffer<std::uint32_t> moved = device.upload(values);
      Buffer<T> moved_keys = device.upload(keys);
      sort_by_key(stream, moved_keys, dtype, moved, 4, {.order = order, .prepared = &with_values}).get();
      ASSERT_EQ(bits_of(moved_keys.read()), bits_of(expected)) << "with values";
      const std::vector<std::uint32_t> got = moved.read();
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], places[i] + 7) << "with values";

      std::vector<std::uint8_t> records(count * 3);
      for (std::size_t i = 0; i < records.size(); ++i) records[i] = static_cast<std::uint8_t>((i / 3) >> (i % 3 * 8));
      Buffer<std::uint8_t> moved_records = device.upload(records);
      Buffer<T> record_keys = device.upload(keys);
      sort_by_key(stream, record_keys, dtype, moved_records, 3, {.order = order, .prepared = &with_records}).get();
      const std::vector<std::uint8_t> got_records = moved_records.read();
      for (std::size_t i = 0; i < records.size(); ++i) {
        ASSERT_EQ(got_records[i], records[places[i / 3] * 3 + i % 3]) << "with records";
      }
    }
  }
};
MASU_ON_EACH_DEVICE(PreparedSegmentsTest);

TEST_P(PreparedSegmentsTest, SortsAsOftenAsWanted) {
  expect_sorted<std::uint32_t>(mixed_segments(), Keys::random, Order::ascending);
  expect_sorted<float>(mixed_segments(), Keys::special, Order::descending);
  expect_sorted<std::uint8_t>(mixed_segments(), Keys::random, Order::descending);  // an odd number of passes
}

TEST_P(PreparedSegmentsTest, ManyShortOnes) {
  expect_sorted<float>(many_segments(), Keys::special, Order::ascending);
  if (device.kind() == DeviceKind::opencl && !device.info().gpu) return;  // whose compilers are slow
  expect_sorted<std::uint64_t>(many_segments(), Keys::few, Order::descending);
}

// In a moved object too, and on host data.
TEST_P(PreparedSegmentsTest, HostDataAndMoves) {
  const std::vector<std::uint64_t> offsets{0, 3, 3, 5};
  std::vector<int> keys{3, 1, 2, 9, 8, -5};
  PreparedSegments first(device, Dtype::i32, keys.size(), offsets);
  const PreparedSegments ready = std::move(first);
  sort(device, MutableArrayView(keys), {.prepared = &ready});
  EXPECT_EQ(keys, (std::vector<int>{1, 2, 3, 8, 9, -5}));
  EXPECT_TRUE(is_sorted(device, ArrayView(keys), {.prepared = &ready}));
  EXPECT_FALSE(is_sorted(device, ArrayView(keys), {.order = Order::descending, .prepared = &ready}));
  const PreparedSegments none(device, Dtype::i32, 0, std::vector<std::uint64_t>{0, 0});
  std::vector<int> nothing;
  sort(device, MutableArrayView(nothing), {.prepared = &none});
}

TEST_P(PreparedSegmentsTest, Refusals) {
  const std::vector<std::uint64_t> offsets{0, 3, 5};
  const auto prepare = [&](const std::vector<std::uint64_t>& of, std::size_t bytes) {
    (void)PreparedSegments(device, Dtype::f32, 6, of, bytes);
  };
  MASU_EXPECT_ERROR(prepare({0}, 0), invalid_argument, "PreparedSegments: at least two offsets, got 1");
  MASU_EXPECT_ERROR(prepare({0, 4, 3}, 0), invalid_argument,
                    "segment offsets must be non-decreasing, got 3 after 4 at place 2");
  MASU_EXPECT_ERROR(prepare({0, 7}, 0), invalid_argument, "segments must end at or before 6, got 7");
  MASU_EXPECT_ERROR(prepare(offsets, 65), invalid_argument, "elements have 1 to 64 bytes, got 65");
  const PreparedSegments ready(device, Dtype::f32, 6, offsets, 4);
  Buffer<float> keys = device.upload(std::vector<float>(6));
  Buffer<float> many = device.upload(std::vector<float>(8));
  Buffer<std::byte> values(device, 25);
  Stream stream(device, Timing::off);
  MASU_EXPECT_ERROR((void)sort(stream, many, Dtype::f32, {.prepared = &ready}), invalid_argument,
                    "sort: the segments are prepared for 6 keys, got 8");
  MASU_EXPECT_ERROR((void)sort(stream, keys, Dtype::f32, {.rows = 2, .prepared = &ready}), invalid_argument,
                    "sort: prepared segments must be given alone");
  MASU_EXPECT_ERROR((void)sort(stream, keys, Dtype::f32, {.segments = offsets, .prepared = &ready}), invalid_argument,
                    "sort: prepared segments must be given alone");
  MASU_EXPECT_ERROR((void)sort(stream, keys, Dtype::f32, {.prepared = &ready}), invalid_argument,
                    "sort: the segments are prepared for f32 with values of 4 bytes on " + device.id() +
                        ", got f32 alone on " + device.id());
  Buffer<std::byte> exact = values.slice(0, 24);
  MASU_EXPECT_ERROR((void)sort_by_key(stream, keys, Dtype::i32, exact, 4, {.prepared = &ready}), invalid_argument,
                    "sort_by_key: the segments are prepared for f32");
  std::vector<double> host(6);
  MASU_EXPECT_ERROR(sort(device, MutableArrayView(Dtype::f64, host.data(), 6), {.prepared = &ready}), invalid_argument,
                    "sort: the segments are prepared for f32");
  if (device.kind() == DeviceKind::cpu) return;
  const PreparedSegments elsewhere(Device::open("cpu"), Dtype::f32, 6, offsets, 4);
  MASU_EXPECT_ERROR((void)sort_by_key(stream, keys, Dtype::f32, exact, 4, {.prepared = &elsewhere}), invalid_argument,
                    "sort_by_key: the segments are prepared for f32 with values of 4 bytes on cpu");
  Buffer<std::byte> odd = values.slice(1, 24);
  MASU_EXPECT_ERROR((void)sort_by_key(stream, keys, Dtype::f32, odd, 4, {.prepared = &ready}), invalid_argument,
                    "sort_by_key: with prepared segments, values must begin at a multiple of 4 bytes");
}

}  // namespace
}  // namespace masu
