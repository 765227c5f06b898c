// SPDX-License-Identifier: Apache-2.0
// What only the CPU has: parts, guides to edges, pieces of every length; against the plainest count.
#include "histogram/cpu/histogram_cpu.h"

#include "expect_error.h"

#include <masu/device.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace masu::cpu {
namespace {

class Threads {
 public:
  explicit Threads(unsigned threads) { set_cpu_threads(threads); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { set_cpu_threads(0); }
};

template <class T>
std::vector<std::uint64_t> count(const std::vector<T>& data, const BinRule& rule, Strategy strategy,
                                 unsigned channels = 1) {
  const auto kept = std::make_shared<const BinRule>(rule);
  Counter counter(kept, channels, strategy);
  std::vector<std::uint64_t> totals((rule.n + extra_slots) * channels);
  counter.count(ArrayView(data), totals);
  return totals;
}

TEST(HistogramCpu, PartsOfUniformSkewedAndEqualValues) {
  std::mt19937_64 random(1);
  for (const unsigned threads : {1U, 3U}) {
    const Threads limit(threads);
    for (const std::uint32_t n : {70'000U, 1'000'003U}) {
      for (const int kind : {0, 1, 2, 3}) {
        std::vector<std::uint32_t> data((1U << 20) + 4099);
        for (std::uint32_t& x : data) {
          const auto uniform = static_cast<std::uint32_t>(random() % (n + n / 8));
          x = kind == 0 ? uniform : kind == 1 ? uniform % 1000 * (n / 1000) : kind == 2 ? n - 1 : uniform % 7;
        }
        const BinRule rule(Bins::integers(n), Dtype::u32, false);
        std::vector<std::uint64_t> expected(n + extra_slots);
        for (const std::uint32_t x : data) ++expected[x < n ? x : n + slot_above];
        ASSERT_EQ(count(data, rule, Strategy::partitioned), expected) << n << " kind " << kind;
      }
    }
  }
}

TEST(HistogramCpu, PartsOfChannelsAndOfSeveralAdds) {
  std::mt19937_64 random(2);
  const Threads limit(2);
  const std::uint32_t n = 50'000;
  const BinRule rule(Bins::integers(n), Dtype::i32, false);
  const auto kept = std::make_shared<const BinRule>(rule);
  Counter counter(kept, 3, Strategy::partitioned);
  const std::uint64_t slots = (rule.n + extra_slots);
  std::vector<std::uint64_t> totals(slots * 3);
  std::vector<std::uint64_t> expected(slots * 3);
  for (const std::size_t pixels : {1U, 30'000U, 0U, 100'001U, 700'000U, 22'000U}) {
    std::vector<std::int32_t> data(pixels * 3);
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::int32_t>(random() % (n + 100)) - 50;
      const std::uint64_t slot = data[i] < 0                                ? n + slot_below
                                 : static_cast<std::uint32_t>(data[i]) >= n ? n + slot_above
                                                                            : static_cast<std::uint64_t>(data[i]);
      ++expected[i % 3 * slots + slot];
    }
    counter.count(ArrayView(data), totals);
    ASSERT_EQ(totals, expected) << pixels;
  }
}

// More bins than 2^16 places in each of the most parts: places of 32 bits. The counters are not touched before.
TEST(HistogramCpu, WideParts) {
  class Slots final : public SlotSource {
   public:
    explicit Slots(const std::vector<std::uint32_t>& all) : all_(all) {}
    void write(std::uint64_t first, std::size_t count, SlotHistories&, std::uint32_t* slots) const override {
      std::copy_n(all_.begin() + static_cast<std::ptrdiff_t>(first), count, slots);
    }

   private:
    const std::vector<std::uint32_t>& all_;
  };
  const std::uint64_t counters = (std::uint64_t{1} << 27) + 12345;
  const std::unique_ptr<std::uint64_t, decltype(&std::free)> memory(
      static_cast<std::uint64_t*>(std::calloc(counters, sizeof(std::uint64_t))), &std::free);
  ASSERT_NE(memory, nullptr);
  const std::span<std::uint64_t> totals(memory.get(), counters);
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> slots(200'001);
  // Few places, so that few pages of the counters are written.
  for (std::uint32_t& slot : slots) slot = static_cast<std::uint32_t>(random() % 500 * (counters / 500) + random() % 3);
  slots.back() = static_cast<std::uint32_t>(counters - 1);
  std::map<std::uint32_t, std::uint64_t> expected;
  for (const std::uint32_t slot : slots) ++expected[slot];
  for (const unsigned threads : {1U, 2U}) {
    const Threads limit(threads);
    PartCounter::make({counters, 1})->count(Slots(slots), slots.size(), totals);
    for (const auto& [slot, times] : expected) ASSERT_EQ(totals[slot], times * threads) << slot;
  }
}

// Edges of all shapes, with the edges themselves and their neighbours among the values.
template <class T>
void expect_edges(const std::vector<double>& edges, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> data;
  const T inf = std::numeric_limits<T>::infinity();
  for (const double e : edges) {
    const auto x = static_cast<T>(e);
    data.insert(data.end(), {x, std::nextafter(x, inf), std::nextafter(x, -inf)});
  }
  data.insert(data.end(), {T{0}, -T{0}, inf, -inf, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::lowest(), std::numeric_limits<T>::denorm_min()});
  const std::size_t special = data.size();
  while (data.size() < 100 * edges.size() + 20'000) {
    const T a = data[random() % special];
    const T b = data[random() % special];
    const T mixed = a + (b - a) * static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53);
    data.push_back(random() % 4 == 0 ? a : mixed);
  }
  std::shuffle(data.begin(), data.end(), random);
  for (const bool right_open : {false, true}) {
    const BinRule rule(Bins::edges(edges), dtype_of<T>, right_open);
    std::vector<std::uint64_t> expected(rule.n + extra_slots);
    for (const T x : data) {
      const auto v = static_cast<double>(x);
      std::uint64_t slot = 0;
      if (std::isnan(v)) {
        slot = rule.n + slot_nan;
      } else if (v < edges.front()) {
        slot = rule.n + slot_below;
      } else if (v > edges.back() || (right_open && v == edges.back())) {
        slot = rule.n + slot_above;
      } else {
        slot = static_cast<std::uint64_t>(std::upper_bound(edges.begin(), edges.end() - 1, v) - edges.begin()) - 1;
      }
      ++expected[slot];
    }
    for (const Strategy strategy : {Strategy::automatic, Strategy::global, Strategy::partitioned}) {
      ASSERT_EQ(count(data, rule, strategy), expected)
          << to_string(dtype_of<T>) << " edges " << edges.size() << " seed " << seed << ' ' << to_string(strategy);
    }
  }
}

TEST(HistogramCpu, GuidesToEdgesOfEveryShape) {
  std::mt19937_64 random(4);
  const auto part = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::uint64_t seed = 0;
  const auto both = [&](std::vector<double> edges) {
    std::sort(edges.begin(), edges.end());
    expect_edges<float>(edges, ++seed);
    expect_edges<double>(edges, seed);
  };
  const double inf = std::numeric_limits<double>::infinity();
  both({0, 1});
  both({-inf, inf});
  both({-inf, -1, 0, 2, inf});
  both({3, 3});
  both({-0.0, 0.0, 0.0, 1});
  both({-1e308, -1, 1e-320, 1e-310, 5, 1e308});
  both({1e-45, 3e-45, 1e-40, 1e-38});
  for (const std::size_t n : {2, 9, 100, 1000, 3000}) {
    std::vector<double> even, uneven, ratios, near, clusters;
    for (std::size_t i = 0; i <= n; ++i) {
      const double at = static_cast<double>(i) / static_cast<double>(n);
      even.push_back(at * 10 - 3);
      uneven.push_back(part() * 10 - 3);
      ratios.push_back(std::pow(10, 20 * at - 10) * (i % 2 == 0 ? 1 : -1));
      near.push_back(1e6 + at);
      clusters.push_back(std::floor(part() * 4) * 1e9 + std::floor(part() * 50));
    }
    both(even);
    both(uneven);
    both(ratios);
    both(near);
    both(clusters);
  }
}

// Enough values for cells of every size; what the first ones are like says nothing of the others.
TEST(HistogramCpu, CellsOfManyValues) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::mt19937_64 random(12);
  const auto part = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto expect = [&]<class T>(T, std::vector<double> edges, const std::vector<double>& values, bool right_open) {
    std::sort(edges.begin(), edges.end());
    std::vector<T> data;
    for (const double value : values) data.push_back(static_cast<T>(value));
    const BinRule rule(Bins::edges(edges), dtype_of<T>, right_open);
    std::vector<std::uint64_t> expected((rule.n + extra_slots));
    for (const T value : data) ++expected[rule.slot(static_cast<double>(value))];
    ASSERT_EQ(count(data, rule, Strategy::automatic), expected)
        << to_string(dtype_of<T>) << ' ' << edges.size() << " edges, " << right_open;
  };
  const auto of_each_type = [&](const std::vector<double>& edges, const std::vector<double>& values) {
    for (const bool right_open : {false, true}) {
      expect(float{}, edges, values, right_open);
      expect(double{}, edges, values, right_open);
    }
  };
  const std::size_t size = 300'001;
  std::vector<double> uniform, integers, wide, runs, changing;
  for (std::size_t i = 0; i < size; ++i) {
    uniform.push_back(part() * 1.02 - 0.01);
    integers.push_back(std::floor(part() * 40));
    wide.push_back(i % 50 == 0 ? std::nan("") : (i % 3 == 0 ? -1 : 1) * std::pow(10, part() * 70 - 35));
    runs.push_back(i % 700 < 400 && i > 0 ? runs.back() : part());
    changing.push_back(i < size / 2 ? part() : i % 2 == 0 ? 0.5 : std::nan(""));
  }
  wide[0] = inf;
  wide[1] = -inf;
  std::vector<double> few{-inf, 0, 0.25, 0.5, 0.5, 0.75, 1, inf};
  std::vector<double> whole, random_few, random_many, ratios, tiny, close;
  for (int i = 0; i <= 30; ++i) whole.push_back(i);
  for (int i = 0; i <= 120; ++i) random_few.push_back(part());
  for (int i = 0; i <= 900; ++i) random_many.push_back(part());
  for (int i = -200; i <= 200; ++i) ratios.push_back((i < 0 ? -1 : 1) * std::pow(1.4, std::abs(i)) * 1e-20);
  for (int i = 0; i <= 90; ++i) tiny.push_back(i * 5e-324);
  for (int i = 0; i <= 5000; ++i) close.push_back(0.5 + i * 0x1p-40);
  for (const auto* edges : {&few, &whole, &random_few, &random_many, &ratios, &tiny, &close}) {
    for (const auto* values : {&uniform, &integers, &wide, &runs, &changing}) of_each_type(*edges, *values);
  }
  // Integers of 32 and 64 bits are compared as f64.
  expect(std::int32_t{}, random_few, integers, false);
  expect(std::int64_t{}, whole, integers, false);
  expect(std::uint64_t{}, {0, 3.5, 7, 20, 1e19}, integers, true);
}

// As many steps as the tree in registers takes, and more. Values lie at edges and next to them, in f32 and in f64.
template <class T>
void expect_steps(const std::vector<double>& edges, std::mt19937_64& random, std::size_t size) {
  std::vector<T> special;
  const T inf = std::numeric_limits<T>::infinity();
  for (const double e : edges) {
    const auto x = static_cast<T>(e);
    const auto near = static_cast<float>(e);
    special.insert(special.end(), {x, std::nextafter(x, inf), std::nextafter(x, -inf), static_cast<T>(near),
                                   static_cast<T>(std::nextafter(near, std::numeric_limits<float>::infinity())),
                                   static_cast<T>(std::nextafter(near, -std::numeric_limits<float>::infinity()))});
  }
  special.insert(special.end(), {T{0}, -T{0}, inf, -inf, std::numeric_limits<T>::quiet_NaN(),
                                 std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest(),
                                 std::numeric_limits<T>::denorm_min(), -std::numeric_limits<T>::denorm_min()});
  std::vector<T> data(size + 1);
  for (std::size_t i = 0; i < size + 1; ++i) {
    const double at = static_cast<double>(random() >> 11) * 0x1p-53;
    data[i] = random() % 4 == 0 ? special[random() % special.size()]
                                : static_cast<T>(edges.front() + (edges.back() - edges.front()) * at);
    if (i / 4096 % 3 == 2 && i % 600 != 0) data[i] = data[i - 1];  // runs
  }
  for (const bool right_open : {false, true}) {
    const BinRule rule(Bins::edges(edges), dtype_of<T>, right_open);
    std::vector<std::uint64_t> expected((rule.n + extra_slots));
    for (std::size_t i = 1; i < data.size(); ++i) ++expected[rule.slot(static_cast<double>(data[i]))];
    const auto kept = std::make_shared<const BinRule>(rule);
    Counter counter(kept, 1, Strategy::automatic);
    std::vector<std::uint64_t> totals((rule.n + extra_slots));
    counter.count(ArrayView(std::span<const T>(data).subspan(1)), totals);
    ASSERT_EQ(totals, expected) << to_string(dtype_of<T>) << ", edges: " << edges.size() << ", size: " << size;
  }
}

TEST(HistogramCpu, StepsOfEveryNumber) {
  std::mt19937_64 random(13);
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (std::size_t n = 2; n <= 260; n += n < 132 ? 1 : n < 250 ? 10 : 1) {
    std::vector<double> any(n), whole(n), huge(n);
    for (std::size_t i = 0; i < n; ++i) {
      any[i] = static_cast<double>(random() >> 11) * 0x1p-53 - 0.3;
      whole[i] = static_cast<double>(i) - 5;
      huge[i] = std::ldexp(any[i], static_cast<int>(random() % 300)) * (random() % 2 == 0 ? 1 : 1e-45);
    }
    if (n > 4) any[0] = -inf, any[1] = inf, any[2] = 0;
    for (std::vector<double>* edges : {&any, &whole, &huge}) {
      std::sort(edges->begin(), edges->end());
      if (std::isinf(edges->front())) edges->front() = -1;
      const std::size_t size = (std::size_t{1} << 15) + random() % 600;
      expect_steps<float>(*edges, random, size);
      expect_steps<double>(*edges, random, size);
    }
  }
  for (std::size_t size = 0; size < 600; size += 37) expect_steps<double>({0, 0.1, 0.25, 3}, random, size);
  // A counter of 16 bits would overflow: more than 2^16 equal pairs, but never a block of equal values.
  std::vector<float> alike(std::size_t{1} << 19, 0.5F);
  for (std::size_t i = 0; i < alike.size(); i += 200) alike[i] = 2;
  const Threads limit(1);
  std::vector<double> hundred(100);
  std::iota(hundred.begin(), hundred.end(), 0);
  const BinRule rule(Bins::edges(hundred), Dtype::f32, false);
  const std::uint64_t others = (alike.size() + 199) / 200;
  const std::vector<std::uint64_t> totals = count(alike, rule, Strategy::automatic);
  EXPECT_EQ(totals[0], alike.size() - others);
  EXPECT_EQ(totals[2], others);
}

// Blocks of 64 bytes with one value, two (in any order) or three, at every alignment and of every length.
TEST(HistogramCpu, BytesInBlocksOfFewValues) {
  std::mt19937_64 random(11);
  std::vector<std::uint8_t> bytes(64 * 400);
  for (std::size_t block = 0; block < bytes.size(); block += 64) {
    const std::uint8_t values[] = {static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random()),
                                   static_cast<std::uint8_t>(random())};
    const std::uint64_t kinds = 1 + random() % 3;
    const std::size_t end = random() % 65;  // of a run, where the values are not mixed
    const bool mixed = random() % 2 == 0;
    for (std::size_t k = 0; k < 64; ++k) bytes[block + k] = values[mixed ? random() % kinds : k < end ? 0 : kinds - 1];
  }
  const BinRule rule(Bins::integers(256), Dtype::u8, false);
  for (std::size_t trial = 0; trial < 600; ++trial) {
    const std::size_t first = random() % 200;
    const std::size_t length = trial < 300 ? trial : random() % (bytes.size() - first);
    const std::vector<std::uint8_t> data(bytes.begin() + static_cast<std::ptrdiff_t>(first),
                                         bytes.begin() + static_cast<std::ptrdiff_t>(first + length));
    std::vector<std::uint64_t> expected((rule.n + extra_slots));
    for (const std::uint8_t value : data) ++expected[value];
    ASSERT_EQ(count(data, rule, Strategy::automatic), expected) << first << ' ' << length;
  }
}

