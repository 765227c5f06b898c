// SPDX-License-Identifier: Apache-2.0
// The sort from an exact histogram on, on every device with kernels, against std::stable_sort: sizes around those of
// its tiles, buckets and lists, keys that crowd, and what moves with keys.
#include "sort/device/sort_keys.h"
#include "sort/device/sort_once.h"

#include "each_device.h"
#include "sort/device/sort_keys_test.h"
#include "sort/device/sort_special.h"
#include "sort/sort_test_data.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

using test::Bits;
using test::each_crowd;
using test::edge;
using test::keys_by;

class SortKeys : public test::AloneSorts {};

TEST_P(SortKeys, Crowds) {
  for (const unsigned bits : {0U, sort_keys::most_bucket_bits}) {
    bucket_bits = bits;
    each_crowd<std::uint32_t>(60001, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  }
  bucket_bits = 0;
  each_crowd<std::int64_t>(
      30011, [&](const auto& keys, const auto& what) { expect_sorted(keys, Order::ascending, true, what); });
  if (!device.info().gpu) return;
  for (const unsigned bits : {0U, 13U, sort_keys::most_bucket_bits}) {
    bucket_bits = bits;
    each_crowd<std::int32_t>(1000003, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
    each_crowd<std::uint64_t>(1000003,
                              [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  }
}

// Buckets that are counted by all work-groups together begin at 65,537 keys, or at 32,768.
TEST_P(SortKeys, HugeBuckets) {
  bucket_bits = sort_keys::most_bucket_bits;
  for (const std::uint64_t size : {32767U, 32768U, 65535U, 65536U, 65537U, 200003U, 262144U}) {
    for (const std::uint64_t values : {1U, 2U, 40U, 5000U, 65536U}) {
      const std::string what = std::to_string(values) + " values";
      expect_sorted_both_ways(keys_by<std::uint32_t>(size, [&](auto& random, auto) { return random() % values; }),
                              what);
      expect_sorted(
          keys_by<std::int32_t>(
              size, [&](auto& random, auto i) { return (i % 3 == 0 ? 0x7fff0000U : 0x80000000U) | random() % values; }),
          Order::descending, true, what + " in two buckets");
    }
  }
}

// Joined buckets of as many keys as a work-group finishes, and one more or less; and with many in a bin.
TEST_P(SortKeys, JoinedBuckets) {
  for (const std::uint64_t size : {4607U, 4608U, 4609U, 30000U}) {
    for (const std::uint32_t mask : {0x003fffffU, 0x003f003fU, 0x0000ffffU, 0x003f0000U, 0x00030300U}) {
      expect_sorted_both_ways(
          keys_by<std::uint32_t>(size + 3,
                                 [&](auto& random, auto i) {
                                   return i < size ? 0x12400000U | (static_cast<std::uint32_t>(random()) & mask)
                                                   : i * 0x10000000U;
                                 }),
          "mask " + std::to_string(mask));
    }
  }
}

// Buckets of as many keys of 8 bytes as a work-group finishes, and one more or less; and with many in a bin.
TEST_P(SortKeys, WideBuckets) {
  bucket_bits = sort_keys::most_bucket_bits;
  for (const std::uint64_t size : {3071U, 3072U, 3073U, 4607U, 4608U, 4609U, 12289U}) {
    for (const std::uint64_t mask : {0xffffffffffffULL, 0xf0000000ffffULL, 0xff000003ULL}) {
      expect_sorted_both_ways(keys_by<std::uint64_t>(2 * size,
                                                     [&](auto& random, auto i) {
                                                       return (i % 2 == 0 ? 0x1240U : 0x1241U) *
                                                                  (std::uint64_t{1} << 48) |
                                                              (random() & mask);
                                                     }),
                              "mask " + std::to_string(mask));
    }
  }
}

TEST_P(SortKeys, FloatsKeepZerosAndNansInOrder) {
  const auto all = [&]<class T>(T, std::uint64_t count) {
    constexpr unsigned width = 8 * sizeof(T);
    constexpr auto sign = Bits<T>{1} << (width - 1);
    expect_sorted_both_ways(test::make_keys<T>(test::Keys::special, count), "special");
    expect_sorted_both_ways(test::make_keys<T>(test::Keys::random, count), "random bits");
    const auto number = [](auto& random) {
      return std::bit_cast<Bits<T>>(static_cast<T>(static_cast<std::int64_t>(random()) % 1000));
    };
    expect_sorted_both_ways(keys_by<T>(count, [&](auto& random, auto) { return number(random); }), "one zero");
    expect_sorted_both_ways(
        keys_by<T>(count, [&](auto& random, auto i) { return i % 3 == 0 ? sign : number(random) | 1; }), "minus zero");
    expect_sorted_both_ways(
        keys_by<T>(count, [&](auto& random, auto i) { return i % 2 == 0 ? (i / 2 % 2) * sign : number(random); }),
        "zeros");
    expect_sorted_both_ways(keys_by<T>(count, [&](auto&, auto i) { return i % 3 == 0 ? sign : Bits<T>{0}; }),
                            "only zeros");
    expect_sorted_both_ways(keys_by<T>(count, [&](auto&, auto i) { return infinity_bits<T> + 1 + i + (i % 2) * sign; }),
                            "only NaNs");
    expect_sorted_both_ways(
        keys_by<T>(count, [&](auto& random, auto i) { return i == count / 2 ? infinity_bits<T> + 9 : number(random); }),
        "one NaN");
    // As many of a kind as keys_count lists, one more, few, and many.
    const auto mixed = [&](std::uint64_t zeros, std::uint64_t nans) {
      const auto make = [&](auto& random, auto i) {
        if (i % 16 == 0 && i / 16 < nans) return infinity_bits<T> + 1 + i + (i / 16 % 2) * sign;
        return i % 16 == 1 && i / 16 < zeros ? (i / 16 % 2) * sign : number(random) | 1U;
      };
      expect_sorted_both_ways(keys_by<T>(count, make), std::to_string(zeros) + " zeros, " + std::to_string(nans));
    };
    constexpr std::uint64_t listed = sort_special::most_listed;
    mixed(listed, listed + 1);
    mixed(listed + 1, listed);
    mixed(50, 3 * listed);
    mixed(3 * listed, 50);
  };
  all(float{}, 50021);
  if (device.info().gpu) all(double{}, 50021);
}

TEST_P(SortKeys, SizesAroundTiles) {
  bucket_bits = sort_keys::most_bucket_bits;
  // A CPU takes a minute for all of them.
  const bool all = device.info().gpu || std::getenv("MASU_TEST_LONG") != nullptr;
  const std::vector<std::uint64_t> sizes =
      all ? std::vector<std::uint64_t>{1,    2,    31,   255,  256,   257,   4607,  4608,
                                       4609, 6143, 6144, 6145, 12287, 12288, 12289, 24577}
          : std::vector<std::uint64_t>{1, 2, 31, 256, 257, 4608, 4609, 6145, 12289};
  for (const std::uint64_t size : sizes) {
    expect_sorted_both_ways(keys_by<std::uint32_t>(size, [](auto& random, auto) { return random(); }), "random");
    expect_sorted_both_ways(keys_by<std::uint32_t>(size, [](auto& random, auto) { return random() & 0xffff; }),
                            "one bucket");
    expect_sorted_both_ways(keys_by<std::uint32_t>(size, [](auto& random, auto) { return random() & 0xff0f; }),
                            "full bins");
  }
  // Bins of as many keys as windows sort, and more, at each place of a window: 16 values of each second bin.
  for (const unsigned keys : {8U, 9U, 10U, 11U, 16U, 17U, 18U, 19U, 33U}) {
    for (const unsigned shift : all ? std::vector{0U, 1U, 3U, 7U, 8U, 13U} : std::vector{0U, 7U}) {
      expect_sorted_both_ways(
          keys_by<std::uint32_t>(
              2000,
              [&](auto& random, auto i) { return i < shift ? 0 : (1 + (i - shift) / keys) * 16 + random() % 16; }),
          std::to_string(keys) + " keys a bin from " + std::to_string(shift));
    }
  }
}

// Work-groups as for so many keys, with a bucket of as many as each of them takes, and one more or less.
TEST_P(SortKeys, ShapesForManyKeys) {
  bucket_bits = sort_keys::most_bucket_bits;
  for (const unsigned log : {28U, 29U, 30U, 31U}) {
    if (!device.info().gpu && log != 28 && log != 31) continue;  // programs take long to build
    shaped_for = std::uint64_t{1} << log;
    const auto subject = sort_keys::Subject::of({Dtype::u32}, shaped_for);
    const sort_keys::Tuning tuning = sort_keys::tuning_of(device.info(), subject, bucket_bits);
    std::vector<std::uint64_t> tiles = {tuning.most};
    for (unsigned i = 0; i < tuning.larger_shapes(); ++i) tiles.push_back(tuning.larger[i].tile());
    for (const std::uint64_t size : tiles) {
      for (const std::uint32_t mask : {0xffffU, 0xff0fU, 0x0300U, 0U}) {
        // Buckets of a key fewer, of as many, and of one more, and keys in others.
        const auto make = [&](auto& random, auto i) {
          const auto low = static_cast<std::uint32_t>(random() & mask);
          return i < size - 1       ? 0x12340000U | low
                 : i < 2 * size - 1 ? 0x12350000U | low
                 : i < 3 * size     ? 0xa2340000U | low
                                    : static_cast<std::uint32_t>(i * 0x50000000U);
        };
        expect_sorted(
            keys_by<std::uint32_t>(3 * size + 3, make), mask % 2 == 0 ? Order::ascending : Order::descending, mask != 0,
            "shape for 2^" + std::to_string(log) + ", " + std::to_string(size) + ", mask " + std::to_string(mask));
      }
    }
  }
}

// Orders, and values beside their keys: what is equal keeps its order.
struct Bytes16 {
  std::uint64_t words[2];
};

class PackedKeys : public test::EachDevice {
 protected:
  template <class T>
  static std::vector<std::uint32_t> stable_order(const std::vector<T>& keys, Order order) {
    std::vector<std::uint32_t> indices(keys.size());
    std::iota(indices.begin(), indices.end(), 0U);
    std::ranges::stable_sort(indices, {}, [&](std::uint32_t i) { return sort_key(keys[i], order); });
    return indices;
  }

  template <class Index, class T>
  void expect_order(const std::vector<T>& keys, Order order, const std::string& what) const {
    SCOPED_TRACE(what + " " + std::to_string(keys.size()) + " order of " + std::string(to_string(dtype_of<T>)));
    std::vector<T> all = keys;
    all.insert(all.begin(), edge, T{1});
    const Buffer<T> there = device.upload(all);
    const Buffer<T> from = there.slice(edge, keys.size());
    const Buffer<Index> places = device.upload(std::vector<Index>(keys.size() + 2 * edge, 7));
    Buffer<Index> indices = places.slice(edge, keys.size());
    Stream stream(device);
    DeviceWork work;
    const Payload payload{Payload::Kind::indices, &indices, sizeof(Index)};
    sort_packed({dtype_of<T>, order, &from, nullptr, payload}, keys.size(), stream, work);
    stream.finish();
    EXPECT_TRUE(std::ranges::equal(indices.read(), stable_order(keys, order)));
    EXPECT_TRUE(test::bits_of(there.read()) == test::bits_of(all));
    const std::vector<Index> around = places.read();
    EXPECT_TRUE(around[edge - 1] == 7 && around[edge + keys.size()] == 7);
  }

  void sort_packed(const Arrays& arrays, std::uint64_t count, Stream& stream, DeviceWork& work) const {
    if (once) return sort_once::sort(stream, arrays, count, nullptr, work);
    sort_keys::sort(stream, arrays, count, nullptr, work, bucket_bits, sort_keys::ByDigitsWhere::automatic, shaped_for);
  }

  template <class Value, class T>
  void expect_values(const std::vector<T>& keys, Order order, bool in_place, const std::string& what) const {
    SCOPED_TRACE(what + " " + std::to_string(keys.size()) + " values of " + std::to_string(sizeof(Value)) +
                 " bytes with " + std::string(to_string(dtype_of<T>)) + (in_place ? " in place" : ""));
    const auto value_of = [](std::uint64_t i) {
      if constexpr (sizeof(Value) == 16) return Value{{i, ~i}};
      else return static_cast<Value>(i * 0x9e3779b97f4a7c15U >> (64 - 8 * sizeof(Value)));
    };
    std::vector<std::byte> values(keys.size() * sizeof(Value));
    const auto put = [&](std::size_t place, std::uint64_t i) {
      const Value value = value_of(i);
      std::memcpy(&values[place * sizeof(Value)], &value, sizeof value);
    };
    for (std::size_t i = 0; i < keys.size(); ++i) put(i, i);
    const Buffer<T> there = device.upload(keys);
    const Buffer<T> other(device, keys.size());
    Buffer<std::byte> moved = device.upload(values);
    Stream stream(device);
    DeviceWork work;
    const Payload payload{Payload::Kind::records, &moved, sizeof(Value)};
    sort_packed({dtype_of<T>, order, &there, in_place ? &there : &other, payload}, keys.size(), stream, work);
    stream.finish();
    const std::vector<std::uint32_t> from = stable_order(keys, order);
    std::vector<T> expected(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      expected[i] = keys[from[i]];
      put(i, from[i]);
    }
    EXPECT_TRUE(test::bits_of((in_place ? there : other).read()) == test::bits_of(expected));
    EXPECT_TRUE(moved.read() == values);
    if (!in_place) {
      EXPECT_TRUE(test::bits_of(there.read()) == test::bits_of(keys));
    }
  }
  unsigned bucket_bits = 0;
  std::uint64_t shaped_for = 0;
  bool once = false;  // by sort_once
};

// Sizes around those of tiles, and more tiles than compute units.
TEST_P(PackedKeys, Once) {
  if (device.kind() != DeviceKind::cuda) GTEST_SKIP() << "needs work-groups that wait for each other";
  once = true;
  const std::uint64_t tile = sort_once::plan_of(device.info(), {Dtype::u32, 4}, 1 << 20).tile();
  ASSERT_NE(tile, 0U);
  for (const std::uint64_t size :
       {std::uint64_t{1}, std::uint64_t{33}, tile - 1, tile, tile + 1, 40 * tile + 1, std::uint64_t{5000011}}) {
    const auto floats = [](auto& random, auto i) { return i % 3 == 0 ? random() % 4 << 30 : random(); };
    expect_order<std::uint64_t>(keys_by<float>(size, floats), Order::ascending, "zeros and others");
    expect_values<std::uint32_t>(keys_by<float>(size, floats), Order::descending, true, "zeros and others");
    expect_values<std::uint32_t>(keys_by<std::uint32_t>(size, [](auto& random, auto) { return random() & random(); }),
                                 Order::ascending, true, "and2");
    expect_values<std::uint8_t>(keys_by<std::int32_t>(size, [](auto& random, auto) { return random() % 7 << 7; }),
                                Order::ascending, false, "one digit or two");
    expect_order<std::uint32_t>(keys_by<std::int32_t>(size, [](auto& random, auto) { return random() % 3 << 20; }),
                                Order::descending, "few");
    expect_order<std::uint64_t>(keys_by<double>(size, floats), Order::descending, "zeros and others");
    for (const unsigned bits : {7U, 30U, 35U, 64U}) {  // passes of the lower half, of both
      expect_order<std::uint32_t>(
          keys_by<std::int64_t>(size, [&](auto& random, auto i) { return (random() >> (64 - bits)) - i % 2; }),
          Order::ascending, "bits " + std::to_string(bits));
      expect_order<std::uint32_t>(
          keys_by<std::uint64_t>(size, [&](auto& random, auto) { return random() >> (64 - bits) << (64 - bits); }),
          Order::descending, "upper bits " + std::to_string(bits));
    }
  }
  each_crowd<std::uint32_t>(200003, [&](const auto& keys, const auto& what) {
    expect_order<std::uint32_t>(keys, Order::ascending, what);
    expect_values<std::uint16_t>(keys, Order::descending, false, what);
  });
  each_crowd<float>(200003, [&](const auto& keys, const auto& what) {
    expect_values<std::uint32_t>(keys, Order::ascending, true, what);
    expect_values<std::uint8_t>(keys, Order::ascending, false, what);
  });
  each_crowd<std::int64_t>(
      200003, [&](const auto& keys, const auto& what) { expect_order<std::uint64_t>(keys, Order::ascending, what); });
  expect_order<std::uint32_t>(test::make_keys<float>(test::Keys::special, 300007), Order::descending, "special");
  expect_order<std::uint64_t>(test::make_keys<double>(test::Keys::special, 300007), Order::ascending, "special");
}

TEST_P(SortKeys, Once) {
  if (device.kind() != DeviceKind::cuda) GTEST_SKIP() << "needs work-groups that wait for each other";
  once = true;
  // Tiles of all sizes, and whole ones that follow others.
  for (const std::uint64_t size : {1U, 40007U, 150001U, 300007U, 700001U, 5000011U}) {
    expect_sorted_both_ways(keys_by<std::uint32_t>(size, [](auto& random, auto) { return random() & random(); }),
                            "and2");
    expect_sorted_both_ways(keys_by<std::int64_t>(size, [](auto& random, auto) { return random() & random(); }),
                            "and2");
  }
  each_crowd<std::uint64_t>(200003, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  each_crowd<std::int32_t>(200003, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  expect_sorted_both_ways(test::make_keys<float>(test::Keys::special, 300007), "special");
  expect_sorted_both_ways(test::make_keys<double>(test::Keys::special, 300007), "special");
}

TEST_P(PackedKeys, CrowdedOrNot) {
  if (device.kind() != DeviceKind::cuda) GTEST_SKIP() << "needs work-groups that wait for each other";
  const std::uint64_t size = (std::uint64_t{1} << 22) + 77;
  for (const unsigned shift : {0U, 9U, 27U}) {
    const auto keys =
        keys_by<std::uint32_t>(size, [&](auto& random, auto) { return static_cast<std::uint32_t>(random()) >> shift; });
    expect_order<std::uint32_t>(keys, Order::descending, "bits without " + std::to_string(shift));
    expect_order<std::uint64_t>(keys, Order::ascending, "bits without " + std::to_string(shift));
  }
}

// Keys that are asked whether they are crowded are sorted either way.
TEST_P(SortKeys, CrowdedOrNot) {
  if (device.kind() != DeviceKind::cuda) GTEST_SKIP() << "needs work-groups that wait for each other";
  each_crowd<std::uint64_t>(1000003, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  each_crowd<std::int32_t>(1000003, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  by_digits = sort_keys::ByDigitsWhere::all;  // that have one pair more than equal ones
  each_crowd<std::uint32_t>(200003, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
  each_crowd<std::int64_t>(200003, [&](const auto& keys, const auto& what) { expect_sorted_both_ways(keys, what); });
}

TEST_P(PackedKeys, Crowds) {
  each_crowd<float>(40009, [&](const auto& keys, const auto& what) {
    expect_order<std::uint64_t>(keys, Order::ascending, what);
    expect_values<std::uint32_t>(keys, Order::descending, true, what);
  });
  if (!device.info().gpu) return;  // programs take long to build
  for (const unsigned bits : {0U, 13U, sort_keys::most_bucket_bits}) {
    bucket_bits = bits;
    each_crowd<std::uint32_t>(1000003, [&](const auto& keys, const auto& what) {
      expect_order<std::uint32_t>(keys, Order::ascending, what);
    });
    each_crowd<std::int32_t>(1000003, [&](const auto& keys, const auto& what) {
      expect_order<std::uint64_t>(keys, Order::descending, what);
      expect_values<std::uint64_t>(keys, Order::ascending, false, what);
    });
  }
}

TEST_P(PackedKeys, FloatsKeepZerosAndNansInOrder) {
  for (const std::uint64_t count : {6000U, 50021U}) {
    for (const auto kind : {test::Keys::special, test::Keys::random}) {
      const std::vector<float> keys = test::make_keys<float>(kind, count);
      expect_order<std::uint64_t>(keys, Order::descending, "floats");
      expect_values<std::uint32_t>(keys, Order::ascending, true, "floats");
      if (!device.info().gpu) continue;
      for (const Order order : {Order::ascending, Order::descending}) {
        expect_order<std::uint32_t>(keys, order, "floats");
        expect_values<std::uint8_t>(keys, order, true, "floats");
        expect_values<std::uint16_t>(keys, order, false, "floats");
        expect_values<std::uint64_t>(keys, order, true, "floats");
        expect_values<Bytes16>(keys, order, false, "floats");
        expect_values<Bytes16>(keys, order, true, "floats");
      }
    }
  }
}

// Indices of 32 bits, as of more than 2^30 keys.
TEST_P(PackedKeys, WideIndices) {
  shaped_for = std::uint64_t{1} << 32;
  for (const auto kind : {test::Keys::special, test::Keys::few}) {
    const std::vector<float> keys = test::make_keys<float>(kind, 30011);
    expect_order<std::uint64_t>(keys, Order::descending, "floats");
    expect_values<std::uint32_t>(keys, Order::ascending, true, "floats");
  }
}

TEST_P(PackedKeys, SizesAroundTiles) {
  for (const std::uint64_t size : {1U, 2U, 31U, 257U, 4608U, 4609U, 6143U, 6144U, 6145U, 12288U, 12289U, 24577U}) {
    const auto random = keys_by<float>(size, [](auto& source, auto) { return source(); });
    expect_order<std::uint64_t>(random, Order::ascending, "random");
    expect_values<std::uint32_t>(random, Order::descending, false, "random");
    const auto equal = keys_by<float>(size, [](auto&, auto) { return 0x80000000U; });
    expect_order<std::uint64_t>(equal, Order::ascending, "equal");
    expect_values<std::uint32_t>(equal, Order::ascending, true, "equal");
  }
}

// The launches of a sort in a CUDA graph, by the driver that the library has opened.
class Graph {
 public:
  template <class Sort>
  Graph(Stream& stream, const Sort& sort) : stream_(stream.native()) {
    call("cuStreamGetCtx", stream_, &context_);
    call("cuCtxSetCurrent", context_);
    void* graph = nullptr;
    call("cuStreamBeginCapture_v2", stream_, 1);  // of this thread
    sort();
    call("cuStreamEndCapture", stream_, &graph);
    call("cuGraphInstantiateWithFlags", &executable_, graph, 0ULL);
    call("cuGraphDestroy", graph);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { call("cuGraphExecDestroy", executable_); }
  void replay() const { call("cuGraphLaunch", executable_, stream_); }

 private:
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(driver_, name));
    ASSERT_NE(function, nullptr) << name;
    EXPECT_EQ(function(arguments...), 0) << name;
  }
  void* driver_ = dlopen("libcuda.so.1", RTLD_NOW);
  void* stream_;
  void* context_ = nullptr;
  void* executable_ = nullptr;
};

// A sort that is captured reads nothing back, so a replay sorts whatever the keys have become.
template <class T>
void expect_captured(const Device& device, std::uint64_t count, bool once) {
  Buffer<T> keys(device, count);
  const Buffer<T> sorted(device, count);
  Buffer<std::uint32_t> order(device, count);
  const Arrays alone{dtype_of<T>, Order::ascending, &keys, &sorted};
  const Arrays indices{dtype_of<T>, Order::ascending, &keys, nullptr, {Payload::Kind::indices, &order, 4}};
  const Buffer<std::byte> workspace(device, sort_keys::workspace_bytes(device.info(), alone, count));
  const Buffer<std::byte> packed(device, once ? sort_once::workspace_bytes(device.info(), indices, count)
                                              : sort_keys::workspace_bytes(device.info(), indices, count));
  Stream stream(device);
  DeviceWork work;
  const auto sort = [&] {
    sort_keys::sort(stream, alone, count, &workspace, work);
    if (sizeof(T) != 4) return;
    if (once) sort_once::sort(stream, indices, count, &packed, work);
    else sort_keys::sort(stream, indices, count, &packed, work);
  };
  keys.write(keys_by<T>(count, [](auto& random, auto) { return random(); }));
  sort();  // kernels are loaded before they are captured
  stream.finish();
  const Graph graph(stream, sort);
  const auto expect = [&](const std::vector<T>& data, const std::string& what) {
    SCOPED_TRACE(what + " " + std::string(to_string(dtype_of<T>)));
    keys.write(data);
    graph.replay();
    stream.finish();
    std::vector<std::uint32_t> from(count);
    std::iota(from.begin(), from.end(), 0U);
    std::ranges::stable_sort(from, {}, [&](std::uint32_t i) { return sort_key(data[i]); });
    std::vector<T> expected(count);
    for (std::uint64_t i = 0; i < count; ++i) expected[i] = data[from[i]];
    EXPECT_TRUE(test::bits_of(sorted.read()) == test::bits_of(expected));
    if (sizeof(T) == 4) {
      EXPECT_TRUE(order.read() == from);
    }
  };
  each_crowd<T>(count, expect);
  expect(test::make_keys<T>(test::Keys::special, count), "special");
}

TEST_P(SortKeys, CapturedInAGraph) {
  if (device.kind() != DeviceKind::cuda) GTEST_SKIP() << "needs a CUDA device";
  expect_captured<std::uint32_t>(device, 300007, false);
  expect_captured<float>(device, 300007, true);
  expect_captured<std::uint64_t>(device, 300007, false);
}

MASU_ON_EACH_KERNEL_DEVICE(SortKeys);
MASU_ON_EACH_KERNEL_DEVICE(PackedKeys);

}  // namespace
}  // namespace masu
