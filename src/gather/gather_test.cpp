// SPDX-License-Identifier: Apache-2.0
// Moving records on every device, against plain loops.
#include "each_device.h"
#include "expect_error.h"
#include "misaligned.h"

#include <masu/gather.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace masu {
namespace {

using Bytes = std::vector<std::byte>;

class GatherTest : public test::EachDevice {
 protected:
  // OpenCL CPU devices compile slowly.
  [[nodiscard]] std::vector<std::size_t> sizes() const {
    if (device.kind() != DeviceKind::cpu && !device.info().gpu) return {4, 24};
    std::vector<std::size_t> all(64);
    for (std::size_t i = 0; i < 64; ++i) all[i] = i + 1;
    return all;
  }
};
MASU_ON_EACH_DEVICE(GatherTest);

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t operator()() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 33;
  }
  Bytes bytes(std::size_t count) {
    Bytes result(count);
    for (std::byte& one : result) one = static_cast<std::byte>((*this)());
    return result;
  }
  template <class Index = std::uint32_t>
  std::vector<Index> indices(std::size_t count, std::uint64_t limit) {
    std::vector<Index> result(count);
    for (Index& one : result) one = static_cast<Index>((*this)() % limit);
    return result;
  }

 private:
  std::uint64_t state_;
};

// out[to(i)] = in[from(i)] for i in [0, count), in order.
template <class From, class To>
Bytes moved(const Bytes& in, Bytes out, std::size_t size, std::size_t count, const From& from, const To& to) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < size; ++b) out[to(i) * size + b] = in[from(i) * size + b];
  }
  return out;
}

TEST_P(GatherTest, GatherAndScatter) {
  Random random(1);
  for (const std::size_t size : sizes()) {
    for (const std::size_t rows : {1, 3}) {
      const std::string name = std::to_string(size) + " bytes, " + std::to_string(rows) + " rows";
      const std::size_t in_row = 700;
      const std::size_t out_row = 1100;
      const Bytes in = random.bytes(in_row * rows * size);
      const std::vector<std::uint32_t> indices = random.indices(out_row * rows, in_row);
      const Bytes right = moved(
          in, Bytes(out_row * rows * size), size, out_row * rows,
          [&](std::size_t i) { return i / out_row * in_row + indices[i]; }, [](std::size_t i) { return i; });
      const Buffer<std::byte> there = test::misaligned(device, in, size);
      Buffer<std::byte> out(device, right.size());
      gather(there, size, test::misaligned(device, indices, 1), Dtype::u32, out, {.rows = rows});
      EXPECT_TRUE(out.read() == right) << name;

      // Back: most places are claimed by none, or by several.
      const Bytes before = random.bytes(in.size());
      const Bytes scattered = moved(
          right, before, size, out_row * rows, [](std::size_t i) { return i; },
          [&](std::size_t i) { return i / out_row * in_row + indices[i]; });
      Buffer<std::byte> target = test::misaligned(device, before, size);
      scatter(out, size, device.upload(indices), Dtype::u32, target, {.rows = rows});
      EXPECT_TRUE(target.read() == scattered) << name;
    }
  }
}

TEST_P(GatherTest, LongIndicesAndHostData) {
  Random random(2);
  const std::vector<double> in = {1.5, 15, 5, 7.5};
  const std::vector<std::uint64_t> mask = {0, 3, 2, 1};
  EXPECT_EQ(permute(device, in, mask), (std::vector<double>{1.5, 7.5, 5, 15}));
  EXPECT_EQ(gather(device, in, std::vector<std::uint64_t>{3, 3, 0}), (std::vector<double>{7.5, 7.5, 1.5}));
  EXPECT_EQ(gather(in, std::vector<std::uint32_t>{1}), (std::vector<double>{15}));
  std::vector<double> out = {9, 9, 9};
  scatter(device, in, std::vector<std::uint64_t>{2, 0, 2, 2}, out);
  EXPECT_EQ(out, (std::vector<double>{15, 9, 7.5}));
  // Enough for several threads and work-groups.
  const std::vector<std::uint64_t> indices = random.indices<std::uint64_t>(300001, 20011);
  std::vector<std::uint32_t> values(indices.size());
  std::vector<std::uint32_t> right(20011, 5);
  for (std::uint32_t i = 0; i < values.size(); ++i) right[indices[i]] = values[i] = i;
  std::vector<std::uint32_t> made(right.size(), 5);
  scatter(device, values, indices, made);
  EXPECT_EQ(made, right);
  const std::vector<std::uint32_t> back = gather(device, right, indices);
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], right[indices[i]]);
}

