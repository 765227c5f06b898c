// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_test_data.h"

#include "each_device.h"
#include "expect_error.h"

#include <masu/sort.h>

#include <array>
#include <cstring>
#include <set>
#include <tuple>

namespace masu {
namespace {

using test::bits_of;
using test::Keys;
using test::make_keys;
using test::plain_order;

// Where the code of some device changes its way: around tiles, chunks, and what one work-group sorts.
constexpr std::uint64_t sizes[] = {0, 1, 2, 3, 31, 255, 1023, 1024, 1025, 4097, 8191, 8193, 16384, 16385, 70001};

class SortTest : public test::EachDevice {
 protected:
  template <class T>
  void expect_sorted(const std::vector<T>& keys, const SortOptions& options) const {
    const std::vector<std::uint64_t> order = plain_order(keys.data(), keys.size(), options.order);
    std::vector<T> expected;
    for (const std::uint64_t i : order) expected.push_back(keys[i]);

    std::vector<T> sorted = keys;
    sort(device, MutableArrayView(sorted), options);
    ASSERT_EQ(bits_of(sorted), bits_of(expected));
    std::vector<std::uint64_t> indices(keys.size());
    argsort(device, ArrayView(keys), MutableArrayView(indices), options);
    ASSERT_EQ(indices, order);
    std::vector<T> moved_keys = keys;
    std::vector<std::uint32_t> values(keys.size());
    std::iota(values.begin(), values.end(), 7U);
    sort_by_key(device, MutableArrayView(moved_keys), RecordsView(values), options);
    ASSERT_EQ(bits_of(moved_keys), bits_of(expected));
    for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(values[i], order[i] + 7);
    EXPECT_TRUE(is_sorted(device, ArrayView(sorted), {.order = options.order}));
    const bool in_order = std::ranges::is_sorted(order);
    EXPECT_EQ(is_sorted(device, ArrayView(keys), {.order = options.order}), in_order);
  }
};

template <class T>
struct Type {
  using type = T;
};
// Calls f(Type<T>{}) for every element type.
template <class F>
void each_type(F&& f) {
  std::apply(
      [&](auto... type) { (f(type), ...); },
      std::tuple<Type<std::uint8_t>, Type<std::int8_t>, Type<std::uint16_t>, Type<std::int16_t>, Type<std::uint32_t>,
                 Type<std::int32_t>, Type<std::uint64_t>, Type<std::int64_t>, Type<Half>, Type<float>, Type<double>>{});
}

TEST_P(SortTest, EveryTypeAndKindOfKeys) {
  // Programs take long to build: a type of each size.
  const std::set<Dtype> with_order{Dtype::u8, Dtype::f16, Dtype::i32, Dtype::f64};
  each_type([&](auto type) {
    using T = typename decltype(type)::type;
    for (const Keys kind : test::all_keys) {
      for (const Order order : {Order::ascending, Order::descending}) {
        SCOPED_TRACE(testing::Message() << to_string(dtype_of<T>) << " kind " << static_cast<int>(kind) << " order "
                                        << static_cast<int>(order));
        const std::vector<T> keys = make_keys<T>(kind, 9001);
        const std::vector<std::uint64_t> expected = plain_order(keys.data(), keys.size(), order);
        std::vector<T> sorted = keys;
        sort(device, MutableArrayView(sorted), {.order = order});
        for (std::size_t i = 0; i < keys.size(); ++i) {
          ASSERT_EQ(bits_of<T>({sorted[i]}), bits_of<T>({keys[expected[i]]})) << i;
        }
        if (!with_order.contains(dtype_of<T>)) continue;
        std::vector<std::uint32_t> indices(keys.size());
        argsort(device, ArrayView(keys), MutableArrayView(indices), {.order = order});
        ASSERT_TRUE(std::ranges::equal(indices, expected));
      }
    }
  });
}

TEST_P(SortTest, EverySize) {
  for (const std::uint64_t size : sizes) {
    SCOPED_TRACE(size);
    expect_sorted(make_keys<std::uint32_t>(Keys::random, size), {});
    expect_sorted(make_keys<double>(Keys::special, size), {.order = Order::descending});
  }
}

TEST_P(SortTest, ManyKeysAndSharedDigits) {
  std::vector<std::uint32_t> keys = make_keys<std::uint32_t>(Keys::random, (1 << 20) + 4321);
  expect_sorted(keys, {});
  for (std::uint32_t& key : keys) key &= 0xff00U;  // one digit differs: an odd number of passes
  expect_sorted(keys, {.order = Order::descending});
  for (std::uint32_t& key : keys) key = 5;
  expect_sorted(keys, {});
}

// Keys of 8 and 16 bits are counted: from any place on, with values that are missing.
TEST_P(SortTest, ManyShortKeys) {
  const auto check = [&](auto tag, std::uint64_t count) {
    using T = decltype(tag);
    for (const Keys kind : {Keys::random, Keys::few, Keys::equal}) {
      const std::vector<T> keys = make_keys<T>(kind, count);
      for (const std::uint64_t skipped : {0, 1, 7}) {
        SCOPED_TRACE(skipped);
        Buffer<T> all = device.upload(keys);
        Buffer<T> view = all.slice(skipped, count - 2 * skipped);
        sort(view, {.order = skipped == 1 ? Order::descending : Order::ascending});
        std::vector<T> expected = keys;
        const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(skipped);
        const auto end = expected.end() - static_cast<std::ptrdiff_t>(skipped);
        std::sort(begin, end);
        if (skipped == 1) std::reverse(begin, end);
        ASSERT_EQ(all.read(), expected);
      }
    }
  };
  check(std::uint8_t{}, 70001);
  check(std::int8_t{}, 65550);
  check(std::uint16_t{}, (1 << 19) + 99);
  check(std::int16_t{}, (1 << 19) + 15);
}

TEST_P(SortTest, ValuesOfEverySize) {
  const std::vector<std::uint16_t> keys = make_keys<std::uint16_t>(Keys::few, 9000);
  const std::vector<std::uint64_t> order = plain_order(keys.data(), keys.size(), Order::ascending);
  for (const std::size_t size : {1, 2, 3, 4, 5, 8, 12, 16, 24, 64}) {
    SCOPED_TRACE(size);
    std::vector<std::byte> values(keys.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 2654435761U >> 13);
    std::vector<std::uint16_t> sorted = keys;
    std::vector<std::byte> moved = values;
    sort_by_key(device, MutableArrayView(sorted), RecordsView(moved.data(), size, keys.size()), {});
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(std::memcmp(&moved[i * size], &values[order[i] * size], size), 0) << i;
    }
  }
}

TEST_P(SortTest, RowsAndSegments) {
  const std::vector<float> keys = make_keys<float>(Keys::special, 60000);
  for (const std::uint64_t rows : {1, 3, 60, 20000, 60000}) {
    SCOPED_TRACE(rows);
    const std::uint64_t length = keys.size() / rows;
    std::vector<float> sorted = keys;
    sort(device, MutableArrayView(sorted), {.rows = rows});
    std::vector<std::uint32_t> indices(keys.size());
    argsort(device, ArrayView(keys), MutableArrayView(indices), {.rows = rows});
    EXPECT_TRUE(is_sorted(device, ArrayView(sorted), {.rows = rows}));
    for (std::uint64_t row = 0; row < rows; ++row) {
      const auto order = plain_order(&keys[row * length], length, Order::ascending);
      for (std::uint64_t i = 0; i < length; ++i) {
        ASSERT_EQ(indices[row * length + i], order[i]);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(sorted[row * length + i]),
                  std::bit_cast<std::uint32_t>(keys[row * length + order[i]]));
      }
    }
  }
  const std::vector<std::uint64_t> offsets{3, 3, 4, 10, 40000, 40000, 40002, 59000};
  for (const std::size_t size : {4, 3}) {
    SCOPED_TRACE(size);
    std::vector<float> sorted = keys;
    std::vector<std::byte> values(keys.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 2654435761U >> 13);
    std::vector<std::byte> moved = values;
    sort_by_key(device, MutableArrayView(sorted), RecordsView(moved.data(), size, keys.size()), {.segments = offsets});
    std::vector<std::uint64_t> indices(keys.size());
    argsort(device, ArrayView(keys), MutableArrayView(indices), {.segments = offsets});
    std::vector<std::uint64_t> expected(keys.size());
    std::vector<std::uint64_t> sources(keys.size());
    std::iota(expected.begin(), expected.end(), std::uint64_t{0});
    sources = expected;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      const auto order = plain_order(&keys[offsets[s]], offsets[s + 1] - offsets[s], Order::ascending);
      for (std::size_t i = 0; i < order.size(); ++i) {
        expected[offsets[s] + i] = order[i];
        sources[offsets[s] + i] = offsets[s] + order[i];
      }
    }
    EXPECT_EQ(indices, expected);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(sorted[i]), std::bit_cast<std::uint32_t>(keys[sources[i]])) << i;
      ASSERT_EQ(std::memcmp(&moved[i * size], &values[sources[i] * size], size), 0) << i;
    }
    EXPECT_TRUE(is_sorted(device, ArrayView(sorted), {.segments = offsets}));
    EXPECT_FALSE(is_sorted(device, ArrayView(keys), {.segments = offsets}));
  }
}

