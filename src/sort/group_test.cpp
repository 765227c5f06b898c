// SPDX-License-Identifier: Apache-2.0
// Groups of ids, on every device, against a plain loop.
#include "all_dtypes.h"
#include "each_architecture.h"
#include "each_device.h"
#include "elements/elements.h"
#include "expect_error.h"
#include "misaligned.h"
#include "sort/device/sort_plan.h"

#include <masu/group.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace masu {
namespace {

constexpr std::uint64_t none = ~std::uint64_t{0};

bool operator==(const Groups& a, const Groups& b) {
  return a.counts == b.counts && a.offsets == b.offsets && a.order == b.order;
}

// Group after group; ids out of range behind all.
template <class T>
Groups expected(const std::vector<T>& ids, std::uint64_t groups) {
  const auto group_of = [&](std::uint64_t i) {
    const bool good = ids[i] >= 0 && static_cast<std::uint64_t>(ids[i]) < groups;
    return good ? static_cast<std::uint64_t>(ids[i]) : groups;
  };
  Groups result{std::vector<std::uint64_t>(groups), std::vector<std::uint64_t>(groups + 1),
                std::vector<std::uint64_t>(ids.size())};
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    result.order[i] = i;
    if (group_of(i) < groups) ++result.counts[group_of(i)];
  }
  for (std::uint64_t g = 0; g < groups; ++g) result.offsets[g + 1] = result.offsets[g] + result.counts[g];
  std::ranges::stable_sort(result.order, {}, group_of);
  return result;
}

enum class Shape { uniform, skewed, constant, last, ascending };
constexpr std::array shapes = {Shape::uniform, Shape::skewed, Shape::constant, Shape::last, Shape::ascending};

template <class T>
std::vector<T> ids_of(Shape shape, std::size_t count, std::uint64_t groups) {
  std::mt19937_64 random(count + groups);
  const std::uint64_t last =
      std::min<std::uint64_t>(groups - 1, static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
  std::vector<T> ids(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t id = random() % (last + 1);
    if (shape == Shape::skewed) id = random() % (id + 1) % (random() % (last + 1) + 1);
    if (shape == Shape::constant) id = last / 2;
    if (shape == Shape::last) id = last;
    if (shape == Shape::ascending) id = last * i / count;
    ids[i] = static_cast<T>(id);
  }
  return ids;
}

class GroupTest : public test::EachDevice {
 protected:
  [[nodiscard]] bool is_slow() const { return device.kind() != DeviceKind::cpu && !device.info().gpu; }
  template <class T>
  void expect_groups(const std::vector<T>& ids, std::uint64_t groups, const std::string& name) const {
    const Groups right = expected(ids, groups);
    ASSERT_TRUE(group(device, ids, groups) == right) << name;
    ASSERT_TRUE(group(test::misaligned(device, ids), groups).read() == right) << name << ", buffers";
  }
};
MASU_ON_EACH_DEVICE(GroupTest);

TEST_P(GroupTest, EveryDtype) {
  for (const Dtype dtype : test::all_dtypes) {
    // On OpenCL CPU devices, whose compilers are slow, one of each size.
    if (is_slow() && is_signed(dtype) != (size_of(dtype) == 1 || size_of(dtype) == 4)) continue;
    dispatch(dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T>) {
        for (const std::uint64_t groups :
             {std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{256}, std::uint64_t{70000}}) {
          const std::string name = std::string(to_string(dtype)) + " in " + std::to_string(groups);
          expect_groups(ids_of<T>(Shape::uniform, 5003, groups), groups, name);
        }
      }
    });
  }
}

TEST_P(GroupTest, EveryNumberOfGroups) {
  for (const std::uint64_t groups : {1, 2, 3, 254, 255, 256, 257, 509, 511, 65535, 65536, 65537, 1000000}) {
    for (const Shape shape : shapes) {
      if (is_slow() && groups > 65537 && shape != Shape::uniform) continue;
      const std::string name = std::to_string(groups) + " shape " + std::to_string(static_cast<int>(shape));
      expect_groups(ids_of<std::uint32_t>(shape, 20011, groups), groups, name);
      expect_groups(ids_of<std::int64_t>(shape, 601, groups), groups, name + " i64");
    }
  }
}