// One mask for many rows, as OpenCL's shuffle has it.
TEST_P(GatherTest, PermuteRows) {
  std::vector<float> in(4 * 5000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  const std::vector<std::uint32_t> mask = {0, 3, 2, 2};
  const std::vector<float> out = permute(device, in, mask, {.rows = 5000});
  const std::vector<float> there = permute(device.upload(in), device.upload(mask), {.rows = 5000}).read();
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i / 4 * 4 + mask[i % 4]]);
  EXPECT_EQ(there, out);
  MASU_EXPECT_ERROR((void)permute(device, in, mask, {.rows = 4000}), invalid_argument,
                    "permute: rows have as many elements as the mask, got 5 in and 5 out for 4");
}

TEST_P(GatherTest, Reverse) {
  Random random(3);
  for (const std::size_t size : sizes()) {
    for (const std::size_t length : {1, 2, 7, 600, 1001}) {
      for (const std::size_t rows : {1, 3}) {
        const Bytes in = random.bytes(length * rows * size);
        const Bytes right = moved(
            in, Bytes(in.size()), size, length * rows, [](std::size_t i) { return i; },
            [&](std::size_t i) { return i / length * length + length - 1 - i % length; });
        Buffer<std::byte> there = test::misaligned(device, in, size);
        Buffer<std::byte> out(device, in.size());
        reverse(there, size, out, {.rows = rows});
        EXPECT_TRUE(out.read() == right) << size << " bytes, " << rows << " rows of " << length;
        reverse(there, size, there, {.rows = rows});
        EXPECT_TRUE(there.read() == right) << size << " bytes in place, " << rows << " rows of " << length;
      }
    }
  }
  std::vector<int> host = {1, 2, 3};
  reverse(device, host);
  EXPECT_EQ(host, (std::vector<int>{3, 2, 1}));
}

TEST_P(GatherTest, Compact) {
  Random random(4);
  for (const std::size_t size : sizes()) {
    if (size > 4 && device.kind() != DeviceKind::cpu && !device.info().gpu) continue;
    for (const std::size_t count : {1, 255, 4096, 4097, 20011}) {
      if (size > 4 && count > 4096) continue;
      for (const unsigned part : {0U, 1U, 50U, 256U}) {  // of 256
        const Bytes in = random.bytes(count * size);
        Bytes flags(count);
        Bytes right;
        for (std::size_t i = 0; i < count; ++i) {
          if (random() % 256 >= part) continue;
          flags[i] = static_cast<std::byte>(1 + random() % 255);
          right.insert(right.end(), &in[i * size], &in[i * size] + size);
        }
        Buffer<std::byte> out(device, right.size());
        EXPECT_EQ(compact(test::misaligned(device, in, size), size, test::misaligned(device, flags, 1), out),
                  right.size() / size);
        EXPECT_TRUE(out.read() == right) << size << " bytes, " << count << " elements, " << part;
      }
    }
  }
  // More tiles than are added up at a time.
  std::vector<std::uint8_t> flags(1 << 17);
  std::vector<std::uint32_t> selected(1 << 17);
  for (std::size_t i = 0; i < flags.size(); i += 3) selected[i] = flags[i] = 1;
  EXPECT_EQ(compact(device, selected, flags), std::vector<std::uint32_t>(flags.size() / 3 + 1, 1));
  EXPECT_EQ(compact(std::vector<int>{1, 2, 3}, std::vector<std::uint8_t>{1, 0, 9}), (std::vector<int>{1, 3}));
  Buffer<int> few(device, 1);
  few.fill(77);
  const Buffer<int> all = device.upload(std::vector<int>{1, 2, 3});
  const Buffer<std::uint8_t> two = device.upload(std::vector<std::uint8_t>{1, 0, 1});
  MASU_EXPECT_ERROR(compact(all, 4, two, few), invalid_argument,
                    "compact: the output must have room for all that is selected, 2 elements, got 1");
  EXPECT_EQ(few.read(), std::vector<int>{77});
  MASU_EXPECT_ERROR(compact(all, 4, few, few), invalid_argument, "as many flags as elements, got 4 for 3");
}

