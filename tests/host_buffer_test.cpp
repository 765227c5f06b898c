// SPDX-License-Identifier: Apache-2.0
#include <masu/buffer.h>
#include <masu/stream.h>

#include "each_device.h"
#include "expect_error.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace masu {
namespace {

static_assert(!std::is_copy_constructible_v<HostBuffer<int>> && std::is_nothrow_move_constructible_v<HostBuffer<int>>);

class HostBufferTest : public test::EachDevice {};
MASU_ON_EACH_DEVICE(HostBufferTest);

TEST_P(HostBufferTest, WritesAndReadsThroughAStream) {
  Stream stream(device);
  for (const std::size_t count : {1U, 2U, 3U, 31U, 4099U, (1U << 20) + 13}) {
    const HostBuffer<std::uint32_t> source(device, count);
    const HostBuffer<std::uint32_t> target(device, count);
    ASSERT_EQ(source.size(), count);
    ASSERT_EQ(source.span().size(), count);
    EXPECT_EQ(source.device(), device);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(source.data()) % 64, 0U);
    std::iota(source.span().begin(), source.span().end(), 7U);
    std::ranges::fill(target.span(), 0U);
    Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(count);
    stream.write(buffer, std::span<const std::uint32_t>(source.span()));
    stream.read(buffer, target.span()).wait();
    EXPECT_TRUE(std::ranges::equal(source.span(), target.span())) << count;
    EXPECT_EQ(buffer.read().back(), 6U + count);
    // Parts, from an odd place to an odd place.
    if (count < 100) continue;
    stream.write(buffer, std::span<const std::uint32_t>(source.span().subspan(3, 50)), 5);
    stream.read(buffer, target.span().subspan(1, 50), 5).wait();
    EXPECT_TRUE(std::ranges::equal(source.span().subspan(3, 50), target.span().subspan(1, 50)));
    EXPECT_EQ(target.span()[51], 58U);
  }
}

TEST_P(HostBufferTest, MayBeEmpty) {
  const HostBuffer<double> none(device, 0);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.span().size(), 0U);
  EXPECT_FALSE(device.is_page_locked(none.data(), 0));
  Buffer<double> buffer = device.allocate<double>(0);
  Stream stream(device);
  stream.write(buffer, std::span<const double>(none.span())).wait();
}

TEST_P(HostBufferTest, TheDeviceKnowsItsPages) {
  const bool locks = device.kind() != DeviceKind::cpu;
  std::optional<HostBuffer<std::uint8_t>> buffer(std::in_place, device, 10'000);
  const std::uint8_t* data = buffer->data();
  EXPECT_EQ(device.is_page_locked(data, 10'000), locks);
  EXPECT_EQ(device.is_page_locked(data + 9'999, 1), locks);
  EXPECT_FALSE(device.is_page_locked(data, std::uint64_t{1} << 40));
  EXPECT_FALSE(device.is_page_locked(nullptr, 1));
  const std::vector<std::uint8_t> ordinary(100);
  EXPECT_FALSE(device.is_page_locked(ordinary.data(), ordinary.size()));
  if (device.kind() == DeviceKind::cuda) return;  // its driver may keep pages locked for the next allocation
  EXPECT_FALSE(device.is_page_locked(data - 1, 3));
  buffer.reset();
  EXPECT_FALSE(device.is_page_locked(data, 10'000));
}

TEST_P(HostBufferTest, MovesAndOutlivesEveryOtherNameOfItsDevice) {
  std::optional<HostBuffer<int>> kept;
  {
    const Device other = Device::open(device.id());
    HostBuffer<int> first(other, 100);
    std::ranges::fill(first.span(), 42);
    HostBuffer<int> second(std::move(first));
    EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move): what it is then is documented by this test
    EXPECT_EQ(first.data(), nullptr);
    HostBuffer<int> third(test::open_once("cpu"), 3);
    third = std::move(second);
    EXPECT_EQ(third.device(), other);
    kept.emplace(std::move(third));
  }
  EXPECT_EQ(kept->span()[99], 42);
  Buffer<int> buffer = device.allocate<int>(100);
  Stream stream(device);
  stream.write(buffer, std::span<const int>(kept->span())).wait();
  EXPECT_EQ(buffer.read(), std::vector<int>(100, 42));
}

TEST_P(HostBufferTest, TooLargeIsAnErrorThatNamesTheBytes) {
  MASU_EXPECT_ERROR(HostBuffer<std::uint64_t>(device, std::uint64_t{1} << 62), out_of_memory, "8 bytes");
  MASU_EXPECT_ERROR(HostBuffer<std::uint8_t>(device, std::uint64_t{1} << 60), out_of_memory, "1152921504606846976");
  EXPECT_EQ(HostBuffer<int>(device, 4).size(), 4U);
}

TEST_P(HostBufferTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (std::size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      Stream stream(device);
      Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(1000);
      for (std::uint32_t round = 0; round < 20; ++round) {
        const HostBuffer<std::uint32_t> host(device, 1000);
        std::ranges::fill(host.span(), round);
        stream.write(buffer, std::span<const std::uint32_t>(host.span())).wait();
        good[t] += buffer.read() == std::vector<std::uint32_t>(1000, round) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(good.size(), 20));
}

class HostBufferKernelTest : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(HostBufferKernelTest);

// The copy stands behind other work, so it cannot be done when the call returns, unless the machine stops this thread:
// then it is tried again.
TEST_P(HostBufferKernelTest, WritesReturnBeforeTheyAreDone) {
  Stream stream(device);
  Buffer<std::uint32_t> a = device.allocate<std::uint32_t>(1U << 23);
  Buffer<std::uint32_t> b = device.allocate<std::uint32_t>(1U << 23);
  const HostBuffer<std::uint32_t> host(device, 1U << 20);
  std::ranges::fill(host.span(), 3U);
  stream.fill(a, 1U).wait();
  bool returned_early = false;
  for (int attempt = 0; attempt < 20 && !returned_early; ++attempt) {
    for (int i = 0; i < 8; ++i) stream.copy(b, a);
    const Event written = stream.write(b, std::span<const std::uint32_t>(host.span()));
    returned_early = !written.ready();
    stream.finish();
  }
  EXPECT_TRUE(returned_early);
  EXPECT_EQ(b.read()[(1U << 20) - 1], 3U);
  EXPECT_EQ(b.read()[1U << 20], 1U);
}

}  // namespace
}  // namespace masu