TEST_P(GroupTest, EverySize) {
  for (const std::size_t count :
       {0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 8191, 8192, 8193, 65537, 300007}) {
    for (const std::uint64_t groups : {1, 7, 256, 3001}) {
      const std::string name = std::to_string(count) + " in " + std::to_string(groups);
      expect_groups(ids_of<std::int32_t>(Shape::uniform, count, groups), groups, name);
      if (count > 256) continue;
      expect_groups(ids_of<std::uint8_t>(Shape::skewed, count, groups), groups, name + " u8");
    }
  }
}

// Ids out of range stand behind all groups.
TEST_P(GroupTest, IdsOutOfRange) {
  for (const std::uint64_t groups : {1, 100, 255, 256, 257, 65536}) {
    std::vector<std::int32_t> ids = ids_of<std::int32_t>(Shape::uniform, 10007, groups);
    for (const std::size_t place : {5003, 70, 9000}) {
      const bool negative = place == 70;
      ids[place] = negative ? -3 : static_cast<std::int32_t>(groups);
    }
    const std::string rule = "ids must be from 0 to " + std::to_string(groups - 1) + ", got -3 at position 70";
    MASU_EXPECT_ERROR(group(device, ids, groups), invalid_argument, "group: " + rule);
    const Groups right = expected(ids, groups);
    EXPECT_EQ(right.offsets.back(), 10004U);
    const Buffer<std::int32_t> there = device.upload(ids);
    const DeviceGroups found{Buffer<std::uint64_t>(device, groups), Buffer<std::uint64_t>(device, groups + 1),
                             Buffer<std::uint64_t>(device, ids.size())};
    const GroupTargets to{found.counts, found.offsets, found.order};
    MASU_EXPECT_ERROR(group(there, Dtype::i32, to), invalid_argument, rule);
    EXPECT_TRUE(found.read() == right);
    Stream stream(device);
    Pending<void> pending = group(stream, there, Dtype::i32, to);
    MASU_EXPECT_ERROR(pending.get(), invalid_argument, rule);
    const Buffer<std::uint64_t> status(device, 2);
    group(stream, there, Dtype::i32, to, {.status = &status}).get();
    EXPECT_EQ(status.read()[0], 70U);
    EXPECT_EQ(static_cast<std::int32_t>(status.read()[1]), -3);
    EXPECT_TRUE(found.read() == right);
  }
  // All of them; the greatest numbers.
  for (const std::uint64_t groups : {1U, 300U, 100000U}) {
    MASU_EXPECT_ERROR(group(device, std::vector<std::uint64_t>(3000, none), groups), invalid_argument,
                      "got 18446744073709551615 at position 0");
    MASU_EXPECT_ERROR(group(device, std::vector<std::int64_t>{0, std::numeric_limits<std::int64_t>::min()}, groups),
                      invalid_argument, "got -9223372036854775808 at position 1");
  }
  MASU_EXPECT_ERROR(group(device, std::vector<std::uint8_t>{3, 255}, 255), invalid_argument, "got 255 at position 1");
  MASU_EXPECT_ERROR(group(device, std::vector<std::int8_t>{3, -1}, 256), invalid_argument, "got -1 at position 1");
}

TEST_P(GroupTest, OnAStream) {
  const std::vector<std::uint16_t> ids = ids_of<std::uint16_t>(Shape::skewed, 70001, 5000);
  const Groups right = expected(ids, 5000);
  const Buffer<std::uint16_t> there = device.upload(ids);
  const Buffer<std::uint64_t> counts(device, 5000);
  const Buffer<std::uint64_t> offsets(device, 5001);
  const Buffer<std::uint32_t> order(device, ids.size());
  const Buffer<std::uint64_t> status(device, 2);
  const Buffer<std::byte> room(device, group_workspace(device, Dtype::u16, ids.size(), 5000, Dtype::u32));
  Stream stream(device);
  group(stream, there, Dtype::u16, {counts, offsets, order, Dtype::u32}, {.workspace = &room, .status = &status}).get();
  EXPECT_EQ(counts.read(), right.counts);
  EXPECT_EQ(offsets.read(), right.offsets);
  EXPECT_EQ(order.read(), (std::vector<std::uint32_t>(right.order.begin(), right.order.end())));
  EXPECT_EQ(status.read(), (std::vector<std::uint64_t>{none, none}));
}