TEST_P(GatherTest, FillAndIota) {
  struct Triple {
    std::uint8_t bytes[3];
  };
  const Buffer<Triple> whole = device.upload(std::vector<Triple>(1000));
  Buffer<Triple> part = whole.slice(1, 998);
  fill(part, Triple{{1, 2, 3}});
  EXPECT_EQ(whole.read()[0].bytes[0], 0);
  EXPECT_EQ(whole.read()[1].bytes[0], 1);
  EXPECT_EQ(whole.read()[998].bytes[2], 3);
  EXPECT_EQ(whole.read()[999].bytes[2], 0);

  const std::vector<std::uint8_t> bytes = iota<std::uint8_t>(device, 1000, 250, 3).read();
  for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], static_cast<std::uint8_t>(250 + 3 * i));
  EXPECT_EQ(iota<std::int64_t>(device, 3, std::numeric_limits<std::int64_t>::max(), -1).read()[2],
            std::numeric_limits<std::int64_t>::max() - 2);
  EXPECT_EQ(iota<std::int16_t>(device, 3, -1, -2).read(), (std::vector<std::int16_t>{-1, -3, -5}));
  if (!device.info().fp64) return;
  const std::vector<double> doubles = iota<double>(device, 5000, 1, 0.1).read();
  const std::vector<float> floats = iota<float>(device, 5000, 1e-40F, 1e-41F).read();
  std::vector<Half> halves(5000);
  const Half start{0x3c00};
  const Half step{0x4900};  // 10
  iota(device, MutableArrayView(halves), &start, &step);
  for (std::size_t i = 0; i < 5000; ++i) {
    const auto n = static_cast<double>(i);
    ASSERT_EQ(doubles[i], std::fma(n, 0.1, 1.0));
    ASSERT_EQ(floats[i], static_cast<float>(std::fma(n, double{1e-41F}, double{1e-40F})));
  }
  EXPECT_EQ(halves[1].bits, 0x4980);     // 11
  EXPECT_EQ(halves[205].bits, 0x6802);   // 2051 lies in the middle of 2050 and 2052
  EXPECT_EQ(halves[4999].bits, 0x7a1a);  // 49991
  EXPECT_EQ(iota<double>(device, 2, std::numeric_limits<double>::infinity(), 1).read()[1],
            std::numeric_limits<double>::infinity());
  std::uint64_t bits = 0;
  const double nan = iota<double>(device, 1, 0, std::numeric_limits<double>::infinity()).read()[0];
  std::memcpy(&bits, &nan, sizeof nan);
  EXPECT_EQ(bits, 0x7ff8000000000000U);
}

TEST_P(GatherTest, IndicesOutOfRange) {
  Random random(5);
  std::vector<std::uint32_t> indices = random.indices(100003, 1000);
  const std::vector<float> in(1000, 1);
  for (const std::size_t place : {100002U, 70000U, 33U, 0U}) {
    indices[place] = static_cast<std::uint32_t>(1000 + place);
    const std::string where =
        "indices must be below 1000, got " + std::to_string(1000 + place) + " at position " + std::to_string(place);
    Buffer<float> out = device.upload(std::vector<float>(indices.size(), 7));
    MASU_EXPECT_ERROR(gather(device.upload(in), 4, device.upload(indices), Dtype::u32, out), invalid_argument,
                      "gather: " + where);
    EXPECT_EQ(out.read(), std::vector<float>(indices.size(), 7));
    std::vector<float> target(1000, 7);
    MASU_EXPECT_ERROR(scatter(device, std::vector<float>(indices.size()), indices, target), invalid_argument,
                      "scatter: " + where);
    EXPECT_EQ(target, std::vector<float>(1000, 7));
  }
  MASU_EXPECT_ERROR((void)permute(device, std::vector<int>(2), std::vector<std::uint64_t>{1, std::uint64_t{1} << 40}),
                    invalid_argument, "permute: indices must be below 2, got 1099511627776 at position 1");
  MASU_EXPECT_ERROR((void)gather(device, std::vector<int>(), std::vector<std::uint32_t>(3)), invalid_argument,
                    "indices must be below 0, got 3 of them");
}

