// SPDX-License-Identifier: Apache-2.0
// Every device against a stable sort: types, sizes around every boundary, k of all sizes, distributions, ties, NaNs.
#include "all_dtypes.h"
#include "each_device.h"
#include "expect_error.h"
#include "scoped_env.h"
#include "topk/topk_plan.h"
#include "topk/topk_test_data.h"

#include <masu/topk.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <list>
#include <random>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace masu {
namespace {

using test::Expected;
using test::expected_topk;

class TopkTest : public test::EachDevice {
 protected:
  // For the disk, PoCL would compile every kernel once more.
  const test::ScopedEnv cache{"MASU_CACHE", "off"};
  template <class T>
  void expect_result(const TopkResult& found, const std::vector<Expected<T>>& rows, const std::string& what) {
    ASSERT_EQ(found.rows(), rows.size());
    ASSERT_EQ(found.dtype(), dtype_of<T>);
    for (std::uint64_t r = 0; r < rows.size(); ++r) {
      const auto indices = found.indices(r);
      ASSERT_EQ(std::vector(indices.begin(), indices.end()), rows[r].indices) << what << " row " << r;
      ASSERT_EQ(found.size(r), rows[r].indices.size());
      const auto bytes = std::as_bytes(found.values<T>(r));
      const auto expected = std::as_bytes(std::span(rows[r].values));
      ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end())) << what << " row " << r;
      ASSERT_EQ(found.skipped(r), rows[r].skipped) << what << " row " << r;
    }
  }

  // Host data and device data, also where it is misaligned.
  template <class T>
  void expect_topk(const std::vector<T>& data, std::uint64_t k, const TopkOptions& options = {}) {
    const std::string what = std::string(to_string(dtype_of<T>)) + " n=" + std::to_string(data.size()) +
                             " k=" + std::to_string(k) + (options.largest ? " largest " : " smallest ") +
                             std::string(to_string(options.nan)) + " rows=" + std::to_string(options.rows);
    const auto rows = expected_topk(data, k, options);
    expect_result(topk(device, data, k, options), rows, what + " host");
    if (device.kind() == DeviceKind::cpu) return;
    std::vector<T> shifted(data.size() + 1);
    std::copy(data.begin(), data.end(), shifted.begin() + 1);
    const Buffer<T> buffer = device.upload(shifted);
    expect_result(topk(buffer.slice(1, data.size()), k, options), rows, what);
  }
};
MASU_ON_EACH_DEVICE(TopkTest);

// What is tried of the ways of a type. Where a CPU runs kernels, only some: PoCL takes seconds to compile one.
struct Way {
  Dtype dtype;
  bool largest;
  NanPolicy nan;
  [[nodiscard]] TopkOptions options() const { return {.largest = largest, .nan = nan}; }
};
std::vector<Way> ways(const Device& device) {
  if (device.kind() != DeviceKind::cpu && !device.info().gpu) {
    std::vector<Way> some{{Dtype::f32, true, NanPolicy::last}, {Dtype::f32, false, NanPolicy::skip}};
    if (device.info().fp64) some.push_back({Dtype::f64, false, NanPolicy::last});
    return some;
  }
  std::vector<Way> all;
  for (const Dtype dtype : test::all_dtypes) {
    if (dtype == Dtype::f64 && !device.info().fp64) continue;
    for (const bool largest : {true, false}) {
      all.push_back({dtype, largest, NanPolicy::last});
      if (is_float(dtype)) all.push_back({dtype, largest, NanPolicy::skip});
    }
  }
  return all;
}

TEST_P(TopkTest, EveryTypeSizeAndWay) {
  for (const Way& way : ways(device)) {
    dispatch(way.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const std::size_t size : {1, 2, 17, 257, 1021}) {
        const std::vector<T> data = test::mixed_values<T>(size, size);
        for (const std::uint64_t k : {std::uint64_t{1}, std::uint64_t{size / 2 + 1}, std::uint64_t{size}}) {
          expect_topk(data, k, way.options());
        }
      }
    });
  }
}

