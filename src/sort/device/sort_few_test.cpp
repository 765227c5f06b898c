// SPDX-License-Identifier: Apache-2.0
// The sort of few keys in local memory, on every device with kernels, against std::stable_sort.
#include "sort/device/sort_few.h"
#include "sort/device/sort_keys.h"

#include "sort/device/sort_keys_test.h"
#include "sort/sort_test_data.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace masu {
namespace {

using test::each_crowd;
using test::keys_by;

class SortFew : public test::AloneSorts {};

// Keys that are not crowded; where sort_once is there, others too.
TEST_P(SortFew, Keys) {
  if (sort_few::plan_of(device.info(), Dtype::u32, 1).items == 0) GTEST_SKIP() << "needs larger work-groups";
  few = true;
  const bool crowded = device.kind() == DeviceKind::cuda;
  const auto all = [&]<class T>(T, std::uint64_t size) {
    constexpr unsigned width = 8 * sizeof(T);
    const auto sort = [&](const auto& make, const std::string& what) {
      expect_sorted_both_ways(keys_by<T>(size, make), what);
    };
    sort([](auto& random, auto) { return random(); }, "random");
    sort([](auto&, auto i) { return i * 3 << (width - 32); }, "rising");
    sort([](auto& random, auto) { return 0x4142434441424344U + (random() % 100000 << (width - 32)); }, "a range");
    if (crowded || size < 100000)
      sort([](auto& random, auto) { return random() % 200 * 0x0101010101010101U + random() % 90; }, "few spread");
    // Some lie outside of what a sample spans.
    sort([](auto& random, auto i) { return random() >> (64 - width) >> (i % 701 == 0 ? 0 : 1); }, "outliers");
    if (!crowded) return;
    each_crowd<T>(size, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
    expect_sorted_both_ways(test::make_keys<T>(test::Keys::special, size), "special");
  };
  for (const std::uint64_t size : {5U, 511U, 513U, 20011U}) {
    all(std::uint32_t{}, size);
    all(std::int64_t{}, size);
    if (crowded) all(float{}, size);
  }
  if (!device.info().gpu) return;
  for (const std::uint64_t size : {65536U, 600011U}) {
    all(std::int32_t{}, size);
    all(std::uint64_t{}, size);
    if (crowded && size < 100000) all(double{}, size);
  }
  expect_sorted_both_ways(keys_by<std::uint32_t>(5000011, [](auto& random, auto) { return random(); }), "random");
}

MASU_ON_EACH_KERNEL_DEVICE(SortFew);

}  // namespace
}  // namespace masu