TEST_P(GatherTest, OnAStream) {
  const std::vector<std::uint32_t> values = {10, 11, 12, 13, 14};
  const Buffer<std::uint32_t> in = device.upload(values);
  const Buffer<std::uint32_t> indices = device.upload(std::vector<std::uint32_t>{4, 3, 2, 1, 0});
  const Buffer<std::uint32_t> wrong = device.upload(std::vector<std::uint32_t>{4, 3, 5, 9, 0});
  Buffer<std::uint32_t> a(device, 5);
  Buffer<std::uint32_t> b(device, 5);
  Buffer<std::uint32_t> c(device, 5);
  const Buffer<std::byte> workspace(device, std::max<std::uint64_t>(scatter_workspace(device, 5), 8));
  const Buffer<std::byte> room(device, std::max<std::uint64_t>(compact_workspace(device, 5), 8));
  Stream stream(device);
  gather(stream, in, 4, indices, Dtype::u32, a).get();
  scatter(stream, a, 4, indices, Dtype::u32, b, {.workspace = &workspace}).get();
  EXPECT_EQ(a.read(), (std::vector<std::uint32_t>{14, 13, 12, 11, 10}));
  EXPECT_EQ(b.read(), values);
  Pending<void> bad = permute(stream, in, 4, wrong, Dtype::u32, a);
  MASU_EXPECT_ERROR(bad.get(), invalid_argument, "permute: indices must be below 5, got 5 at position 2");
  reverse(stream, b, 4, b).get();
  EXPECT_EQ(b.read(), a.read());
  const Buffer<std::uint8_t> flags = device.upload(std::vector<std::uint8_t>{0, 1, 0, 0, 2});
  EXPECT_EQ(compact(stream, in, 4, flags, c, {.workspace = &room}).get(), 2U);
  EXPECT_EQ(c.slice(0, 2).read(), (std::vector<std::uint32_t>{11, 14}));
  const std::uint32_t one = 1;
  fill(stream, c, &one, 4).get();
  EXPECT_EQ(c.read(), std::vector<std::uint32_t>(5, 1));
  iota(stream, c, Dtype::u32, &one, &one).get();
  EXPECT_EQ(c.read(), (std::vector<std::uint32_t>{1, 2, 3, 4, 5}));
}

// What breaks a rule is told in memory of the device, and get() throws nothing.
TEST_P(GatherTest, StatusInMemory) {
  using Status = std::vector<std::uint64_t>;
  const Status none(2, ~std::uint64_t{0});
  Buffer<std::uint64_t> status(device, 2);
  std::vector<std::uint32_t> indices = Random(7).indices(100003, 1000);
  const Buffer<float> in = device.upload(std::vector<float>(1000, 1));
  const Buffer<float> many = device.upload(std::vector<float>(indices.size(), 1));
  Stream stream(device, Timing::off);
  for (const std::size_t place : {indices.size(), std::size_t{100002}, std::size_t{70000}, std::size_t{0}}) {
    if (place < indices.size()) indices[place] = static_cast<std::uint32_t>(1000 + place);
    const bool right = place == indices.size();
    const Status expected = right ? none : Status{place, 1000 + place};
    const Buffer<std::uint32_t> there = device.upload(indices);
    Buffer<float> out = device.upload(std::vector<float>(indices.size(), 7));
    gather(stream, in, 4, there, Dtype::u32, out, {.status = &status}).get();
    EXPECT_EQ(status.read(), expected);
    EXPECT_EQ(out.read(), std::vector<float>(indices.size(), right ? 1 : 7));
    Buffer<float> target = device.upload(std::vector<float>(1000, 7));
    scatter(stream, many, 4, there, Dtype::u32, target, {.status = &status}).get();
    EXPECT_EQ(status.read(), expected);
    EXPECT_EQ(target.read()[999], right ? 1 : 7);
  }
  Buffer<float> empty(device, 0);
  // Behind other work: get() waits for the status.
  status.fill(1);
  const Buffer<float> long_one(device, 1 << 21);
  Buffer<float> turned(device, 1 << 21);
  for (int i = 0; i < 5; ++i) (void)reverse(stream, long_one, 4, turned);
  gather(stream, in, 4, device.upload(std::vector<std::uint32_t>()), Dtype::u32, empty, {.status = &status}).get();
  EXPECT_EQ(status.read(), none);
  Buffer<float> out(device, indices.size());
  const Buffer<std::uint64_t> three(device, 3);
  MASU_EXPECT_ERROR((void)gather(stream, in, 4, device.upload(indices), Dtype::u32, out, {.status = &three}),
                    invalid_argument, "gather: the status must have 16 bytes (2 x 8), got 24");
}