// Long enough for a sample and a filter.
TEST_P(TopkTest, LongRowsOfEveryType) {
  for (const Way& way : ways(device)) {
    dispatch(way.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::vector<T> data = test::mixed_values<T>(70001, 3);
      expect_topk(data, 100, way.options());
      expect_topk(data, 1000, way.options());
      expect_topk(data, 3000, way.options());
      if (device.kind() != DeviceKind::cpu) return;
      for (const std::uint64_t k : {8751, 35000, 70001}) expect_topk(data, k, way.options());  // from the whole order
    });
  }
}

TEST_P(TopkTest, DistributionsAndEveryKindOfK) {
  const std::size_t size = 150000;
  for (const std::vector<float>& data : test::distributions(size)) {
    for (const std::uint64_t k : {1, 100, 1024, 5000}) expect_topk(data, k);
    expect_topk(data, 777, {.largest = false, .nan = NanPolicy::skip});
  }
  const std::vector<float> data = test::distributions(size).front();
  for (const std::uint64_t k : {20000, 75000, 149999, 150000}) expect_topk(data, k);
  if (!device.info().fp64) return;
  std::vector<double> wide(60000);
  std::mt19937_64 random(4);
  for (auto& x : wide) x = static_cast<double>(random() % 1000) * 0x1p40;
  for (const std::uint64_t k : {1, 1000, 2048, 2049, 30000}) expect_topk(wide, k, {.largest = false});
}

// So many are put in order by several tasks.
TEST_P(TopkTest, ManyOfMany) {
  std::mt19937 random(5);
  std::vector<std::int32_t> data(std::size_t{1} << 20);
  for (std::int32_t& x : data) x = static_cast<std::int32_t>(random() % 5000);
  for (const std::uint64_t k : {65536U, 65537U, 100003U}) expect_topk(data, k);
}

TEST_P(TopkTest, SizesAroundTilesAndVectors) {
  for (const std::size_t size : {32767, 32768, 32769, 40001, 65535, 65536, 65537}) {
    std::vector<std::uint16_t> data(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::uint16_t>(i * 40503U >> 3);
    expect_topk(data, 50);
    expect_topk(std::vector<std::uint16_t>(size, 7), 300);
    // The last and the first element are the greatest.
    data.front() = data.back() = 65535;
    expect_topk(data, 2);
  }
}

// A work-group of the filter stops looking for equal elements when it has seen enough of them.
TEST_P(TopkTest, EqualElementsEverywhere) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const TopkOptions smallest{.largest = false, .nan = NanPolicy::skip};
  for (const auto& [most, rare] : {std::pair{0.0F, 1e-45F},
                                   {0.0F, -1e-45F},
                                   {-0.0F, 0.0F},
                                   {infinity, nan},
                                   {nan, 1.0F},
                                   {nan, infinity},
                                   {-infinity, 1.0F},
                                   {1.0F, nan}}) {
    std::vector<float> data(60000, most);
    for (std::size_t i = 500; i < data.size(); i += 7001) data[i] = rare;
    expect_topk(data, 20);
    expect_topk(data, 20, smallest);
  }
  std::vector<std::uint16_t> data(60000, 65535);
  expect_topk(data, 20);
  data[50000] = 3;
  expect_topk(data, 59999);
}

// So rare that those that are needed are looked for in many tiles.
TEST_P(TopkTest, EqualElementsFarApart) {
  const std::size_t size = 4000001;
  const std::size_t apart = 1301;
  std::vector<float> data(size, 1);
  std::vector<Expected<float>> expected(1);
  for (std::size_t i = 7; i < size; i += apart) {
    data[i] = 2;
    expected[0].indices.push_back(i);
  }
  expected[0].indices.resize(1200);
  expected[0].values.assign(1200, 2);
  expect_result(topk(device.upload(data), 1200), expected, "far apart");
}

