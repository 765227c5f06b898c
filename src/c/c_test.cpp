// SPDX-License-Identifier: Apache-2.0
// The C interface on every device: its results beside plain ones, what it refuses, and what it says then.
#include "each_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <masu/buffer.h>
#include <masu/c.h>
#include <masu/device.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace masu {
namespace {

using testing::HasSubstr;

// Closes its device.
class Opened {
 public:
  explicit Opened(const char* id) { EXPECT_EQ(masu_device_open(id, &device_), MASU_OK) << masu_last_error(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { masu_device_close(device_); }
  operator const masu_device*() const { return device_; }

 private:
  masu_device* device_ = nullptr;
};

const std::vector<float> few = {3, -1, 2, std::numeric_limits<float>::quiet_NaN(), 2, 7.5F, 0, -0.0F, 100};

class C : public test::EachDevice {};
MASU_ON_EACH_DEVICE(C);

// Each function with the same values in host memory and in memory of the device.
TEST_P(C, EveryFunction) {
  const Opened device(GetParam().c_str());
  Device same = Device::open(GetParam());
  auto there = same.upload(few);
  for (const masu_memory memory : {MASU_HOST, MASU_DEVICE}) {
    const void* data = memory == MASU_HOST ? static_cast<const void*>(few.data()) : there.native();
    const std::uint64_t n = few.size();
    std::vector<std::uint64_t> counts(4);
    std::vector<std::uint64_t> outside(3);
    ASSERT_EQ(masu_histogram(device, memory, data, MASU_F32, n, 4, 0, 8, counts.data(), outside.data()), MASU_OK);
    EXPECT_THAT(counts, testing::ElementsAre(2, 3, 0, 1));
    EXPECT_THAT(outside, testing::ElementsAre(1, 1, 1));
    const std::vector<double> edges = {-1, 0, 100};
    ASSERT_EQ(masu_histogram_edges(device, memory, data, MASU_F32, n, edges.data(), 2, counts.data(), nullptr),
              MASU_OK);
    EXPECT_EQ(counts[0], 1);
    EXPECT_EQ(counts[1], 7);

    std::vector<float> values(3);
    std::vector<std::uint64_t> places(3);
    ASSERT_EQ(masu_topk(device, memory, data, MASU_F32, n, 3, MASU_ASCENDING, values.data(), places.data()), MASU_OK);
    EXPECT_THAT(values, testing::ElementsAre(-1, 0, 0));
    EXPECT_THAT(places, testing::ElementsAre(1, 6, 7));
    ASSERT_EQ(masu_topk(device, memory, data, MASU_F32, n, 1, MASU_DESCENDING, values.data(), nullptr), MASU_OK);
    EXPECT_TRUE(std::isnan(values[0]));

    const std::vector<std::int32_t> whole = {5, -7, 40, 1};
    auto whole_there = same.upload(whole);
    const void* integers = memory == MASU_HOST ? static_cast<const void*>(whole.data()) : whole_there.native();
    std::int64_t total = 0;
    ASSERT_EQ(masu_sum(device, memory, integers, MASU_I32, 4, &total), MASU_OK);
    EXPECT_EQ(total, 39);
    const std::vector<double> q = {0, 0.5, 1};
    std::vector<double> found(3);
    ASSERT_EQ(masu_quantile(device, memory, integers, MASU_I32, 4, q.data(), 3, found.data()), MASU_OK);
    EXPECT_THAT(found, testing::ElementsAre(-7, 3, 40));
  }
  double sum = 0;
  ASSERT_EQ(masu_sum(device, MASU_HOST, few.data(), MASU_F32, 3, &sum), MASU_OK);
  EXPECT_EQ(sum, 4);
}

TEST_P(C, SortsWhereTheElementsLie) {
  const Opened device(GetParam().c_str());
  Device same = Device::open(GetParam());
  std::vector<std::uint64_t> keys(1009);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i * 7919 % 101;
  std::vector<std::uint64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::uint64_t i) { return keys[i]; });
  auto there = same.upload(keys);
  Buffer<std::uint64_t> places(same, keys.size());
  std::vector<std::uint64_t> found(keys.size());
  ASSERT_EQ(masu_argsort(device, MASU_HOST, keys.data(), MASU_U64, keys.size(), MASU_ASCENDING, found.data()), MASU_OK);
  EXPECT_EQ(found, order);
  ASSERT_EQ(masu_argsort(device, MASU_DEVICE, there.native(), MASU_U64, keys.size(), MASU_ASCENDING,
                         static_cast<std::uint64_t*>(places.native())),
            MASU_OK)
      << masu_last_error();
  EXPECT_EQ(places.read(), order);
  ASSERT_EQ(masu_sort(device, MASU_DEVICE, there.native(), MASU_U64, keys.size(), MASU_DESCENDING), MASU_OK);
  ASSERT_EQ(masu_sort(device, MASU_HOST, keys.data(), MASU_U64, keys.size(), MASU_DESCENDING), MASU_OK);
  EXPECT_TRUE(std::ranges::is_sorted(keys, std::ranges::greater()));
  EXPECT_EQ(there.read(), keys);
}

class CContext : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(CContext);

TEST_P(CContext, MemoryOfTheCaller) {
  const Device mine = Device::open(GetParam());
  masu_device* wrapped = nullptr;
  const masu_status status = mine.kind() == DeviceKind::cuda
                                 ? masu_device_wrap_cuda(mine.native_context(), &wrapped)
                                 : masu_device_wrap_opencl(mine.native_context(), mine.native_device(), &wrapped);
  ASSERT_EQ(status, MASU_OK) << masu_last_error();
  const auto there = mine.upload(few);
  double sum = 0;
  EXPECT_EQ(masu_sum(wrapped, MASU_DEVICE, there.native(), MASU_F32, 3, &sum), MASU_OK) << masu_last_error();
  EXPECT_EQ(sum, 4);
  masu_device_close(wrapped);
}

TEST_P(C, NothingToDo) {
  const Opened device(GetParam().c_str());
  for (const masu_memory memory : {MASU_HOST, MASU_DEVICE}) {
    EXPECT_EQ(masu_sort(device, memory, nullptr, MASU_F64, 0, MASU_ASCENDING), MASU_OK) << masu_last_error();
    EXPECT_EQ(masu_argsort(device, memory, nullptr, MASU_F64, 0, MASU_ASCENDING, nullptr), MASU_OK);
    double sum = 1;
    EXPECT_EQ(masu_sum(device, memory, nullptr, MASU_F64, 0, &sum), MASU_OK) << masu_last_error();
    EXPECT_EQ(sum, 0);
    std::uint64_t count = 1;
    EXPECT_EQ(masu_histogram(device, memory, nullptr, MASU_F64, 0, 1, 0, 1, &count, nullptr), MASU_OK);
    EXPECT_EQ(count, 0);
  }
}

TEST(CRefusals, EachHasAStatusAndALine) {
  std::uint64_t counts[4] = {9, 9, 9, 9};
  const std::vector<float> data = {1, 2};
  const auto expect = [](masu_status status, masu_status wanted, const char* text) {
    EXPECT_EQ(status, wanted);
    EXPECT_THAT(masu_last_error(), HasSubstr(text));
  };
  const auto* const at = data.data();
  expect(masu_histogram(nullptr, MASU_HOST, nullptr, MASU_F32, 2, 4, 0, 1, counts, nullptr), MASU_INVALID_ARGUMENT,
         "histogram: data must not be null");
  expect(masu_histogram(nullptr, MASU_HOST, at, MASU_F32, 2, 4, 0, 1, nullptr, nullptr), MASU_INVALID_ARGUMENT,
         "counts must not be null");
  expect(masu_histogram(nullptr, MASU_HOST, at, MASU_F32, 2, 0, 0, 1, counts, nullptr), MASU_INVALID_ARGUMENT, "bins");
  expect(masu_histogram(nullptr, MASU_HOST, at, MASU_F32, 2, 4, 1, 0, counts, nullptr), MASU_INVALID_ARGUMENT, "1");
  expect(masu_histogram_edges(nullptr, MASU_HOST, at, MASU_F32, 2, nullptr, 4, counts, nullptr), MASU_INVALID_ARGUMENT,
         "edges must not be null");
  expect(masu_histogram_edges(nullptr, MASU_HOST, at, MASU_F32, 2, nullptr, ~0ULL, counts, nullptr),
         MASU_INVALID_ARGUMENT, "edges");
  expect(masu_sum(nullptr, MASU_HOST, at, 12, 2, counts), MASU_INVALID_ARGUMENT, "dtype must be 0 to 11, got 12");
  expect(masu_sum(nullptr, MASU_HOST, at, -1, 2, counts), MASU_INVALID_ARGUMENT, "got -1");
  expect(masu_sum(nullptr, 2, at, MASU_F32, 2, counts), MASU_INVALID_ARGUMENT, "memory must be");
  expect(masu_sum(nullptr, MASU_DEVICE, at, MASU_F32, 2, counts), MASU_INVALID_ARGUMENT, "must not be null");
  expect(masu_sum(nullptr, MASU_HOST, at, MASU_F32, ~0ULL, counts), MASU_INVALID_ARGUMENT, "count must be <=");
  expect(masu_sum(nullptr, MASU_HOST, at, MASU_F32, 2, nullptr), MASU_INVALID_ARGUMENT, "sum must not be null");
  expect(masu_sort(nullptr, MASU_HOST, nullptr, MASU_F32, 2, MASU_ASCENDING), MASU_INVALID_ARGUMENT, "sort: data");
  expect(masu_argsort(nullptr, MASU_HOST, at, MASU_F32, 2, 2, counts), MASU_INVALID_ARGUMENT, "order must be");
  expect(masu_argsort(nullptr, MASU_HOST, at, MASU_F32, 2, MASU_ASCENDING, nullptr), MASU_INVALID_ARGUMENT, "indices");
  expect(masu_topk(nullptr, MASU_HOST, at, MASU_F32, 2, 3, MASU_ASCENDING, counts, nullptr), MASU_INVALID_ARGUMENT,
         "3");
  expect(masu_topk(nullptr, MASU_HOST, at, MASU_F32, 2, 1, MASU_ASCENDING, nullptr, nullptr), MASU_INVALID_ARGUMENT,
         "values");
  const double beyond = 1.5;
  double found = 0;
  expect(masu_quantile(nullptr, MASU_HOST, at, MASU_F32, 2, &beyond, 1, &found), MASU_INVALID_ARGUMENT, "1.5");
  expect(masu_quantile(nullptr, MASU_HOST, at, MASU_F32, 2, &beyond, 1, nullptr), MASU_INVALID_ARGUMENT, "quantiles");
  EXPECT_EQ(masu_quantile(nullptr, MASU_HOST, at, MASU_F32, 2, nullptr, 0, nullptr), MASU_OK);
  const std::vector<std::uint64_t> large(2, ~0ULL);
  expect(masu_sum(nullptr, MASU_HOST, large.data(), MASU_U64, 2, counts), MASU_INVALID_ARGUMENT, "sum");
  EXPECT_THAT(counts, testing::Each(9U)) << "a call that fails writes nothing";

  masu_device* device = nullptr;
  expect(masu_device_open(nullptr, &device), MASU_INVALID_ARGUMENT, "id must not be null");
  expect(masu_device_open("cpu", nullptr), MASU_INVALID_ARGUMENT, "device must not be null");
  expect(masu_device_open("gpu:1", &device), MASU_INVALID_ARGUMENT, "gpu:1");
  EXPECT_EQ(device, nullptr);
  expect(masu_device_wrap_cuda(nullptr, &device), MASU_INVALID_ARGUMENT, "context must not be null");
  expect(masu_device_wrap_opencl(&device, nullptr, &device), MASU_INVALID_ARGUMENT, "opencl_device must not be null");
  EXPECT_EQ(device, nullptr);
  masu_device_close(nullptr);
  EXPECT_STREQ(masu_version(), "0.2.0");
}

TEST(CRefusals, EveryThreadHasItsOwnError) {
  double sum = 0;
  EXPECT_EQ(masu_sum(nullptr, MASU_HOST, nullptr, MASU_F64, 1, &sum), MASU_INVALID_ARGUMENT);
  const std::string mine = masu_last_error();
  std::string other = "unset";
  std::thread([&] { other = masu_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_EQ(masu_last_error(), mine);
}

}  // namespace
}  // namespace masu
