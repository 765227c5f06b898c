// SPDX-License-Identifier: Apache-2.0
// What is particular to the CPU: every path by its sizes, numbers of threads and instruction sets. What holds on all
// devices is tested in sort_test.cpp.
#include "sort/cpu/sort_items.h"
#include "sort/cpu/sort_simd.h"
#include "sort/sort_job.h"

#include <masu/device.h>

#include <gtest/gtest.h>

#include "each_instruction_set.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

// Spec order, said another way than the library says it: by values, not by keys.
template <class T>
bool comes_before(T a, T b) {
  if constexpr (std::is_same_v<T, Half>) {
    const auto value = [](Half x) {
      const int exponent = x.bits >> 10 & 31;
      const int part = x.bits & 1023;
      if (exponent == 31) return part != 0 ? std::nan("") : (x.bits & 0x8000) != 0 ? -INFINITY : INFINITY;
      const double size = exponent == 0 ? std::ldexp(part, -24) : std::ldexp(part + 1024, exponent - 25);
      return (x.bits & 0x8000) != 0 ? -size : size;
    };
    return comes_before<double>(value(a), value(b));
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    const auto value = [](Bfloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); };
    return comes_before<float>(value(a), value(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(b) ? !std::isnan(a) : a < b;
  } else {
    return a < b;
  }
}

template <class T>
std::vector<std::uint64_t> expected_order(const std::vector<T>& keys, Order order) {
  std::vector<std::uint64_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  std::stable_sort(indices.begin(), indices.end(), [&](std::uint64_t i, std::uint64_t j) {
    return order == Order::ascending ? comes_before(keys[i], keys[j]) : comes_before(keys[j], keys[i]);
  });
  return indices;
}

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

const char* const distributions[] = {"bits",  "few",  "specials", "sorted", "falling",
                                     "equal", "runs", "close",    "skewed"};

template <class T>
std::vector<T> keys_of(const std::string& distribution, std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = random();
    if (distribution == "few") bits = (bits % 5) * 0x2020202020202020U;
    // Zeros and, of floats, NaNs and infinities of both signs, each with several lowest bits.
    if (distribution == "specials")
      bits = bits % 4 == 0 ? bits : ((bits >> 9 & 1) != 0 ? ~std::uint64_t{0} << (bits >> 10 & 7) : 0);
    if (distribution == "equal") bits = 0x3939393939393939U;
    if (distribution == "close") bits = 0x3f00000000000000U + (bits >> 30 & 0xf00f);
    if (distribution == "skewed") bits >>= random() % 64;
    keys[i] = from_bits<T>(bits);
    if (distribution == "specials" && (bits & 0xff) == 0) {
      keys[i] = from_bits<T>(random() % 2 << (8 * sizeof(T) - 1));
    }
  }
  if (distribution == "sorted" || distribution == "falling") {
    std::stable_sort(keys.begin(), keys.end(), comes_before<T>);
    if (distribution == "falling") std::reverse(keys.begin(), keys.end());
  }
  if (distribution == "runs") {
    for (std::size_t i = 0; i + 100 <= count; i += 100)
      std::stable_sort(keys.begin() + i, keys.begin() + i + 100, comes_before<T>);
  }
  return keys;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

struct WithThreads {
  explicit WithThreads(unsigned threads) { set_cpu_threads(threads); }
  ~WithThreads() { set_cpu_threads(0); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;
};

// Sorts in every way, with each number of threads, and compares with the expected order.
template <class T>
void check(const std::vector<T>& keys, const SortJob& job, const std::vector<std::size_t>& value_sizes,
           const std::vector<unsigned>& thread_counts = {1}) {
  const std::size_t count = keys.size();
  const std::vector<std::uint64_t> order = expected_order(keys, job.order);
  std::vector<T> expected(count);
  for (std::size_t i = 0; i < count; ++i) expected[i] = keys[order[i]];
  for (const unsigned threads : thread_counts) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    const WithThreads limit(threads);
    std::vector<T> result(count);
    sort_cpu(ArrayView(keys), result.data(), job);
    EXPECT_TRUE(same_bits(result, expected)) << "out of place";
    result = keys;
    sort_cpu(ArrayView(result), result.data(), job);
    EXPECT_TRUE(same_bits(result, expected)) << "in place";
    EXPECT_TRUE(is_sorted_cpu(ArrayView(result), job));
    EXPECT_EQ(is_sorted_cpu(ArrayView(keys), job), std::is_sorted(order.begin(), order.end()));

    std::vector<std::uint64_t> indices(count);
    argsort_cpu(ArrayView(keys), MutableArrayView(indices), job);
    EXPECT_EQ(indices, order);
    std::vector<std::uint32_t> narrow(count);
    argsort_cpu(ArrayView(keys), MutableArrayView(narrow), job);
    EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), order.begin(), order.end()));

    for (const std::size_t bytes : value_sizes) {
      std::vector<std::uint8_t> values(count * bytes);
      std::mt19937 random(7);
      for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random());
      std::vector<std::uint8_t> expected_values(values.size());
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(expected_values.data() + i * bytes, values.data() + order[i] * bytes, bytes);
      }
      result = keys;
      sort_by_key_cpu(MutableArrayView(result), RecordsView(values.data(), bytes, count), job);
      EXPECT_TRUE(same_bits(result, expected)) << "keys with values of " << bytes;
      EXPECT_EQ(values, expected_values) << "values of " << bytes;
    }
  }
}