TEST_P(TopkTest, NansEverywhere) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Way& way : ways(device)) {
    if (way.dtype != Dtype::f32) continue;
    for (const std::size_t size : {5, 50000}) {
      std::vector<float> data(size, nan);
      expect_topk(data, 3, way.options());
      data[size / 2] = -std::numeric_limits<float>::infinity();
      data[size - 1] = 4;
      expect_topk(data, 4, way.options());
      expect_topk(data, size, way.options());
    }
  }
  const std::vector<float> infinities(40000, std::numeric_limits<float>::infinity());
  expect_topk(infinities, 5);
  expect_topk(infinities, 5, {.largest = false, .nan = NanPolicy::skip});
}

// As in scrambled.cl.
std::uint64_t scrambled(std::uint64_t part) {
  auto x = static_cast<std::uint32_t>(part);
  x = (x ^ x >> 16) * 0x7feb352dU;
  x = (x ^ x >> 15) * 0x846ca68bU;
  return x ^ x >> 16;
}

// Data that knows where a device's sample looks: too much is above the threshold, and too little reaches it.
TEST_P(TopkTest, MisledSamples) {
  const std::uint64_t n = 50001;
  const std::uint64_t k = 100;
  const topk_plan::Plan plan = topk_plan::make(device.info(), Dtype::f32, Ranking(Dtype::f32, true, NanPolicy::last));
  const topk_plan::Sampling sampling = topk_plan::sampling(plan, n, k);
  ASSERT_TRUE(sampling.sampled);
  std::vector<float> data(n);
  for (std::uint64_t i = 0; i < n; ++i) data[i] = static_cast<float>(i * 7919 % n) + 1;
  std::vector<float> other = data;
  for (std::uint64_t part = 0; part < std::uint64_t{1} << sampling.shift; ++part) {
    const std::uint64_t place = (part * n >> sampling.shift) + ((n >> sampling.shift) * scrambled(part) >> 32);
    data[place] = -data[place];
    other[place] += static_cast<float>(n);
  }
  expect_topk(data, k);
  expect_topk(data, 5000);
  expect_topk(data, 5000, {.nan = NanPolicy::skip});
  expect_topk(other, k);
}

TEST_P(TopkTest, Rows) {
  const std::vector<float> floats = test::mixed_values<float>(120000, 8);
  for (const std::uint64_t rows : {2, 3, 100, 30000}) {
    const std::uint64_t length = floats.size() / rows;
    for (const std::uint64_t k :
         {std::uint64_t{1}, std::min<std::uint64_t>(length, 37), std::min<std::uint64_t>(length, 5000)}) {
      expect_topk(floats, k, {.rows = rows});
      expect_topk(floats, k, {.largest = false, .nan = NanPolicy::skip, .rows = rows});
    }
  }
}

// Rows that fill the parts of a cluster, or not, begin at any address, and are too long for its local memory.
TEST_P(TopkTest, RowsOfClusters) {
  for (const std::uint64_t count : {16384, 50257, 131071, 400003}) {
    for (const std::uint64_t rows : {1, 4}) {
      std::vector<float> data(rows * count);
      for (std::uint64_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<float>(i * 7919 % 10007 % (i % 5 == 0 ? 10007 : 13)) - 5;
      }
      data[count / 2] = std::nanf("");
      for (const std::uint64_t k : {1, 60, 700}) {
        expect_topk(data, k, {.largest = k != 60, .nan = k == 60 ? NanPolicy::skip : NanPolicy::last, .rows = rows});
      }
    }
  }
}