// So many that whole blocks are counted by their bits, where the processor can, between runs of all lengths.
TEST(HistogramCpu, ManyBytes) {
  std::mt19937_64 random(12);
  const BinRule rule(Bins::integers(256), Dtype::u8, false);
  for (const std::uint64_t kinds : {1U, 2U, 3U, 9U, 256U}) {
    for (const std::uint64_t longest : {1U, 40U, 5'000U, 300'000U}) {
      std::vector<std::uint8_t> data((std::size_t{3} << 20) + 4'219);
      std::vector<std::uint64_t> expected((rule.n + extra_slots));
      for (std::size_t i = 0; i < data.size();) {
        const auto value = static_cast<std::uint8_t>(255 - random() % kinds);
        for (std::uint64_t left = 1 + random() % longest; left != 0 && i < data.size(); --left) {
          data[i++] = value;
          ++expected[value];
        }
      }
      ASSERT_EQ(count(data, rule, Strategy::automatic), expected) << kinds << ' ' << longest;
    }
  }
  for (const unsigned channels : {2U, 3U, 4U, 5U}) {
    std::vector<std::uint8_t> data(std::size_t{channels} * 400'003);
    const auto kept = std::make_shared<const BinRule>(rule);
    Counter counter(kept, channels, Strategy::automatic);
    std::vector<std::uint64_t> totals((rule.n + extra_slots) * channels);
    std::vector<std::uint64_t> expected(totals.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::uint8_t>(random() % (50 * (1 + i % channels)));
      ++expected[i % channels * (rule.n + extra_slots) + data[i]];
    }
    counter.count(ArrayView(data), totals);
    ASSERT_EQ(totals, expected) << channels;
  }
}

TEST(HistogramCpu, SmallPiecesOfManyBins) {
  const BinRule rule(Bins::even(300'000, 0, 1), Dtype::f64, false);
  const auto kept = std::make_shared<const BinRule>(rule);
  Counter counter(kept, 1, Strategy::automatic);
  std::vector<std::uint64_t> totals((rule.n + extra_slots));
  std::vector<std::uint64_t> expected(totals.size());
  std::mt19937_64 random(6);
  for (const std::size_t size : {1U, 3U, 1000U, 70'000U, 200'000U}) {
    std::vector<double> data(size);
    for (double& x : data) {
      x = static_cast<double>(random() >> 11) * 0x1p-53;
      ++expected[rule.slot(x)];
    }
    counter.count(ArrayView(data), totals);
    ASSERT_EQ(totals, expected) << size;
  }
}

TEST(HistogramCpu, StrategiesThatTheCpuLacksAreRefused) {
  const std::vector<std::uint8_t> data(10);
  const BinRule rule(Bins::integers(256), Dtype::u8, false);
  MASU_EXPECT_ERROR(count(data, rule, Strategy::local), unsupported, "strategy local needs local memory");
  MASU_EXPECT_ERROR(count(data, rule, Strategy::packed), unsupported, "strategy packed needs local memory");
  const BinRule wide(Bins::integers(20'000'000), Dtype::u32, false);
  MASU_EXPECT_ERROR(Counter(std::make_shared<const BinRule>(wide), 1, Strategy::lanes), unsupported, "lanes holds");
  MASU_EXPECT_ERROR(Counter(std::make_shared<const BinRule>(wide), 1, Strategy::private_), unsupported,
                    "private holds");
}

}  // namespace
}  // namespace masu::cpu