TEST_P(GroupTest, TimesAndThreads) {
  const std::vector<std::uint32_t> ids = ids_of<std::uint32_t>(Shape::uniform, 20000, 64);
  const Groups right = expected(ids, 64);
  std::vector<std::thread> threads;
  std::vector<Groups> found(4);
  for (Groups& each : found) threads.emplace_back([&] { each = group(device, ids, 64); });
  for (std::thread& thread : threads) thread.join();
  for (const Groups& each : found) EXPECT_TRUE(each == right);
  Times times{-1, -1};
  (void)group(device, ids, 64, {.times = &times});
  EXPECT_GT(times.compute, 0);
  EXPECT_GE(times.transfer, 0);
}

TEST_P(GroupTest, Refusals) {
  const Buffer<std::uint32_t> ids = device.upload(std::vector<std::uint32_t>(8));
  const Buffer<std::uint64_t> counts(device, 4);
  const Buffer<std::uint64_t> offsets(device, 5);
  const Buffer<std::uint64_t> order(device, 8);
  MASU_EXPECT_ERROR(group(ids, Dtype::f32, {counts, offsets, order}), invalid_argument,
                    "ids must be integers, got f32");
  MASU_EXPECT_ERROR(group(ids, 0), invalid_argument, "there must be 1 to 2^32 groups, got 0");
  MASU_EXPECT_ERROR(group(ids, (std::uint64_t{1} << 32) + 1), invalid_argument, "got 4294967297");
  MASU_EXPECT_ERROR(group(ids, Dtype::u32, {counts, counts, order}), invalid_argument,
                    "n + 1 offsets and an order of the 8 ids are required, got 4, 4 and 8");
  MASU_EXPECT_ERROR(group(ids, Dtype::u32, {counts, offsets, offsets}), invalid_argument, "got 4, 5 and 5");
  MASU_EXPECT_ERROR(group(ids, Dtype::u32, {counts, offsets, order, Dtype::i64}), invalid_argument,
                    "the order u64 or u32, got u64, u64 and i64");
  MASU_EXPECT_ERROR(group(ids, Dtype::u32, {counts, offsets, ids, Dtype::u32}), invalid_argument,
                    "ids and the order must not overlap");
  MASU_EXPECT_ERROR(group(order.slice(0, 4), Dtype::u64, {counts, offsets, order.slice(3, 4)}), invalid_argument,
                    "must not overlap");
  std::vector<std::uint32_t> narrow(4);
  std::vector<std::uint64_t> wide(9);
  MASU_EXPECT_ERROR(
      group(device, ArrayView(wide), MutableArrayView(narrow), MutableArrayView(wide), MutableArrayView(wide)),
      invalid_argument, "counts and offsets must be u64 and the order u64 or u32, got u32, u64");
  if (device.kind() == DeviceKind::cpu) return;
  const Buffer<std::byte> small(device, group_workspace(device, Dtype::u32, 8, 4) - 16);
  MASU_EXPECT_ERROR(group(ids, Dtype::u32, {counts, offsets, order}, {.workspace = &small}), invalid_argument,
                    "workspace");
  const Buffer<std::uint64_t> elsewhere(Device::open("cpu"), 8);
  MASU_EXPECT_ERROR(group(ids, Dtype::u32, {counts, offsets, elsewhere}), invalid_argument, "on one device");
}

TEST(Group, OfTheHost) {
  const Groups groups = group(std::vector<int>{2, 0, 2, 1, 2}, 4);
  EXPECT_EQ(groups.counts, (std::vector<std::uint64_t>{1, 1, 3, 0}));
  EXPECT_EQ(groups.offsets, (std::vector<std::uint64_t>{0, 1, 2, 5, 5}));
  EXPECT_EQ(groups.order, (std::vector<std::uint64_t>{1, 3, 0, 2, 4}));
}

class GroupNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(GroupNvrtc);

TEST_P(GroupNvrtc, KeysAndBorders) {
  for (const Dtype dtype : {Dtype::i8, Dtype::u16, Dtype::i32, Dtype::i64}) {
    const std::string_view key = dtype == Dtype::i64 ? "uint" : "uchar";
    expect_compiles(sort_plan::group_key_files,
                    element_defines(dtype, {{"MASU_GROUP", 256U}, {"MASU_UNROLL", 8U}, {"MASU_VALUE", key}}),
                    {"group_keys", "first_note"});
    expect_compiles(sort_plan::group_border_files,
                    {{"MASU_GROUP", 256U}, {"MASU_PROBES", 7U}, {"MASU_VALUE", key}, {"MASU_INDEX", "ulong"}},
                    {"group_borders"});
  }
}

}  // namespace
}  // namespace masu