// Long rows with a threshold of their own from a sample: any order, ties everywhere, and rows that know where it looks.
TEST_P(TopkTest, SampledRows) {
  constexpr std::uint64_t rows = 3;
  constexpr std::uint64_t count = 20011;
  for (const Way& way : ways(device)) {
    dispatch(way.dtype, [&](auto tag) {
      const auto data = test::mixed_values<typename decltype(tag)::type>(rows * count, 5);
      for (const std::uint64_t k : {1, 60, 1300}) expect_topk(data, k, {way.largest, way.nan, rows});
    });
  }
  std::vector<float> data(rows * count, 7);  // the first row: all equal
  for (std::uint64_t i = 0; i < count; ++i) {
    data[count + i] = static_cast<float>(i * i);
    data[2 * count + i] = i % 3 == 0 ? static_cast<float>(i % 5) : -std::numeric_limits<float>::infinity();
  }
  for (const std::uint64_t k : {7, 1000}) expect_topk(data, k, {.rows = rows});
  if (device.kind() == DeviceKind::cpu) return;
  const auto plan = topk_plan::make(device.info(), Dtype::f32, {Dtype::f32, true, NanPolicy::last}, rows, count, 600);
  ASSERT_NE(plan.sampled.stride, 0U);
  for (std::uint64_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i * 7919 % count);
  for (std::uint64_t part = 0; part < count / 4 / plan.sampled.stride; ++part) {
    const std::uint64_t first = 4 * (part * plan.sampled.stride + scrambled(part) % plan.sampled.stride);
    for (std::uint64_t i = first; i < first + 4; ++i) {
      data[i] += static_cast<float>(count);  // too little reaches the threshold
      data[count + i] = -1;                  // too much
    }
  }
  expect_topk(data, 600, {.rows = rows});
}

// Rows of which a work-item takes each, up to the longest and past it.
TEST_P(TopkTest, LittleOfManyRows) {
  const auto check = [&]<class T>(T) {
    for (const std::uint64_t length : {1, 2, 3, 8, 33, 64, 65}) {
      const std::uint64_t rows = 4500;
      const std::vector<T> data = test::mixed_values<T>(rows * length, length);
      for (const std::uint64_t k : {std::uint64_t{1}, std::min<std::uint64_t>(length, 7)}) {
        expect_topk(data, k, {.rows = rows});
        expect_topk(data, k, {.largest = false, .nan = NanPolicy::skip, .rows = rows});
      }
    }
  };
  check(float{});
  if (device.kind() == DeviceKind::opencl && !device.info().gpu) return;  // whose compilers are slow
  check(std::uint8_t{});
  check(Half{});
  check(std::int64_t{});
  if (device.info().fp64) check(double{});
}

TEST_P(TopkTest, AccumulatesPieces) {
  const std::vector<float> data = test::mixed_values<float>(90000, 21);
  for (const NanPolicy nan : {NanPolicy::last, NanPolicy::skip}) {
    for (const std::uint64_t k : {1, 300, 6000}) {
      const TopkOptions options{.largest = nan == NanPolicy::last, .nan = nan};
      Stream stream(device);
      std::list<Buffer<float>> pieces;  // what a stream reads stays
      TopkAccumulator host(device, Dtype::f32, k, options);
      TopkAccumulator there(device, Dtype::f32, k, options);
      TopkAccumulator queued(device, Dtype::f32, k, options);
      EXPECT_EQ(host.result().size(), 0);
      for (std::size_t first = 0; first < data.size(); first += 40009) {
        const auto part = std::span(data).subspan(first, std::min<std::size_t>(40009, data.size() - first));
        host.add(ArrayView(part));
        there.add(device.upload(part));
        queued.add_buffer(stream, pieces.emplace_back(device.upload(part)), Dtype::f32);
        EXPECT_EQ(queued.count(), first + part.size());
      }
      EXPECT_EQ(host.count(), data.size());
      const auto expected = expected_topk(data, k, options);
      expect_result(host.result(), expected, "host pieces");
      expect_result(there.result(), expected, "device pieces");
      EXPECT_EQ(queued.bytes(), host.bytes());
      expect_result(queued.result(), expected, "pieces on a stream");
    }
  }
  // What ends before it has waited waits, and its other forms refuse what they do not take.
  const Buffer<float> floats = device.upload(data);
  {
    Stream stream(device);
    TopkAccumulator dropped(device, Dtype::f32, 5);
    dropped.add_buffer(stream, floats, Dtype::f32);
    MASU_EXPECT_ERROR(dropped.add_buffer(stream, floats, Dtype::u32), invalid_argument, "f32");
    TopkAccumulator both(device, Dtype::f32, 5);
    both.add_buffer(stream, floats, Dtype::f32);
    both.merge(dropped);
    EXPECT_EQ(both.count(), 2 * data.size());
    dropped.add_buffer(stream, floats, Dtype::f32);
    EXPECT_EQ(dropped.bytes(), both.bytes());
    dropped.add_buffer(stream, floats, Dtype::f32);
  }
  TopkAccumulator few(device, Dtype::f32, 10);
  few.add(ArrayView(std::vector<float>{3, 9, 3}));
  EXPECT_THAT(few.result().values<float>(), ::testing::ElementsAre(9, 3, 3));
  EXPECT_THAT(few.result().indices(), ::testing::ElementsAre(1, 0, 2));
}