template <class T>
void check_sizes(const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& value_sizes) {
  for (const std::size_t count : sizes) {
    for (const char* distribution : distributions) {
      for (const Order order : {Order::ascending, Order::descending}) {
        SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " " + distribution + " " + std::to_string(count) +
                     (order == Order::ascending ? " ascending" : " descending"));
        check(keys_of<T>(distribution, count), {order, SortAlgorithm::automatic, {count, 1, {}}}, value_sizes);
      }
    }
  }
}

template <class T>
class SortCpuOf : public testing::Test {};
using AllTypes = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                                std::uint64_t, std::int64_t, Half, Bfloat16, float, double>;
TYPED_TEST_SUITE(SortCpuOf, AllTypes);

TYPED_TEST(SortCpuOf, SmallSizes) {
  check_sizes<TypeParam>({0, 1, 2, 3, 7, 15, 16, 17, 23, 24, 25, 33, 64, 127, 255, 257, 1009}, {1, 3, 4, 12});
}

// Orders of more keys than slots count are by digits; so are fewer here, which the radix sort does not know.
TYPED_TEST(SortCpuOf, OrdersByDigits) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1009}, std::size_t{140'007}}) {
    for (const char* distribution : distributions) {
      for (const Order order : {Order::ascending, Order::descending}) {
        std::vector<TypeParam> keys = keys_of<TypeParam>(distribution, count);
        std::vector<std::uint64_t> indices(count);
        std::vector<std::uint64_t> spare(count);
        cpu::with_keys(dtype_of<TypeParam>, order, [&]<class T>(cpu::Keys<T> key) {
          const auto* const of_rule = reinterpret_cast<const T*>(keys.data());
          cpu::IndexItems<T, std::uint64_t> items(key, of_rule, indices.data(), spare.data(), count);
          cpu::sort_by_digits(items, cpu::Threads::all);
          items.come_to(indices.data(), cpu::Threads::all);
        });
        EXPECT_EQ(indices, expected_order(keys, order)) << distribution << ' ' << count;
      }
    }
  }
}

TYPED_TEST(SortCpuOf, ManyThreads) {
  const std::size_t count = 140'007;
  const SortJob job = {Order::descending, SortAlgorithm::automatic, {count, 1, {}}};
  check(keys_of<TypeParam>("specials", count), job, {8}, {3});
  check(keys_of<TypeParam>("falling", count), job, {8}, {2});
  check(keys_of<TypeParam>("bits", 2 * count), {Order::ascending, SortAlgorithm::automatic, {2 * count, 1, {}}}, {4},
        {2});
}