TEST_P(GatherTest, CompactWithItsNumberInMemory) {
  Random random(8);
  Stream stream(device, Timing::off);
  Buffer<std::uint64_t> number(device, 1);
  for (const std::size_t count : {0U, 1U, 5000U, 100003U}) {
    std::vector<std::uint32_t> values(count);
    std::vector<std::uint8_t> flags(count);
    std::vector<std::uint32_t> selected;
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<std::uint32_t>(random());
      flags[i] = static_cast<std::uint8_t>(random() % 3);
      if (flags[i] != 0) selected.push_back(values[i]);
    }
    const Buffer<std::uint32_t> in = device.upload(values);
    const Buffer<std::uint8_t> set = device.upload(flags);
    Buffer<std::uint32_t> out = device.upload(std::vector<std::uint32_t>(count, 7));
    number.fill(99);
    compact(stream, in, 4, set, out, number).get();
    ASSERT_EQ(number.read()[0], selected.size());
    EXPECT_EQ(out.slice(0, selected.size()).read(), selected);
    if (selected.size() < 2) continue;
    // Too many for the output: nothing moves.
    Buffer<std::uint32_t> few = device.upload(std::vector<std::uint32_t>(selected.size() - 1, 7));
    number.fill(99);
    compact(stream, in, 4, set, few, number).get();
    EXPECT_EQ(number.read()[0], selected.size());
    EXPECT_EQ(few.read(), std::vector<std::uint32_t>(few.size(), 7));
  }
}

TEST_P(GatherTest, NothingToDo) {
  EXPECT_TRUE(gather(device, std::vector<int>{1}, std::vector<std::uint32_t>()).empty());
  EXPECT_TRUE(permute(device, std::vector<int>(), std::vector<std::uint32_t>()).empty());
  EXPECT_TRUE(compact(device, std::vector<int>(), std::vector<std::uint8_t>()).empty());
  std::vector<int> empty;
  reverse(device, empty);
  scatter(device, empty, std::vector<std::uint32_t>(), empty);
  EXPECT_EQ(iota<int>(device, 0, 1, 1).size(), 0U);
}

TEST_P(GatherTest, Refusals) {
  const Buffer<std::uint32_t> in = device.upload(std::vector<std::uint32_t>(6));
  const Buffer<std::uint32_t> indices = device.upload(std::vector<std::uint32_t>(4));
  Buffer<std::uint32_t> out(device, 5);
  Buffer<std::uint32_t> four(device, 4);
  MASU_EXPECT_ERROR(gather(in, 4, indices, Dtype::u32, out), invalid_argument,
                    "gather: as many elements out as indices, got 5 for 4");
  MASU_EXPECT_ERROR(gather(in, 4, indices, Dtype::i32, four), invalid_argument, "indices are u32 or u64, got i32");
  MASU_EXPECT_ERROR(gather(in, 4, indices, Dtype::u32, four, {.rows = 4}), invalid_argument,
                    "gather: 4 rows must divide the 6 elements");
  MASU_EXPECT_ERROR(gather(in, 4, indices, Dtype::u32, four, {.rows = 0}), invalid_argument,
                    "rows must be >= 1, got 0");
  MASU_EXPECT_ERROR(gather(in, 100, indices, Dtype::u32, four), invalid_argument,
                    "elements have 1 to 64 bytes, got 100");
  MASU_EXPECT_ERROR(scatter(in, 4, indices, Dtype::u32, out), invalid_argument,
                    "scatter: as many elements as indices, got 6 for 4");
  Buffer<std::uint32_t> same = in.slice(1, 4);
  MASU_EXPECT_ERROR(gather(in, 4, indices, Dtype::u32, same), invalid_argument, "the input must not overlap");
  Buffer<std::uint32_t> index = indices.slice(0, 4);
  MASU_EXPECT_ERROR(gather(in, 4, indices, Dtype::u32, index), invalid_argument, "the indices must not overlap");
  MASU_EXPECT_ERROR(reverse(in.slice(0, 4), 4, same), invalid_argument, "reverse: the output and the input");
  MASU_EXPECT_ERROR(fill(out, 1, {.rows = 2}), invalid_argument, "fill: there are no rows here, got 2");
  if (device.kind() == DeviceKind::cpu) return;
  const Buffer<std::byte> small(device, 16);
  MASU_EXPECT_ERROR(gather(in, 4, indices, Dtype::u32, four, {.workspace = &small}), invalid_argument,
                    "workspace must be at least");
  Buffer<std::uint32_t> elsewhere(Device::open("cpu"), 4);
  MASU_EXPECT_ERROR(gather(in, 4, indices, Dtype::u32, elsewhere), invalid_argument, "on one device");
}

TEST_P(GatherTest, TimesAndThreads) {
  const std::vector<std::uint32_t> indices = Random(6).indices(50000, 50000);
  const std::vector<float> in(50000, 2.5F);
  std::vector<std::thread> threads;
  std::array<std::vector<float>, 3> found;
  for (auto& one : found) threads.emplace_back([&] { one = gather(device, in, indices); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : found) EXPECT_EQ(one, in);
  Times times{-1, -1};
  (void)gather(device, in, indices, {.times = &times});
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
}

}  // namespace
}  // namespace masu