TEST_P(TopkTest, StreamsWorkspacesAndBuffers) {
  const std::vector<float> data = test::mixed_values<float>(80000, 5);
  const Buffer<float> buffer = device.upload(data);
  Stream stream(device);
  for (const std::uint64_t k : {10, 5000}) {
    const auto expected = expected_topk(data, k, {});
    Pending<TopkResult> pending = topk(stream, buffer, k);
    Pending<TopkResult> other = topk(stream, buffer, k);
    expect_result(pending.get(), expected, "pending");
    expect_result(other.get(), expected, "other");

    Times times;
    const std::uint64_t bytes = topk_workspace(device, Dtype::f32, data.size(), k);
    Buffer<std::byte> workspace(device, bytes + 16);
    const Buffer<std::byte> part = workspace.slice(16, bytes);
    const TopkOptions options{.workspace = &part, .times = &times};
    expect_result(topk(buffer, k, options), expected, "workspace");
    EXPECT_GT(times.compute, 0);
    Buffer<float> values(device, k);
    Buffer<std::uint64_t> indices(device, k);
    topk(buffer, Dtype::f32, k, values, indices, options);
    EXPECT_EQ(indices.read(), expected[0].indices);
    EXPECT_EQ(std::memcmp(values.read().data(), expected[0].values.data(), k * sizeof(float)), 0);
    if (device.kind() != DeviceKind::cpu) {
      const Buffer<std::byte> small = workspace.slice(0, 16);
      EXPECT_THROW(topk(buffer, k, {.workspace = &small}), Error);
    }
  }
  const std::vector<float> nans{1, std::numeric_limits<float>::quiet_NaN()};
  Buffer<float> values(device, 2);
  Buffer<std::uint64_t> indices(device, 2);
  topk(device.upload(nans), Dtype::f32, 2, values, indices, {.largest = false, .nan = NanPolicy::skip});
  EXPECT_THAT(indices.read(), ::testing::ElementsAre(0, ~std::uint64_t{0}));
  EXPECT_THAT(values.read(), ::testing::ElementsAre(1, std::numeric_limits<float>::infinity()));
}

