// SPDX-License-Identifier: Apache-2.0
// Rows with lengths of their own, on every device, against the top k of what each has: every dtype, lengths around k
// and beyond both ends of the row, every way that a device takes rows; indices of four bytes.
#include "all_dtypes.h"
#include "each_device.h"
#include "elements/order.h"
#include "expect_error.h"
#include "scoped_env.h"
#include "topk/topk_test_data.h"

#include <masu/topk.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu {
namespace {

class TopkLengthsTest : public test::EachDevice {
 protected:
  // For the disk, PoCL would compile every kernel once more.
  const test::ScopedEnv cache{"MASU_CACHE", "off"};

  [[nodiscard]] bool compiles_slowly() const { return device.kind() == DeviceKind::opencl && !device.info().gpu; }

  // What stands in the caller's memory.
  template <class T>
  struct Rows {
    std::vector<T> values;
    std::vector<std::uint64_t> indices;
  };
  template <class T>
  static T last_number(bool largest) {
    if constexpr (std::is_integral_v<T>) {
      return largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    } else {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      return rounded_to<T>(largest ? -infinity : infinity);
    }
  }
  template <class T, class L>
  Rows<T> expected(const std::vector<T>& data, const std::vector<L>& lengths, std::uint64_t k,
                   const TopkOptions& options, std::vector<test::Expected<T>>& found) const {
    Rows<T> all;
    const std::uint64_t count = data.size() / lengths.size();
    for (std::uint64_t r = 0; r < lengths.size(); ++r) {
      const std::uint64_t length =
          std::cmp_less(lengths[r], 0) ? 0 : std::min(static_cast<std::uint64_t>(lengths[r]), count);
      const T* row = data.data() + r * count;
      TopkOptions one = options;
      one.rows = 1;
      found.push_back(test::expected_topk(std::vector<T>(row, row + length), k, one).front());
      for (std::uint64_t i = 0; i < k; ++i) {
        const bool none = i >= found.back().indices.size();
        all.values.push_back(none ? last_number<T>(options.largest) : found.back().values[i]);
        all.indices.push_back(none ? ~std::uint64_t{0} : found.back().indices[i]);
      }
    }
    return all;
  }
  template <class T>
  void expect_found(const TopkResult& result, const std::vector<test::Expected<T>>& rows, const std::string& what) {
    ASSERT_EQ(result.rows(), rows.size()) << what;
    for (std::uint64_t r = 0; r < rows.size(); ++r) {
      const auto indices = result.indices(r);
      ASSERT_EQ(std::vector(indices.begin(), indices.end()), rows[r].indices) << what << " row " << r;
      const std::size_t bytes = rows[r].values.size() * sizeof(T);
      ASSERT_TRUE(bytes == 0 || std::memcmp(result.values<T>(r).data(), rows[r].values.data(), bytes) == 0)
          << what << " row " << r;
      ASSERT_EQ(result.skipped(r), rows[r].skipped) << what << " row " << r;
    }
  }

  // Every form, with indices of 8 bytes and of 4.
  template <class T, class L>
  void expect_rows(const std::vector<T>& data, std::vector<L> lengths, std::uint64_t k, TopkOptions options = {}) {
    options.rows = lengths.size();
    options.lengths_dtype = dtype_of<L>;
    const std::string what = std::string(to_string(dtype_of<T>)) + " n=" + std::to_string(data.size()) +
                             " k=" + std::to_string(k) + (options.largest ? " largest " : " smallest ") +
                             std::string(to_string(options.nan)) + " lengths " + std::string(to_string(dtype_of<L>)) +
                             " " + std::to_string(lengths.size());
    std::vector<test::Expected<T>> found;
    const Rows<T> rows = expected(data, lengths, k, options, found);

    const Buffer<L> here = Buffer<L>::wrap_host(Device::open("cpu"), lengths);
    options.lengths = &here;
    expect_found(topk(device, data, k, options), found, what + " host");

    std::vector<T> shifted(data.size() + 1);
    std::copy(data.begin(), data.end(), shifted.begin() + 1);
    const Buffer<T> all = device.upload(shifted);
    const Buffer<T> there = all.slice(1, data.size());
    std::vector<L> more(lengths.size() + 1, L{1});
    std::copy(lengths.begin(), lengths.end(), more.begin() + 1);
    const Buffer<L> all_lengths = device.upload(more);
    const Buffer<L> beside = all_lengths.slice(1, lengths.size());
    options.lengths = &beside;
    expect_found(topk(there, k, options), found, what);
    Stream stream(device);
    expect_found(topk(stream, there, k, options).get(), found, what + " pending");

    Buffer<T> values(device, rows.values.size());
    const auto expect_written = [&](const auto& places, auto none) {
      const std::vector<T> got = values.read();
      ASSERT_EQ(std::memcmp(got.data(), rows.values.data(), got.size() * sizeof(T)), 0) << what << " values";
      const auto indices = places.read();
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const bool is_none = rows.indices[i] == ~std::uint64_t{0};
        ASSERT_EQ(indices[i], is_none ? none : static_cast<decltype(none)>(rows.indices[i])) << what << " place " << i;
      }
    };
    Buffer<std::uint64_t> wide(device, rows.indices.size());
    topk(there, dtype_of<T>, k, values, wide, options);
    expect_written(wide, ~std::uint64_t{0});
    const std::uint64_t bytes = topk_workspace(device, dtype_of<T>, data.size(), k, options);
    const Buffer<std::byte> workspace(device, std::max<std::uint64_t>(bytes, 1));
    options.workspace = &workspace;
    options.index_dtype = Dtype::i32;
    Buffer<std::int32_t> narrow(device, rows.indices.size());
    values.write(std::vector<T>(values.size()));
    topk(stream, there, dtype_of<T>, k, values, narrow, options).get();
    expect_written(narrow, std::int32_t{-1});
  }

