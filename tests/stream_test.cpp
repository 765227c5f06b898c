// SPDX-License-Identifier: Apache-2.0
#include <masu/histogram.h>
#include <masu/sort.h>
#include <masu/stream.h>

#include "each_device.h"
#include "expect_error.h"

#include <chrono>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

namespace masu {
namespace {

class StreamTest : public test::EachDevice {};
MASU_ON_EACH_DEVICE(StreamTest);

TEST_P(StreamTest, CommandsRunInOrder) {
  Stream stream(device);
  constexpr std::size_t count = 100000;
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0U);
  Buffer<std::uint32_t> a = device.allocate<std::uint32_t>(count);
  Buffer<std::uint32_t> b = device.allocate<std::uint32_t>(count);
  std::vector<std::uint32_t> got(count);
  stream.fill(a, 1U);
  stream.write(a, std::span<const std::uint32_t>(values).first(1000), 5);
  stream.copy(b, a);
  stream.fill(a, 2U);
  const Event event = stream.read(b, std::span(got));
  event.wait();
  EXPECT_TRUE(event.ready());
  std::vector<std::uint32_t> expected(count, 1);
  std::copy_n(values.begin(), 1000, expected.begin() + 5);
  EXPECT_EQ(got, expected);
  stream.finish();
  EXPECT_EQ(a.read(), std::vector<std::uint32_t>(count, 2));
}

// The event of the last command may stand for the point, whatever the number of commands before it.
TEST_P(StreamTest, PointsStandBehindWhateverCameBefore) {
  Stream stream(device, Timing::off);
  Stream other(device, Timing::off);
  constexpr std::size_t count = 1U << 20;
  Buffer<std::uint32_t> a = device.allocate<std::uint32_t>(count);
  Buffer<std::uint32_t> b = device.allocate<std::uint32_t>(count);
  Buffer<std::uint32_t> keys = device.upload(std::vector<std::uint32_t>(1000, 7));
  std::uint32_t value = 0;
  for (const unsigned commands : {1U, 1U, 3U, 3U, 3U, 2U, 1U, 0U, 0U, 2U, 2U}) {
    for (unsigned i = 0; i < commands; ++i) {
      stream.fill(a, ++value);
      if (i == 1) static_cast<void>(sort(stream, keys, Dtype::u32));
    }
    const Event here = stream.record();
    const Event again = stream.record();
    if (commands % 2 == 0) here.wait();
    other.wait(here);
    other.copy(b, a);
    other.finish();
    EXPECT_TRUE(here.ready());
    EXPECT_EQ(b.read(), std::vector<std::uint32_t>(count, value));
    again.wait();
    stream.wait(other.record());
  }
}

TEST_P(StreamTest, EventsHaveTimes) {
  Stream stream(device);
  Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(1U << 22);
  const auto start = std::chrono::steady_clock::now();
  const Event first = stream.fill(buffer, 1U);
  const Event second = stream.fill(buffer, 2U);
  const double seconds = second.seconds();
  const double between = second.seconds_since(first);
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GT(seconds, 0);
  EXPECT_GT(first.seconds(), 0);
  EXPECT_GT(between, 0);
  EXPECT_LE(between, passed);
  EXPECT_LE(first.seconds() + seconds, passed * 1.01 + 1e-3);
  EXPECT_GE(stream.record().seconds_since(second), 0);
  EXPECT_TRUE(Event().ready());
  MASU_EXPECT_ERROR((void)first.seconds_since(Event()), invalid_argument, "empty");
}

TEST_P(StreamTest, WithoutTimingEventsTellNoTimes) {
  Stream stream(device, Timing::off);
  Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(1000);
  const Event first = stream.fill(buffer, 1U);
  const Event second = stream.fill(buffer, 2U);
  second.wait();
  EXPECT_TRUE(first.ready());
  EXPECT_EQ(buffer.read(), std::vector<std::uint32_t>(1000, 2));
  MASU_EXPECT_ERROR((void)second.seconds(), unsupported, "Timing::on");
  MASU_EXPECT_ERROR((void)second.seconds_since(first), unsupported, "Timing::on");
  MASU_EXPECT_ERROR((void)stream.record().seconds(), unsupported, "Timing::on");
  Stream timed(device);
  timed.wait(second);
  EXPECT_GE(timed.record().seconds(), 0);
}

TEST_P(StreamTest, TimesAFillOfManyCommandsAsOne) {
  Stream stream(device);
  struct Three {
    std::uint8_t bytes[3];
  };
  Buffer<Three> buffer = device.allocate<Three>(3U << 20);
  EXPECT_GT(stream.fill(buffer, Three{{1, 2, 3}}).seconds(), 0);
}

TEST_P(StreamTest, WaitsForAnotherStream) {
  Stream producer(device);
  Stream consumer(device);
  constexpr std::size_t count = 1U << 20;
  Buffer<std::uint32_t> a = device.allocate<std::uint32_t>(count);
  Buffer<std::uint32_t> b = device.allocate<std::uint32_t>(count);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    producer.fill(a, round);
    consumer.wait(producer.record());
    consumer.copy(b, a);
    producer.wait(consumer.record());
  }
  consumer.finish();
  EXPECT_EQ(b.read(), std::vector<std::uint32_t>(count, 20));
}