// More than a work-group orders, into memory on a stream: selected, then sorted, where sampling does so elsewhere.
TEST_P(TopkTest, ManyOnAStream) {
  std::vector<Way> all = ways(device);
  all.push_back({Dtype::f32, true, NanPolicy::skip});
  for (const Way& way : all) {
    dispatch(way.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const std::uint64_t rows : {1, 3}) {
        for (const bool mixed : {true, false}) {  // with NaNs, zeros of both signs and equal elements; all equal
          std::vector<T> data = test::mixed_values<T>(rows * 20011, 6);
          if (!mixed) std::fill(data.begin(), data.end(), data.front());
          for (const std::uint64_t k : {4097, 12000, 20011}) {
            TopkOptions options = way.options();
            options.rows = rows;
            const auto expected = expected_topk(data, k, options);
            const std::uint64_t bytes = topk_workspace(device, way.dtype, data.size(), k, options);
            const Buffer<std::byte> workspace(device, std::max<std::uint64_t>(bytes, 1));
            options.workspace = &workspace;
            const Buffer<T> there = device.upload(data);
            Buffer<T> values(device, rows * k);
            Buffer<std::uint64_t> indices(device, rows * k);
            Stream stream(device, Timing::off);
            topk(stream, there, way.dtype, k, values, indices, options).get();
            const std::vector<T> found = values.read();
            const std::vector<std::uint64_t> places = indices.read();
            for (std::uint64_t r = 0; r < rows; ++r) {
              for (std::uint64_t i = 0; i < k; ++i) {
                const bool none = i >= expected[r].indices.size();
                ASSERT_EQ(places[r * k + i], none ? ~std::uint64_t{0} : expected[r].indices[i])
                    << to_string(way.dtype) << " k=" << k << " row " << r;
                if (none) continue;
                ASSERT_EQ(std::memcmp(&found[r * k + i], &expected[r].values[i], sizeof(T)), 0)
                    << to_string(way.dtype) << " k=" << k << " row " << r;
              }
            }
            expect_result(topk(stream, there, k, options).get(), expected, "pending");
          }
        }
      }
    });
  }
}

TEST_P(TopkTest, RefusesWhatItCannotDo) {
  const std::vector<float> data{1, 2, 3, 4};
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message([&] { topk(device, data, 0); }), "topk: k must be 1 to 4, the elements, got 0");
  EXPECT_EQ(message([&] { topk(device, data, 5); }), "topk: k must be 1 to 4, the elements, got 5");
  EXPECT_EQ(message([&] { topk(device, data, 3, {.rows = 2}); }),
            "topk: k must be 1 to 2, the elements of a row, got 3");
  EXPECT_EQ(message([&] { topk(device, data, 1, {.rows = 3}); }),
            "topk: rows must be 1 to 2^32 and divide the 4 elements, got 3");
  EXPECT_EQ(message([&] { topk(device, std::vector<float>{}, 1); }), "topk: k must be 1 to 0, the elements, got 1");
  EXPECT_EQ(message([&] { TopkAccumulator(device, Dtype::u8, 0); }), "topk: k must be at least 1, got 0");
  EXPECT_EQ(message([&] { TopkAccumulator(device, Dtype::u8, 1).add(ArrayView(data)); }),
            "topk: data must be u8 as before, got f32");
  EXPECT_EQ(message([&] { std::ignore = topk(device, data, 1).values<double>(); }),
            "topk: the values are f32, got f64");
  EXPECT_EQ(message([&] { std::ignore = topk(device, data, 1).size(1); }), "topk: the result has 1 rows, got row 1");
  EXPECT_EQ(message([&] { nan_policy_from_name("first"); }),
            "nan: must be one of last, skip, propagate, got \"first\"");
  const TopkOptions unknown{.nan = NanPolicy::propagate};
  EXPECT_EQ(message([&] { topk(device, data, 1, unknown); }), "topk: nan must be last or skip, got propagate");
  EXPECT_EQ(message([&] { TopkAccumulator(device, Dtype::u8, 1, unknown); }),
            "topk: nan must be last or skip, got propagate");
  const Buffer<float> buffer = device.upload(data);
  Buffer<float> values(device, 3);
  Buffer<std::uint64_t> indices(device, 2);
  EXPECT_THAT(message([&] { topk(buffer, Dtype::f32, 2, values, indices); }),
              ::testing::StartsWith("topk: values must have 8 bytes, got 12"));
}

TEST_P(TopkTest, ManyThreadsAtOnce) {
  const std::vector<float> data = test::mixed_values<float>(50000, 2);
  const auto expected = expected_topk(data, 50, {});
  std::atomic<int> same = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const TopkResult found = topk(device, data, 50);
      same += std::equal(found.indices().begin(), found.indices().end(), expected[0].indices.begin());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 4);
}

}  // namespace
}  // namespace masu