  // 0, 1, around k and the row's end, and beyond both ends.
  template <class L>
  static std::vector<L> lengths_around(std::uint64_t k, std::uint64_t count) {
    std::vector<L> lengths{0, 1};
    for (const std::uint64_t length : {k - 1, k, k + 1, count / 2, count - 1, count, count + 1}) {
      lengths.push_back(static_cast<L>(length));
    }
    lengths.push_back(std::numeric_limits<L>::max());
    lengths.push_back(static_cast<L>(-1));
    lengths.push_back(std::numeric_limits<L>::min());
    return lengths;
  }
};
MASU_ON_EACH_DEVICE(TopkLengthsTest);

TEST_P(TopkLengthsTest, EveryTypeAndSize) {
  for (const Dtype dtype : test::all_dtypes) {
    if (dtype == Dtype::f64 && !device.info().fp64) continue;
    if (compiles_slowly() && dtype != Dtype::f32 && dtype != Dtype::i64) continue;
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const std::uint64_t count : {1, 2, 17, 67, 1021}) {
        for (const std::uint64_t k : {std::uint64_t{1}, count / 2 + 1, count}) {
          const auto lengths = lengths_around<std::int64_t>(k, count);
          const std::vector<T> data = test::mixed_values<T>(lengths.size() * count, count + k);
          expect_rows(data, lengths, k);
          if (compiles_slowly() && dtype != Dtype::f32) continue;
          expect_rows(data, lengths, k, {.largest = false, .nan = is_float(dtype) ? NanPolicy::skip : NanPolicy::last});
        }
      }
    });
  }
}

TEST_P(TopkLengthsTest, LengthsOfEveryType) {
  const std::uint64_t count = 300;
  const auto check = [&]<class L>(L) {
    const std::vector<L> lengths = lengths_around<L>(20, count);
    expect_rows(test::mixed_values<float>(lengths.size() * count, 3), lengths, 20);
  };
  check(std::uint32_t{});
  check(std::int32_t{});
  check(std::uint64_t{});
  check(std::int64_t{});
}

// By a work-item each.
TEST_P(TopkLengthsTest, ManyShortRows) {
  for (const std::uint64_t count : {1, 7, 64}) {
    std::vector<std::int32_t> lengths(4500);
    for (std::size_t r = 0; r < lengths.size(); ++r) lengths[r] = static_cast<std::int32_t>(r * 7 % (count + 3)) - 1;
    const std::vector<float> data = test::mixed_values<float>(lengths.size() * count, count);
    const std::uint64_t k = std::min<std::uint64_t>(count, 5);
    expect_rows(data, lengths, k);
    expect_rows(data, lengths, k, {.largest = false, .nan = NanPolicy::skip});
  }
}

// Around tiles and the parts of a cluster.
TEST_P(TopkLengthsTest, LongRows) {
  for (const std::uint64_t count : {32001, 131071}) {
    for (const std::uint64_t k : {1, 60, 1000}) {
      const std::vector<std::uint32_t> lengths{
          0, 1, 3, 59, 60, 61, 999, 1000, 1001, 4096, 4097, 16384, 16385, 32000, static_cast<std::uint32_t>(count)};
      const std::vector<float> data = test::mixed_values<float>(lengths.size() * count, k);
      expect_rows(data, lengths, k, {.largest = k != 60, .nan = k == 60 ? NanPolicy::skip : NanPolicy::last});
    }
  }
}

