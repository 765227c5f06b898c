// SPDX-License-Identifier: Apache-2.0
#include <masu/buffer.h>
#include <masu/stream.h>

#include "each_device.h"
#include "expect_error.h"

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace masu {
namespace {

std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

template <std::size_t N>
struct Pattern {
  std::array<std::uint8_t, N> bytes;
  friend bool operator==(const Pattern&, const Pattern&) = default;
};

class BufferTest : public test::EachDevice {};
MASU_ON_EACH_DEVICE(BufferTest);

TEST_P(BufferTest, WritesAndReadsEverySize) {
  for (const std::size_t count : {1U, 2U, 3U, 7U, 31U, 64U, 4099U, 1U << 20, (1U << 20) + 13}) {
    const std::vector<std::uint8_t> bytes = random_bytes(count);
    const Buffer<std::uint8_t> buffer = device.upload(bytes);
    EXPECT_EQ(buffer.size(), count);
    EXPECT_EQ(buffer.device(), device);
    EXPECT_EQ(buffer.read(), bytes) << count;
  }
}

TEST_P(BufferTest, ReadsAndWritesParts) {
  std::vector<std::uint16_t> expected(1000);
  std::iota(expected.begin(), expected.end(), std::uint16_t{0});
  Buffer<std::uint16_t> buffer = device.upload(expected);
  const std::vector<std::uint16_t> part = {7, 8, 9};
  buffer.write(part, 501);
  std::copy(part.begin(), part.end(), expected.begin() + 501);
  std::vector<std::uint16_t> got(5);
  buffer.read(std::span(got), 500);
  EXPECT_EQ(got, std::vector<std::uint16_t>(expected.begin() + 500, expected.begin() + 505));
  EXPECT_EQ(buffer.read(), expected);
}

TEST_P(BufferTest, RefusesWhatLiesOutside) {
  Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(10);
  std::vector<std::uint32_t> values(4);
  constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  MASU_EXPECT_ERROR(buffer.read(std::span(values), 7), invalid_argument, "4 elements from 7 on in a buffer of 10");
  MASU_EXPECT_ERROR(buffer.write(values, 7), invalid_argument, "4 elements from 7");
  MASU_EXPECT_ERROR(buffer.write(values, huge), invalid_argument, "inside");
  MASU_EXPECT_ERROR((void)buffer.slice(11, 0), invalid_argument, "0 elements from 11");
  MASU_EXPECT_ERROR((void)buffer.slice(1, huge), invalid_argument, "inside");
  EXPECT_EQ(buffer.slice(10, 0).size(), 0U);
}

template <std::size_t N>
void check_fill(const Device& device) {
  Pattern<N> pattern{};
  for (std::size_t i = 0; i < N; ++i) pattern.bytes[i] = static_cast<std::uint8_t>(17 * i + N);
  for (const std::size_t count : {1U, 2U, 3U, 1000U, 70001U}) {
    const std::vector<Pattern<N>> before(count + 2, Pattern<N>{});
    Buffer<Pattern<N>> buffer = device.upload(before);
    buffer.slice(1, count).fill(pattern);
    std::vector<Pattern<N>> expected(count + 2, pattern);
    expected.front() = expected.back() = Pattern<N>{};
    EXPECT_TRUE(buffer.read() == expected) << N << " bytes, " << count << " times";
  }
}

TEST_P(BufferTest, FillsWithPatternsOfAnySize) {
  check_fill<1>(device);
  check_fill<2>(device);
  check_fill<3>(device);
  check_fill<4>(device);
  check_fill<8>(device);
  check_fill<12>(device);
  check_fill<16>(device);
  check_fill<64>(device);
  check_fill<256>(device);
}

TEST_P(BufferTest, MapsForReadingAndWriting) {
  std::vector<std::uint32_t> expected(5000);
  std::iota(expected.begin(), expected.end(), 0U);
  Buffer<std::uint32_t> buffer = device.upload(expected);
  Stream stream(device);
  {
    const Mapping<std::uint32_t> mapping = stream.map(buffer, MapMode::read);
    EXPECT_TRUE(std::ranges::equal(mapping.span(), expected));
  }
  {
    Mapping<std::uint32_t> mapping = stream.map(buffer, MapMode::write);
    for (std::uint32_t& value : mapping.span()) value = 7;
    mapping.unmap();
    mapping.unmap();  // does nothing more
  }
  stream.finish();
  std::ranges::fill(expected, 7U);
  EXPECT_EQ(buffer.read(), expected);
  Buffer<std::uint32_t> part = buffer.slice(101, 55);  // an offset that no page starts at
  {
    const Mapping<std::uint32_t> mapping = stream.map(part);
    for (std::uint32_t& value : mapping.span()) value += 1;
  }
  stream.finish();
  std::fill_n(expected.begin() + 101, 55, 8U);
  EXPECT_EQ(buffer.read(), expected);
}

TEST_P(BufferTest, CopiesButNotOntoItself) {
  const std::vector<std::uint8_t> bytes = random_bytes(10007);
  const Buffer<std::uint8_t> source = device.upload(bytes);
  Buffer<std::uint8_t> target = device.allocate<std::uint8_t>(bytes.size());
  target.copy_from(source);
  EXPECT_EQ(target.read(), bytes);
  target.slice(0, 5000).copy_from(target.slice(5000, 5000));
  std::vector<std::uint8_t> expected = bytes;
  std::copy_n(bytes.begin() + 5000, 5000, expected.begin());
  EXPECT_EQ(target.read(), expected);
  MASU_EXPECT_ERROR(target.slice(0, 100).copy_from(target.slice(99, 100)), invalid_argument, "overlap");
  MASU_EXPECT_ERROR(target.copy_from(target), invalid_argument, "overlap");
  MASU_EXPECT_ERROR(target.copy_from(source.slice(0, 3)), invalid_argument, "one size");
  target.slice(0, 0).copy_from(target.slice(0, 0));
}

TEST_P(BufferTest, CopiesBetweenAllDevices) {
  const std::vector<std::uint8_t> bytes = random_bytes(70001);
  const Buffer<std::uint8_t> source = device.upload(bytes);
  for (const std::string& id : test::device_ids()) {
    Buffer<std::uint8_t> target = test::open_once(id).allocate<std::uint8_t>(bytes.size() + 3);
    target.slice(3, bytes.size()).copy_from(source);
    EXPECT_EQ(target.slice(3, bytes.size()).read(), bytes) << id;
  }
}

TEST_P(BufferTest, SlicesShareTheMemory) {
  std::vector<std::uint8_t> bytes = random_bytes(1000);
  Buffer<std::uint8_t> whole = device.upload(bytes);
  for (const std::uint64_t first : {0U, 1U, 3U, 127U, 999U}) {  // mostly misaligned for any device
    Buffer<std::uint8_t> part = whole.slice(first, 1000 - first).slice(0, 1);
    EXPECT_EQ(part.byte_offset(), first);
    EXPECT_EQ(part.native(), whole.native());
    EXPECT_EQ(part.read().at(0), bytes[first]);
    part.fill(static_cast<std::uint8_t>(bytes[first] + 1));
    ++bytes[first];
  }
  EXPECT_EQ(whole.read(), bytes);
}

TEST_P(BufferTest, EmptyBuffersAreValid) {
  Buffer<double> empty = device.allocate<double>(0);
  EXPECT_TRUE(empty.empty());
  EXPECT_TRUE(empty.read().empty());
  empty.write(std::span<const double>{});
  empty.fill(1.5);
  empty.copy_from(device.upload(std::vector<double>{}));
  Stream stream(device);
  EXPECT_TRUE(stream.map(empty).span().empty());
  stream.fill(empty, 2.0).wait();
  EXPECT_EQ(Buffer<int>::wrap_host(device, std::span<int>{}).size(), 0U);
}

TEST_P(BufferTest, WrapsHostMemory) {
  std::vector<std::uint32_t> host(4096, 5);
  std::optional<Buffer<std::uint32_t>> buffer;
  try {
    buffer.emplace(Buffer<std::uint32_t>::wrap_host(device, host));
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(buffer->read(), std::vector<std::uint32_t>(4096, 5));
  buffer->slice(1, 2).fill(9);
  Stream stream(device);
  {
    const Mapping<std::uint32_t> mapping = stream.map(*buffer, MapMode::read);
    EXPECT_EQ(mapping.span().data(), host.data());
    EXPECT_EQ(host[0], 5U);
    EXPECT_EQ(host[1], 9U);
    EXPECT_EQ(host[2], 9U);
    EXPECT_EQ(host[3], 5U);
  }
  MASU_EXPECT_ERROR((void)Buffer<int>::wrap_host(device, std::span<int>(static_cast<int*>(nullptr), 4)),
                    invalid_argument, "null");
}

TEST_P(BufferTest, ReadOnlyViews) {
  const std::vector<int> values = {1, 2, 3};
  Buffer<const int> view = device.upload(values).read_only();
  EXPECT_EQ(view.read(), values);
  EXPECT_EQ(view.slice(1, 2).read(), (std::vector<int>{2, 3}));
  Buffer<const int> moved = device.upload(values);
  EXPECT_EQ(moved.read(), values);
  Stream stream(device);
  EXPECT_EQ(stream.map(moved, MapMode::read).span()[2], 3);
  try {
    Buffer<const int> wrapped = Buffer<const int>::wrap_host(device, values);
    EXPECT_EQ(wrapped.read(), values);
    MASU_EXPECT_ERROR((void)stream.map(wrapped, MapMode::write), invalid_argument, "read-only");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
  }
}

TEST_P(BufferTest, WrapsNativeMemory) {
  const std::vector<std::uint8_t> bytes = random_bytes(300);
  const Buffer<std::uint8_t> owner = device.upload(bytes);
  Buffer<std::uint16_t> view = Buffer<std::uint16_t>::wrap_native(device, owner.native(), 100);
  view.fill(0x0101);
  std::vector<std::uint8_t> expected = bytes;
  std::fill_n(expected.begin(), 200, std::uint8_t{1});
  EXPECT_EQ(owner.read(), expected);
  MASU_EXPECT_ERROR((void)Buffer<int>::wrap_native(device, nullptr, 1), invalid_argument, "null");
}

TEST_P(BufferTest, TooLargeIsAnErrorThatNamesTheBytes) {
  MASU_EXPECT_ERROR((void)device.allocate<std::uint64_t>(std::uint64_t{1} << 62), out_of_memory, "8 bytes");
  MASU_EXPECT_ERROR((void)device.allocate<std::uint8_t>(std::uint64_t{1} << 60), out_of_memory, "1152921504606846976");
  EXPECT_EQ(device.upload(std::vector<int>{4}).read().at(0), 4);  // the device still works
}

TEST_P(BufferTest, OutlivesEveryOtherNameOfItsDevice) {
  std::optional<Buffer<int>> buffer;
  {
    const Device other = Device::open(device.id());
    buffer.emplace(other.upload(std::vector<int>{1, 2}));
  }
  EXPECT_EQ(buffer->read(), (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace masu