TEST_P(SortTest, BuffersViewsWorkspaceAndStreams) {
  const std::vector<std::int32_t> keys = make_keys<std::int32_t>(Keys::random, 30003);
  std::vector<std::int32_t> expected = keys;
  std::ranges::sort(expected);
  Buffer<std::int32_t> all(device, keys.size() + 5);
  all.fill(-7);
  Buffer<std::int32_t> view = all.slice(3, keys.size());
  view.write(keys);
  Buffer<std::int32_t> result(device, keys.size());
  sort(view.read_only(), result);
  EXPECT_EQ(result.read(), expected);
  result.fill(0);
  sort(view, result);
  EXPECT_EQ(result.read(), expected);
  EXPECT_EQ(view.read(), keys);

  const std::uint64_t bytes = sort_workspace(device, Dtype::i32, keys.size());
  EXPECT_LE(bytes, keys.size() * 4 * 5 / 4 + (1 << 20));
  Buffer<std::byte> workspace(device, bytes + 1);
  sort(view, {.workspace = &workspace});
  EXPECT_EQ(view.read(), expected);
  EXPECT_EQ(all.read()[2], -7);
  EXPECT_EQ(all.read()[keys.size() + 3], -7);

  view.write(keys);
  Stream stream(device);
  sort(stream, view).get();
  EXPECT_EQ(view.read(), expected);
  const Buffer<std::uint64_t> order = argsort(device.upload(keys));
  EXPECT_EQ(order.read(), plain_order(keys.data(), keys.size(), Order::ascending));
}