// Rows that lie in the lanes of vectors, and those on either side of the limits of that.
TYPED_TEST(SortCpuOf, ShortRows) {
  using T = TypeParam;
  for (const std::size_t length : {2, 3, 10, 16, 24, 25, 32, 33, 64, 100, 257, 512, 513}) {
    for (const std::size_t rows : {2, 7, 8, 17, 33}) {
      for (const char* distribution : {"bits", "few", "specials", "falling"}) {
        for (const Order order : {Order::ascending, Order::descending}) {
          SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(length) + " " + distribution);
          const SortJob job{order, SortAlgorithm::automatic, {rows * length, rows, {}}};
          const std::vector<T> keys = keys_of<T>(distribution, rows * length);
          std::vector<T> sorted;
          std::vector<std::uint32_t> order_of_rows;
          for (std::size_t row = 0; row < rows; ++row) {
            const auto first = keys.begin() + static_cast<std::ptrdiff_t>(row * length);
            const std::vector<T> one(first, first + static_cast<std::ptrdiff_t>(length));
            for (const std::uint64_t i : expected_order(one, order)) {
              sorted.push_back(one[i]);
              order_of_rows.push_back(static_cast<std::uint32_t>(i));
            }
          }
          std::vector<T> result(keys.size());
          sort_cpu(ArrayView(keys), result.data(), job);
          ASSERT_TRUE(same_bits(result, sorted));
          std::vector<std::uint32_t> indices(keys.size());
          argsort_cpu(ArrayView(keys), MutableArrayView(indices), job);
          ASSERT_EQ(indices, order_of_rows);
        }
      }
    }
  }
}

TEST(SortCpu, EverySizeOfValues) {
  std::vector<std::size_t> sizes(64);
  std::iota(sizes.begin(), sizes.end(), std::size_t{1});
  const SortJob job = {Order::ascending, SortAlgorithm::automatic, {1000, 1, {}}};
  check(keys_of<float>("specials", 1000), job, sizes);
  check(keys_of<std::uint64_t>("skewed", 1000), job, sizes);
  check(keys_of<std::int16_t>("bits", 1000), job, sizes);
}