TEST_P(StreamTest, RefusesBuffersOfAnotherDevice) {
  for (const std::string& id : test::device_ids()) {
    if (id == device.id()) continue;
    Stream stream(test::open_once(id));
    Buffer<int> buffer = device.upload(std::vector<int>{1, 2, 3});
    MASU_EXPECT_ERROR(stream.fill(buffer, 1), invalid_argument, "stream's device");
    MASU_EXPECT_ERROR((void)stream.map(buffer), invalid_argument, "stream's device");
    stream.wait(Stream(device).record());  // across devices: waits on the host
  }
}

TEST_P(StreamTest, RefusesRangesOutside) {
  Stream stream(device);
  Buffer<int> buffer = device.upload(std::vector<int>{1, 2, 3});
  std::vector<int> values(2);
  MASU_EXPECT_ERROR(stream.read(buffer, std::span(values), 2), invalid_argument, "8 bytes from 8 on in a buffer of 12");
  MASU_EXPECT_ERROR(stream.write_bytes(buffer, ~std::uint64_t{0}, values.data(), 4), invalid_argument, "inside");
  MASU_EXPECT_ERROR(stream.fill_bytes(buffer, "12345", 5), invalid_argument, "whole patterns");
}

TEST_P(StreamTest, MovesAndKeepsItsDevice) {
  Stream stream(Device::open(device.id()));
  stream = Stream(device);
  Stream other(std::move(stream));
  Buffer<int> buffer = device.allocate<int>(5);
  other.fill(buffer, 3).wait();
  EXPECT_EQ(buffer.read(), std::vector<int>(5, 3));
  EXPECT_EQ(other.device(), device);
}

TEST_P(StreamTest, WrapsANativeQueue) {
  if (device.kind() == DeviceKind::cpu) {
    MASU_EXPECT_ERROR((void)Stream::wrap(device, nullptr), unsupported, "cpu");
    return;
  }
  Stream owner(device);
  Stream wrapped = Stream::wrap(device, owner.native());
  EXPECT_EQ(wrapped.native(), owner.native());
  Buffer<int> buffer = device.allocate<int>(5);
  wrapped.fill(buffer, 3);
  owner.finish();
  EXPECT_EQ(buffer.read(), std::vector<int>(5, 3));
}