// Each in no more memory than is told beforehand, from any place of records on.
TEST_P(SortTest, EveryAlgorithm) {
  const std::vector<float> keys = make_keys<float>(Keys::special, 20011);
  const std::vector<std::uint64_t> order = plain_order(keys.data(), keys.size(), Order::descending);
  struct Record {
    std::array<std::uint32_t, 3> words;
  };
  std::vector<Record> records(keys.size() + 1);
  for (std::uint32_t i = 0; i < keys.size(); ++i) records[i + 1] = {{i, 5, 6}};
  for (const SortAlgorithm algorithm : {SortAlgorithm::automatic, SortAlgorithm::radix, SortAlgorithm::merge}) {
    if (device.kind() == DeviceKind::cpu && algorithm != SortAlgorithm::automatic) continue;
    SCOPED_TRACE(to_string(algorithm));
    SortOptions options{.order = Order::descending, .algorithm = algorithm};
    const Buffer<std::byte> for_records(
        device, std::max<std::uint64_t>(sort_workspace(device, Dtype::f32, keys.size(), 12, options), 16));
    const Buffer<std::byte> for_indices(
        device, std::max<std::uint64_t>(argsort_workspace(device, Dtype::f32, keys.size(), Dtype::u32, options), 16));
    Buffer<float> sorted = device.upload(keys);
    Buffer<Record> all = device.upload(records);
    Buffer<Record> moved = all.slice(1, keys.size());
    options.workspace = &for_records;
    sort_by_key(sorted, moved, options);
    options.workspace = &for_indices;
    Buffer<std::uint32_t> indices(device, keys.size());
    argsort(device.upload(keys), Dtype::f32, indices, Dtype::u32, options);
    const std::vector<float> got = sorted.read();
    const std::vector<Record> with = moved.read();
    const std::vector<std::uint32_t> found = indices.read();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(bits_of<float>({got[i]}), bits_of<float>({keys[order[i]]})) << i;
      ASSERT_EQ(with[i].words[0], order[i]);
      ASSERT_EQ(found[i], order[i]);
    }
  }
}

