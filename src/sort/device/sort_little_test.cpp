// SPDX-License-Identifier: Apache-2.0
// The sorts of keys alone on few keys, of all kinds together: what compute-sanitizer's racecheck has the time for.
#include "sort/device/sort_few.h"
#include "sort/device/sort_keys_test.h"
#include "sort/device/sort_once.h"

#include <masu/sort.h>

#include <cstdint>

namespace masu {
namespace {

using test::keys_by;

class LittleSorts : public test::AloneSorts {
 protected:
  void SetUp() override {
    bucket_bits = 12;  // with 16 there are 65,536 work-groups
    if (!device.info().gpu) GTEST_SKIP() << "SortKeys has more";
  }
};
MASU_ON_EACH_KERNEL_DEVICE(LittleSorts);

TEST_P(LittleSorts, Keys) {
  const auto random = [](auto& source, auto) { return source(); };
  expect_sorted_both_ways(keys_by<std::uint32_t>(20011, random), "random");
  expect_sorted(keys_by<std::int64_t>(9001, random), Order::descending, true, "random");
  for (const unsigned bits : {0U, sort_keys::most_bucket_bits}) {
    bucket_bits = bits;
    expect_sorted(keys_by<std::uint32_t>(20011, random), Order::ascending, true, "random");
  }
  EXPECT_FALSE(is_sorted(device, ArrayView(keys_by<std::uint32_t>(20011, random))));
}

// As so many keys that they are counted in two steps.
TEST_P(LittleSorts, AsManyKeys) {
  bucket_bits = sort_keys::most_bucket_bits;
  shaped_for = std::uint64_t{1} << 31;
  expect_sorted(keys_by<std::uint32_t>(20011, [](auto& source, auto) { return source(); }), Order::ascending, true,
                "random");
}

// Buckets that a work-group cannot finish: some values, and any of a bucket.
TEST_P(LittleSorts, CrowdedKeys) {
  const auto of = [](auto key) { return [key](auto& source, auto) { return 0x41420000U | (source() & key); }; };
  expect_sorted_both_ways(keys_by<std::uint32_t>(20011, of(0xffffU)), "one bucket");
  expect_sorted(keys_by<std::uint32_t>(20011, of(0x0301U)), Order::ascending, true, "few of one bucket");
  expect_sorted(keys_by<std::int32_t>(20011, [](auto& source, auto) { return source() % 5 << 27; }), Order::ascending,
                false, "few");
}

TEST_P(LittleSorts, CrowdedLongKeys) {
  const auto of = [](std::uint64_t key) { return [key](auto& source, auto) { return source() & key; }; };
  expect_sorted(keys_by<std::uint64_t>(13001, of(0xffffffffffffU)), Order::ascending, true, "one bucket");
  expect_sorted(keys_by<std::uint64_t>(13001, of(0xf0000000ffffU)), Order::descending, false, "few bins");
  expect_sorted(keys_by<std::uint64_t>(13001, of(0x3000003U)), Order::ascending, true, "few");
}

TEST_P(LittleSorts, HugeBuckets) {
  for (const std::uint64_t values : {2U, 5000U}) {
    expect_sorted(keys_by<std::uint32_t>(40009, [&](auto& source, auto) { return source() % values; }),
                  Order::ascending, true, "values");
  }
}

TEST_P(LittleSorts, Floats) {
  expect_sorted_both_ways(test::make_keys<float>(test::Keys::special, 15013), "special");
  expect_sorted(test::make_keys<double>(test::Keys::special, 9001), Order::ascending, true, "special");
}

TEST_P(LittleSorts, ByDigits) {
  by_digits = sort_keys::ByDigitsWhere::all;
  const auto and2 = [](auto& source, auto) { return source() & source(); };
  expect_sorted_both_ways(keys_by<std::uint32_t>(20011, and2), "and2");
}

// By work-groups that wait for each other.
TEST_P(LittleSorts, Once) {
  if (device.kind() != DeviceKind::cuda) GTEST_SKIP() << "needs work-groups that wait for each other";
  if (sort_once::plan_of(device.info(), {Dtype::i64, 0}, 1 << 15).tile() == 0) GTEST_SKIP() << "has no such plan";
  once = true;
  const auto and2 = [](auto& source, auto) { return source() & source(); };
  expect_sorted_both_ways(keys_by<std::uint32_t>(40007, and2), "and2");
  expect_sorted(keys_by<std::int64_t>(20011, and2), Order::descending, true, "and2");
  expect_sorted(test::make_keys<float>(test::Keys::special, 20011), Order::ascending, false, "special");
}

TEST_P(LittleSorts, Few) {
  if (sort_few::plan_of(device.info(), Dtype::u32, 1).items == 0) GTEST_SKIP() << "needs larger work-groups";
  few = true;
  for (const std::uint64_t size : {513U, 20011U}) {
    const auto random = [](auto& source, auto) { return source(); };
    expect_sorted_both_ways(keys_by<std::uint32_t>(size, random), "random");
    expect_sorted(keys_by<std::int64_t>(size, random), Order::descending, true, "random");
    if (device.kind() != DeviceKind::cuda) continue;
    expect_sorted(test::make_keys<float>(test::Keys::special, size), Order::ascending, true, "special");
    const auto crowd = [](auto& source, auto) { return source() % 5 << 27; };
    expect_sorted(keys_by<std::uint32_t>(size, crowd), Order::ascending, true, "few values");
  }
}

}  // namespace
}  // namespace masu