TEST_P(StreamTest, CallsOfAScopeRunOnTheQueueOfTheCaller) {
  if (device.kind() == DeviceKind::cpu) {
    MASU_EXPECT_ERROR((void)StreamScope(device, nullptr), unsupported, "cpu");
    return;
  }
  Stream owner(device, Timing::off);
  Stream other(device);
  Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(1U << 22);
  const std::vector<std::uint32_t> sevens(buffer.size(), 7);
  {
    const StreamScope scope(device, owner.native());
    EXPECT_EQ(Stream(device).native(), owner.native());
    for (std::uint32_t round = 0; round < 10; ++round) {  // nobody waits for the filling but the queue itself
      owner.fill(buffer, round);
      owner.fill(buffer, 7U);
      ASSERT_EQ(buffer.read(), sevens) << round;
      owner.fill(buffer, round);
      ASSERT_EQ(histogram(buffer, Bins::edges({double(round), round + 0.5, 20})).counts()[0], buffer.size());
      owner.fill(buffer, 7U);
      sort(buffer);
      ASSERT_EQ(buffer.read(), sevens) << round;
    }
    std::thread([&] { EXPECT_NE(Stream(device).native(), owner.native()); }).join();
    {
      const StreamScope inner(device, other.native());
      EXPECT_EQ(Stream(device).native(), other.native());
    }
    EXPECT_EQ(Stream(device).native(), owner.native());
    for (const std::string& id : test::device_ids()) {
      if (id != device.id()) {
        EXPECT_NE(Stream(test::open_once(id)).native(), owner.native());
      }
    }
  }
  EXPECT_NE(Stream(device).native(), owner.native());
  // The outer one may end first.
  std::optional<StreamScope> first(std::in_place, device, owner.native());
  std::optional<StreamScope> second(std::in_place, device, other.native());
  first.reset();
  EXPECT_EQ(Stream(device).native(), other.native());
  second.reset();
  EXPECT_NE(Stream(device).native(), owner.native());
  EXPECT_NE(Stream(device).native(), other.native());
}

// What is pending may be asked never, from another thread, and behind what the stream was given later.
TEST_P(StreamTest, APendingIsAskedLateOrNever) {
  std::vector<std::uint32_t> values(5000);
  std::iota(values.begin(), values.end(), 0U);
  Buffer<std::uint32_t> data = device.upload(values);
  std::optional<Pending<void>> left;
  std::optional<Pending<void>> asked;
  {
    Stream stream(device);
    left.emplace(sort(stream, data, {.order = Order::descending}));
    asked.emplace(sort(stream, data));
    static_cast<void>(sort(stream, data, {.order = Order::descending}));
    std::thread([&asked] {
      while (!asked->ready()) std::this_thread::yield();
      asked->get();
    }).join();
    stream.finish();
  }
  left.reset();
  EXPECT_EQ(data.read(), std::vector<std::uint32_t>(values.rbegin(), values.rend()));
}

TEST_P(StreamTest, SynchronizeWaitsForEveryStream) {
  std::vector<Stream> streams;
  std::vector<Event> events;
  Buffer<std::uint32_t> buffer = device.allocate<std::uint32_t>(1U << 22);
  for (int i = 0; i < 4; ++i) {
    streams.emplace_back(device);
    events.push_back(streams.back().fill(buffer, 1U));
  }
  device.synchronize();
  for (const Event& event : events) EXPECT_TRUE(event.ready());
}

// Each thread works on every device, with waiting calls and with a stream of its own.
TEST(Streams, ManyThreadsOnAllDevices) {
  const std::vector<std::string> ids = test::device_ids();
  for (const std::string& id : ids) (void)test::open_once(id);
  std::vector<std::thread> threads;
  std::vector<int> good(6, 0);
  for (std::size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto value = static_cast<std::uint32_t>(t + 1);
      for (int round = 0; round < 10; ++round) {
        for (const std::string& id : ids) {
          const Device device = test::open_once(id);
          Stream stream(device);
          Buffer<std::uint32_t> a = device.allocate<std::uint32_t>(10000);
          Buffer<std::uint32_t> b = device.allocate<std::uint32_t>(10000);
          stream.fill(a, value);
          stream.copy(b, a);
          stream.finish();
          a.fill(0);
          a.copy_from(b);
          good[t] += a.read() == std::vector<std::uint32_t>(10000, value) ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(good.size(), static_cast<int>(10 * ids.size())));
}

}  // namespace
}  // namespace masu