TEST_P(SortTest, RefusesWhatIsWrong) {
  std::vector<float> keys(10);
  std::vector<std::uint8_t> values(9);
  const auto with = [&](const SortOptions& options) { sort(device, MutableArrayView(keys), options); };
  const std::vector<std::uint64_t> falling{0, 5, 4};
  const std::vector<std::uint64_t> beyond{0, 11};
  MASU_EXPECT_ERROR(with({.rows = 3}), invalid_argument, "sort: rows must divide the 10 keys, got 3");
  MASU_EXPECT_ERROR(with({.rows = 0}), invalid_argument, "sort: rows must divide the 10 keys, got 0");
  MASU_EXPECT_ERROR(with({.segments = falling}), invalid_argument,
                    "sort: segment offsets must be non-decreasing, got 4 after 5 at place 2");
  MASU_EXPECT_ERROR(with({.segments = beyond}), invalid_argument, "sort: segments must end at or before 10, got 11");
  MASU_EXPECT_ERROR(with({.rows = 2, .segments = beyond}), invalid_argument,
                    "sort: rows and segments must not be given together");
  MASU_EXPECT_ERROR(sort_by_key(device, MutableArrayView(keys), RecordsView(values)), invalid_argument,
                    "sort_by_key: as many values as keys, got 9 values for 10 keys");
  MASU_EXPECT_ERROR(
      sort(device, ArrayView(Dtype::f32, keys.data(), 9), MutableArrayView(Dtype::f32, keys.data() + 1, 9)),
      invalid_argument, "sort: data and result must not overlap");
  std::vector<std::int32_t> indices(10);
  MASU_EXPECT_ERROR(argsort(device, ArrayView(keys), MutableArrayView(indices)), invalid_argument,
                    "argsort: indices are u64 or u32, got i32");
  EXPECT_EQ(keys, std::vector<float>(10));
}

MASU_ON_EACH_DEVICE(SortTest);

TEST(SortAlgorithmNames, AreKnown) {
  EXPECT_EQ(sort_algorithm_from_name("radix"), SortAlgorithm::radix);
  EXPECT_EQ(to_string(SortAlgorithm::automatic), "auto");
  EXPECT_EQ(to_string(SortAlgorithm::merge), "merge");
  MASU_EXPECT_ERROR(sort_algorithm_from_name("quick"), invalid_argument,
                    "sort: algorithm must be one of auto radix merge, got quick");
  MASU_EXPECT_ERROR(sort_algorithm_from_name("bitonic"), invalid_argument,
                    "sort: algorithm bitonic has left masu; the sorting network is the example program bitonic_sort");
}

TEST(SortAlgorithmNames, AreOfDevices) {
  const Device cpu = Device::open("cpu");
  std::vector<float> keys = {2, 1};
  std::vector<std::uint32_t> indices(2);
  MASU_EXPECT_ERROR(
      sort(cpu, keys, {.algorithm = SortAlgorithm::radix}), unsupported,
      "sort: algorithm radix has left the CPU, which sorts by auto alone; OpenCL and CUDA devices have it");
  MASU_EXPECT_ERROR(
      argsort(cpu, ArrayView(keys), MutableArrayView(indices), {.algorithm = SortAlgorithm::merge}), unsupported,
      "argsort: algorithm merge has left the CPU, which sorts by auto alone; OpenCL and CUDA devices have it");
  EXPECT_EQ(keys, (std::vector<float>{2, 1}));
  EXPECT_TRUE(is_sorted(cpu, ArrayView(indices), {.algorithm = SortAlgorithm::radix}));
}

}  // namespace
}  // namespace masu