// By a sample; more than a work-group puts into order; long enough for both on a processor, too.
TEST_P(TopkLengthsTest, OneRow) {
  const std::uint64_t count = 70001;
  const auto check = [&]<class T>(T, const TopkOptions& options) {
    const std::vector<T> mixed = test::mixed_values<T>(count, 5);
    std::vector<T> below(count);  // zero, and ties
    for (std::uint64_t i = 0; i < count; ++i) below[i] = std::bit_cast<T>(static_cast<KeyOf<T>>(i % 7 - 9));
    for (const std::vector<T>& data : {mixed, below}) {
      for (const std::uint64_t k : {100, 5000}) {
        for (const std::int64_t length : {0, 99, 101, 5001, 33000, 70001, 70002, -3}) {
          expect_rows(data, std::vector<std::int64_t>{length}, k, options);
        }
      }
    }
  };
  check(float{}, {});
  if (compiles_slowly()) return;
  check(float{}, {.largest = false});
  check(float{}, {.nan = NanPolicy::skip});
  check(std::int32_t{}, {});
  check(std::uint8_t{}, {});
  check(Half{}, {.largest = false, .nan = NanPolicy::skip});
  check(std::int64_t{}, {.largest = false});
  if (device.info().fp64) check(double{}, {});
}

// Negative numbers alone: nothing but what is behind the length has the sample's threshold.
TEST_P(TopkLengthsTest, FewOfALongRowOfNegativeNumbers) {
  std::vector<float> data(200003);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = -1 - static_cast<float>(i * 7919 % 1009);
  for (const std::int64_t length : {20, 1000, 100000}) {
    expect_rows(data, std::vector<std::int64_t>{length}, 50);
    expect_rows(data, std::vector<std::int64_t>{length}, 6000);
  }
}

// Too long for a work-group each.
TEST_P(TopkLengthsTest, SeveralVeryLongRows) {
  const std::uint64_t count = (1 << 20) + 3;
  const std::vector<std::uint64_t> lengths{5, count, count / 3};
  std::vector<std::uint32_t> data(lengths.size() * count);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint32_t>(i * 2654435761U) >> 12;
  expect_rows(data, lengths, 30);
}

TEST_P(TopkLengthsTest, IndicesOfFourBytesOfWholeRows) {
  const std::vector<float> data = test::mixed_values<float>(80000, 9);
  const Buffer<float> there = device.upload(data);
  for (const std::uint64_t k : {7, 5000}) {
    Buffer<float> values(device, k);
    Buffer<std::uint32_t> indices(device, k);
    topk(there, Dtype::f32, k, values, indices, {.index_dtype = Dtype::u32});
    const auto expected = test::expected_topk(data, k, {}).front().indices;
    const std::vector<std::uint32_t> found = indices.read();
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
  }
}

TEST_P(TopkLengthsTest, RefusesWhatItCannotDo) {
  const Buffer<float> data = device.upload(std::vector<float>{1, 2, 3, 4});
  const Buffer<std::uint32_t> lengths = device.upload(std::vector<std::uint32_t>{1, 2, 3, 4});
  Buffer<float> values(device, 2);
  Buffer<std::uint64_t> indices(device, 2);
  const auto call = [&](const TopkOptions& options) { topk(data, Dtype::f32, 1, values, indices, options); };
  MASU_EXPECT_ERROR(call({.rows = 2, .lengths = &lengths, .lengths_dtype = Dtype::u32}), invalid_argument,
                    "topk: lengths must have 8 bytes, got 16");
  MASU_EXPECT_ERROR(call({.rows = 2, .lengths = &lengths, .lengths_dtype = Dtype::f32}), invalid_argument,
                    "topk: lengths_dtype must be u32, i32, u64 or i64, got f32");
  MASU_EXPECT_ERROR(call({.rows = 2, .index_dtype = Dtype::u16}), invalid_argument,
                    "topk: index_dtype must be u32, i32, u64 or i64, got u16");
  MASU_EXPECT_ERROR(call({.rows = 2, .index_dtype = Dtype::i32}), invalid_argument,
                    "topk: indices must have 8 bytes, got 16");
  const Buffer<std::byte> bytes(device, 16);
  const Buffer<std::byte> shifted = bytes.slice(2, 8);
  MASU_EXPECT_ERROR(call({.rows = 2, .lengths = &shifted, .lengths_dtype = Dtype::u32}), invalid_argument,
                    "topk: lengths must begin at a multiple of 4 bytes, got");
  MASU_EXPECT_ERROR(TopkAccumulator(device, Dtype::f32, 1, {.lengths = &lengths}), invalid_argument,
                    "topk: data in pieces must have no lengths");
  const Buffer<std::byte> result(device, indices.memory(), 0, 8);
  MASU_EXPECT_ERROR(call({.rows = 2, .lengths = &result, .lengths_dtype = Dtype::u32}), invalid_argument, "overlap");
  if (device.kind() == DeviceKind::cpu) return;
  MASU_EXPECT_ERROR(
      (void)topk(device, std::vector<float>{1, 2}, 1, {.rows = 2, .lengths = &lengths, .lengths_dtype = Dtype::u32}),
      invalid_argument, "topk: lengths of host data must lie on cpu, got");
}

}  // namespace
}  // namespace masu