// Where vqsort is fast nothing else sorts leaves by digits.
template <class Code>
void check_leaves() {
  std::mt19937_64 random(11);
  for (const std::size_t count : {0, 1, 2, 3, 100, 2047, 2048, 2049, 70'001}) {
    for (const std::uint64_t mask : {~0ULL, 0xffULL, 0xff00ULL, 0x8000'8000ULL, 0ULL}) {
      std::vector<Code> codes(count);
      for (Code& code : codes) code = static_cast<Code>(random() & mask);
      std::vector<Code> sorted = codes;
      std::vector<Code> again = codes;
      std::ranges::sort(sorted);
      cpu::sort_leaf_by_digits(codes.data(), count);
      cpu::sort_leaf(again.data(), count);
      EXPECT_EQ(codes, sorted) << count << " " << mask;
      EXPECT_EQ(again, sorted) << count << " " << mask;
    }
  }
}
TEST(SortCpu, Leaves) {
  check_leaves<std::uint16_t>();
  check_leaves<std::int32_t>();
}

// Long enough for splitting by pivots, for the scattering of argsort, and for counting keys of 16 bits.
template <class T>
void check_long(const char* distribution, std::size_t count, Order order) {
  SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + " " + distribution);
  check(keys_of<T>(distribution, count), {order, SortAlgorithm::automatic, {count, 1, {}}}, {}, {1, 5});
}
TEST(SortCpu, LongKeys) {
  for (const char* distribution : {"bits", "few", "skewed"}) {
    check_long<std::uint32_t>(distribution, 300'001, Order::ascending);
    check_long<double>(distribution, 200'009, Order::descending);
  }
  check_long<float>("specials", 300'001, Order::descending);
  check_long<std::int64_t>("close", 200'009, Order::ascending);
  check_long<std::uint16_t>("bits", 600'011, Order::ascending);
  check_long<Half>("bits", 600'011, Order::descending);
}

// 64-bit keys of which many share their upper halves: runs of all lengths are ordered by the rest.
TEST(SortCpu, RunsOfEqualUpperHalves) {
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> keys(200'003);
  for (std::uint64_t& key : keys) {
    const std::uint64_t upper = random() % 3 == 0 ? random() % 7 : random() % 50'000;
    key = upper << 45 | (random() >> 40);
  }
  keys[5] = ~std::uint64_t{0};
  keys[6] = 0;
  check(keys, {Order::ascending, SortAlgorithm::automatic, {keys.size(), 1, {}}}, {4, 8}, {1, 2});
  check(keys, {Order::descending, SortAlgorithm::automatic, {keys.size(), 1, {}}}, {}, {2});
}

TEST(SortCpu, Segments) {
  std::mt19937_64 random(5);
  const std::vector<std::uint32_t> keys = keys_of<std::uint32_t>("bits", 500'000);
  std::vector<std::uint64_t> offsets = {3, 3, 200'000, 200'001};
  while (offsets.back() < 480'000)
    offsets.push_back(offsets.back() + (random() % 64 == 0 ? random() % 9000 : random() % 9));
  const Pieces pieces = {keys.size(), 1, offsets};
  std::vector<std::uint32_t> expected = keys;
  std::vector<std::uint64_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  for (std::uint64_t piece = 0; piece < pieces.size(); ++piece) {
    const auto first = static_cast<std::ptrdiff_t>(pieces.begin(piece));
    const auto last = first + static_cast<std::ptrdiff_t>(pieces.length(piece));
    std::sort(expected.begin() + first, expected.begin() + last);
    const auto part =
        expected_order(std::vector<std::uint32_t>(keys.begin() + first, keys.begin() + last), Order::ascending);
    std::copy(part.begin(), part.end(), order.begin() + first);
  }
  for (const unsigned threads : {1U, 3U}) {
    const WithThreads limit(threads);
    const SortJob job = {Order::ascending, SortAlgorithm::automatic, pieces};
    std::vector<std::uint32_t> result(keys.size());
    sort_cpu(ArrayView(keys), result.data(), job);
    EXPECT_EQ(result, expected);
    EXPECT_TRUE(is_sorted_cpu(ArrayView(result), job));
    EXPECT_FALSE(is_sorted_cpu(ArrayView(keys), job));
    std::vector<std::uint32_t> indices(keys.size());
    argsort_cpu(ArrayView(keys), MutableArrayView(indices), job);
    EXPECT_TRUE(std::equal(indices.begin(), indices.end(), order.begin(), order.end()));
    result = keys;
    std::vector<std::uint32_t> values(keys.size());
    std::iota(values.begin(), values.end(), 0U);
    sort_by_key_cpu(MutableArrayView(result), RecordsView(values), job);
    EXPECT_EQ(result, expected);
    for (std::size_t i = 0; i < keys.size(); i += 97) EXPECT_EQ(keys[values[i]], result[i]);
  }
}

TEST(SortCpu, RowsOfOneKeyHaveIndexZero) {
  const std::vector<float> keys = {3, 1, 2};
  std::vector<std::uint64_t> indices(3, 9);
  argsort_cpu(ArrayView(keys), MutableArrayView(indices), {Order::ascending, SortAlgorithm::automatic, {3, 3, {}}});
  EXPECT_EQ(indices, std::vector<std::uint64_t>(3, 0));
}

TEST(SortCpu, MisalignedKeysForVectors) {
  for (std::size_t offset = 0; offset < 17; ++offset) {
    std::vector<std::int32_t> data = keys_of<std::int32_t>("bits", 5000);
    std::vector<std::int32_t> expected(data.begin() + offset, data.end());
    std::sort(expected.begin(), expected.end());
    const ArrayView view(Dtype::i32, data.data() + offset, data.size() - offset);
    sort_cpu(view, data.data() + offset, {Order::ascending, SortAlgorithm::automatic, {view.count, 1, {}}});
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), data.begin() + offset));
  }
}

// Every set of instructions that this processor has, and none.
TEST(SortCpu, EveryInstructionSet) {
  test::each_instruction_set([] {
    check(keys_of<float>("bits", 300'000), {Order::descending, SortAlgorithm::automatic, {300'000, 1, {}}}, {4}, {2});
    check(keys_of<double>("specials", 150'000), {Order::ascending, SortAlgorithm::automatic, {150'000, 1, {}}}, {},
          {2});
    check_sizes<std::int64_t>({25, 33, 1009}, {});
    check_sizes<Half>({25, 33, 1009}, {});
    check_sizes<Bfloat16>({25, 33, 1009}, {});
  });
}

template <class Code>
void check_partitions(cpu::Coding<Code> coding) {
  std::mt19937_64 random(11);
  for (const std::size_t left : {0, 1, 5, 63, 64, 65, 200, 1000}) {
    for (const std::size_t right : {0, 1, 64, 130, 1000}) {
      for (const int quantile : {0, 1, 50, 99, 100}) {
        std::vector<Code> data(left + 40 + right);
        for (Code& code : data) code = static_cast<Code>(random());
        const std::vector<Code> before = data;
        const auto coded = [&](Code bits) {
          if (coding.is_float && bits < 0) bits = static_cast<Code>(bits ^ std::numeric_limits<Code>::max());
          return static_cast<Code>(bits ^ coding.flip);
        };
        std::vector<Code> codes;
        for (std::size_t i = 0; i < data.size(); ++i) {
          if (i < left || i >= left + 40) codes.push_back(coded(data[i]));
        }
        std::sort(codes.begin(), codes.end());
        Code pivot = std::numeric_limits<Code>::max();
        if (quantile < 100 && !codes.empty()) pivot = codes[codes.size() * static_cast<std::size_t>(quantile) / 100];
        Code* const second = data.data() + left + 40;
        const cpu::LowerCounts lower =
            cpu::code_loops<Code>().partition_two(data.data(), left, second, right, pivot, coding);
        const auto is_lower = [&](Code code) { return code < pivot; };
        EXPECT_TRUE(std::all_of(data.data(), data.data() + lower.left, is_lower));
        EXPECT_TRUE(std::none_of(data.data() + lower.left, data.data() + left, is_lower));
        EXPECT_TRUE(std::all_of(second, second + lower.right, is_lower));
        EXPECT_TRUE(std::none_of(second + lower.right, second + right, is_lower));
        EXPECT_TRUE(std::equal(data.begin() + left, data.begin() + left + 40, before.begin() + left));
        std::vector<Code> after(data.begin(), data.begin() + left);
        after.insert(after.end(), data.begin() + left + 40, data.end());
        std::sort(after.begin(), after.end());
        EXPECT_EQ(after, codes);
      }
    }
  }
}
TEST(SortCpu, PartitionsOfTwoRanges) {
  check_partitions<std::int32_t>({});
  check_partitions<std::int32_t>({-1, true});
  check_partitions<std::int64_t>({std::numeric_limits<std::int64_t>::min(), false});
  check_partitions<std::int64_t>({0, true});
}

// Runs that are shorter than a vector and longer, with few and many equal codes, and the greatest code, with which a
// vector is filled up; `to` of every alignment.
template <class Code>
void check_merges(cpu::Coding<Code> coding) {
  std::mt19937_64 random(5);
  const auto code_of = [&](Code bits) {
    if (coding.is_float && bits < 0) bits = static_cast<Code>(bits ^ std::numeric_limits<Code>::max());
    return static_cast<Code>(bits ^ coding.flip);
  };
  const auto by_code = [&](Code a, Code b) { return code_of(a) < code_of(b); };
  const std::size_t lengths[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 200, 1000};
  for (const unsigned range : {1U, 5U, 100U, 0U}) {
    const auto run = [&](std::size_t count) {
      std::vector<Code> bits(count);
      for (Code& one : bits) {
        const std::uint64_t any = random();
        one = static_cast<Code>(range == 0 ? any : std::uint64_t{0} - range / 2 + any % range);
        if (any % 64 == 0) one = std::numeric_limits<Code>::max();
        if (any % 64 == 1) one = std::numeric_limits<Code>::min();
        if (any % 64 == 2) one = -1;
      }
      std::sort(bits.begin(), bits.end(), by_code);
      return bits;
    };
    for (const std::size_t a_count : lengths) {
      for (const std::size_t b_count : lengths) {
        const std::vector<Code> a = run(a_count), b = run(b_count), c = run(b_count), d = run(a_count / 2);
        const std::size_t begin = random() % 5;
        const std::size_t middle = begin + a_count + b_count + 1;
        std::vector<Code> expected(middle + c.size() + d.size() + 1, 77);
        std::vector<Code> found = expected;
        const auto at = [](auto& to, std::size_t place) { return to.begin() + static_cast<std::ptrdiff_t>(place); };
        std::merge(a.begin(), a.end(), b.begin(), b.end(), at(expected, begin), by_code);
        std::merge(c.begin(), c.end(), d.begin(), d.end(), at(expected, middle), by_code);
        cpu::code_loops<Code>().merge({a.data(), a.size(), b.data(), b.size(), &found[begin]},
                                      {c.data(), c.size(), d.data(), d.size(), &found[middle]}, coding);
        ASSERT_EQ(found, expected) << a_count << ' ' << b_count << ' ' << range;
      }
    }
  }
}
TEST(SortCpu, MergesOfCodesWithEveryInstructionSet) {
  test::each_instruction_set([] {
    check_merges<std::int32_t>({});
    check_merges<std::int32_t>({0, true});
    check_merges<std::int32_t>({-1, true});
    check_merges<std::int32_t>({std::numeric_limits<std::int32_t>::min(), false});
    check_merges<std::int64_t>({std::numeric_limits<std::int64_t>::max(), false});
    check_merges<std::int64_t>({-1, true});
  });
}

}  // namespace
}  // namespace masu
