// SPDX-License-Identifier: Apache-2.0
// Counters of 16 bits at their end, where a sample of the values does not tell: values that are frequent in some places
// only, in work-groups that count many.
#include "histogram/device/histogram_plan.h"
#include "histogram/device/slot_kernels.h"

#include "each_device.h"

#include <gtest/gtest.h>
#include <masu/histogram.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace masu {
namespace {

class PackedTest : public test::EachDevice {
 protected:
  [[nodiscard]] histogram_plan::Plan plan_of(const SlotRule& slots) const {
    return histogram_plan::make(device.info(), slots, 1, Strategy::packed);
  }
  // Counts by so many sets of work-groups, which divide the bins among so many shares.
  template <class T>
  void expect_counts(const std::vector<T>& data, std::uint64_t bins, unsigned sets, unsigned shares) {
    const SlotRule slots(BinRule(Bins::integers(bins), dtype_of<T>, false), device.info());
    auto plan = plan_of(slots);
    if (plan.split > 2 * shares) return;  // of local memory there is too little
    plan.split = 2 * shares;
    plan.groups = sets * plan.split;
    DeviceCounter counter(
        device,
        [&](const TableUpload& upload) {
          return std::make_unique<TableKernels>(device, CountedTables{.columns = {slots}, .plan = plan}, upload);
        },
        0);
    const Buffer<T> buffer = device.upload(data);
    const BufferBase* const column = &buffer;
    counter.add({&column, 1}, data.size(), nullptr);
    std::vector<std::uint64_t> expected(counter.totals().size());
    for (const T value : data) ++expected[static_cast<std::size_t>(value)];
    ASSERT_EQ(counter.totals(), expected) << sets << " sets, " << shares << " shares, " << data.size();
  }
};
MASU_ON_EACH_KERNEL_DEVICE(PackedTest);

TEST_P(PackedTest, CountersThatOverflow) {
  const SlotRule slots(BinRule(Bins::integers(65536), Dtype::u16, false), device.info());
  const std::size_t group = plan_of(slots).group;
  // Blocks of a vector for each work-item go to the two halves of a set in turns. The sample has 32 vectors at the
  // begin of each of `places` equal parts of the data.
  const std::size_t block = group * 8;
  const std::size_t places = std::max<std::size_t>(1, group / 32);
  const std::size_t blocks = 2 * (65536 / block + 4);  // of a part
  std::mt19937_64 random(5);
  std::vector<std::uint16_t> noise(places * blocks * block + 5);
  for (std::uint16_t& x : noise) x = static_cast<std::uint16_t>(random());
  for (const std::uint16_t value : {std::uint16_t{3}, std::uint16_t{32771}}) {
    for (std::uint16_t& x : noise) x = x == value ? std::uint16_t{5} : x;
    // Just as many as a counter holds, one more, and many more: in every second block from the third on, of one half of
    // a set.
    for (const std::size_t times : {65535, 65536, 65537, 65536 + 16383, 65536 + 16384, 65536 + 16385}) {
      std::vector<std::uint16_t> data = noise;
      std::size_t left = times;
      for (std::size_t b = 2; left != 0; b += 2) {
        for (std::size_t i = 0; i < block && left != 0; ++i, --left) data[b * block + i] = value;
      }
      expect_counts(data, 65536, 1, 1);
      if (times % 2 == 0) expect_counts(data, 65536, 1, 3);
    }
  }
  // Half of all but the places of the sample, in both halves of words; no vector is of equal elements.
  std::vector<std::uint16_t> data = noise;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i % (blocks * block) > 2 * block && i % 3 != 0) data[i] = i % 3 == 1 ? 9 : 32777;
  }
  expect_counts(data, 65536, 1, 1);
  expect_counts(data, 65536, 1, 3);
  expect_counts(data, 65536, 2, 1);
}

TEST_P(PackedTest, Channels) {
  std::mt19937_64 random(7);
  std::vector<std::uint16_t> data(3 * 20000);
  for (std::uint16_t& x : data) x = static_cast<std::uint16_t>(random());
  for (const unsigned channels : {2U, 3U}) {
    const HistogramOptions options{.strategy = Strategy::packed, .channels = channels};
    const std::vector<Histogram> found =
        histogram_channels(device.upload(data), Dtype::u16, Bins::integers(65536), options);
    for (unsigned c = 0; c < channels; ++c) {
      std::vector<std::uint64_t> expected(65536);
      for (std::size_t i = c; i < data.size(); i += channels) ++expected[data[i]];
      const auto counts = found[c].counts();
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), counts.begin(), counts.end())) << channels << " " << c;
    }
  }
}

TEST_P(PackedTest, EqualAndAlternatingValues) {
  for (const std::uint32_t period : {1, 2, 3, 4, 5}) {
    std::vector<std::uint16_t> halves(300007);
    std::vector<std::int32_t> words(200003);
    std::vector<std::uint64_t> longs(100003);
    for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(40000 - i % period * 32768);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::int32_t>(25000 - i % period * 6000);
    for (std::size_t i = 0; i < longs.size(); ++i) longs[i] = 25000 - i % period * 5000;
    expect_counts(halves, 65536, 1, 1);
    expect_counts(words, 25001, 2, 2);
    expect_counts(longs, 25001, 1, 2);
    // The first vector is like no other.
    halves[3] = 7;
    words[1] = 7;
    longs[1] = 7;
    expect_counts(halves, 65536, 1, 1);
    expect_counts(words, 25001, 1, 1);
    expect_counts(longs, 25001, 1, 1);
  }
}

}  // namespace
}  // namespace masu
