// SPDX-License-Identifier: Apache-2.0
// Calls that are made up: every function with options, data, dtypes and distributions by chance, against one process
// with all the data. --gtest_repeat=N makes others each time.
#include "all_dtypes.h"
#include "test_calls.h"

#include <gtest/gtest.h>
#include <masu/mpi.h>

#include <array>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace masu::mpi::test {
namespace {

// The elements of all ranks.
struct Data {
  Data(Dtype type, std::size_t n) : dtype(type), count(n), bytes(n * size_of(type)) {}

  [[nodiscard]] ArrayView view() const { return {dtype, bytes.data(), count}; }
  [[nodiscard]] MutableArrayView all() { return {dtype, bytes.data(), count}; }
  // Of this rank.
  [[nodiscard]] std::span<const std::byte> bytes_of_part(const Cuts& cuts) const {
    const auto r = static_cast<std::size_t>(rank());
    return std::span(bytes).subspan(cuts[r] * size_of(dtype), (cuts[r + 1] - cuts[r]) * size_of(dtype));
  }
  [[nodiscard]] Part part(const Cuts& cuts) const {
    const std::span<const std::byte> mine = bytes_of_part(cuts);
    return {Device::open("cpu"), {dtype, mine.data(), mine.size() / size_of(dtype)}};
  }

  Dtype dtype;
  std::size_t count;
  std::vector<std::byte> bytes;
};

// Every rank has the same one, and makes the same calls.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool coin() { return below(2) == 0; }
  Dtype dtype() { return masu::all_dtypes[below(masu::all_dtypes.size())]; }
  double real(double lo, double hi) { return lo + (hi - lo) * static_cast<double>(random_() >> 11) * 0x1p-53; }

  Cuts cuts(std::size_t n) {
    Cuts cuts(static_cast<std::size_t>(ranks()) + 1, n);
    for (std::size_t& one : cuts) one = coin() ? below(n + 1) : coin() ? 0 : n;
    cuts.front() = 0;
    cuts.back() = n;
    std::sort(cuts.begin(), cuts.end());
    return cuts;
  }
  Data data(Dtype dtype, std::size_t n) {
    Data x(dtype, n);
    const std::uint64_t kind = below(5);
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t bits = random_();
        T one = from_bits<T>(bits % 5 << (8 * sizeof(T) - 3));
        if (kind == 0 || (kind == 1 && bits % 16 == 0)) one = from_bits<T>(random_());
        else if constexpr (is_float(dtype_of<T>) && sizeof(T) == 2)
          one = T{static_cast<std::uint16_t>(0x3c00 + bits % 0x800)};
        else if (kind != 2) one = static_cast<T>(bits % (kind == 3 ? 7 : 120));
        std::memcpy(x.bytes.data() + i * sizeof(T), &one, sizeof(T));
      }
    });
    if (coin()) masu::sort(Device::open("cpu"), x.all(), {.order = coin() ? Order::ascending : Order::descending});
    return x;
  }
  Bins bins() {
    const double lo = real(-2, 60);
    const double hi = lo + real(0, 80);
    switch (below(6)) {
      case 0: return Bins::even(1 + below(300));
      case 1: return Bins::even(1 + below(300), lo, hi);
      case 2: return Bins::logarithmic(1 + below(30), 0.5 + below(3), 4 + hi);
      case 3: return Bins::integers(1 + below(200));
      case 4: return Bins::automatic(static_cast<Estimator>(below(8)), lo, hi);
      default: break;
    }
    std::vector<double> edges(2 + below(40));
    for (double& edge : edges) edge = coin() ? static_cast<double>(below(100)) : real(-5, 130);
    std::sort(edges.begin(), edges.end());
    return Bins::edges(edges);
  }
  int root() { return static_cast<int>(below(static_cast<std::uint64_t>(ranks()) + 1)) - 1; }

 private:
  std::mt19937_64 random_;
};

// Compares on the ranks that have the result.
template <class F, class G>
void expect_same_at(int root, const std::string& what, const F& distributed, const G& alone) {
  SCOPED_TRACE(what + ", root " + std::to_string(root));
  const detail::Bytes found = outcome(distributed);
  const detail::Bytes expected = outcome(alone);
  if (root == all_ranks || root == rank() || expected.size() == 1) EXPECT_EQ(found, expected);
}

void histograms(Chance& chance, const Data& x, const Part& mine, const Cuts& cuts) {
  const Device cpu = Device::open("cpu");
  const int root = chance.root();
  const Outside outside = chance.coin() ? Outside::clamp : Outside::drop;
  const HistogramOptions options{.right_open = chance.coin(), .outside = outside};
  const Bins bins = chance.bins();
  expect_same_at(
      root, "histogram", [&] { return histogram(MPI_COMM_WORLD, mine, bins, options, root); },
      [&] { return masu::histogram(cpu, x.view(), bins, options); });
  const std::size_t columns = 1 + chance.below(3);
  std::vector<Bins> each;
  std::vector<Data> data;
  std::vector<Part> parts;
  std::vector<ArrayView> views;
  for (std::size_t d = 0; d < columns; ++d) {
    each.push_back(chance.coin() ? Bins::even(1 + chance.below(9)) : Bins::edges({0, 1, 1, 3, 50}));
    data.push_back(chance.data(x.dtype, x.count));
  }
  for (const Data& column : data) {
    parts.push_back(column.part(cuts));
    views.push_back(column.view());
  }
  expect_same_at(
      root, "joint_histogram", [&] { return joint_histogram(MPI_COMM_WORLD, parts, each, options, root); },
      [&] { return masu::joint_histogram(cpu, views, each, options); });
  const WeightedOptions weighting{
      .right_open = options.right_open, .outside = outside, .variances = chance.coin(), .wrap = chance.coin()};
  const Data weights = chance.data(chance.dtype(), x.count);
  expect_same_at(
      root, "weighted_histogram",
      [&] { return weighted_histogram(MPI_COMM_WORLD, parts, weights.part(cuts), each, weighting, root); },
      [&] {
        if (columns == 1) return masu::weighted_histogram(cpu, views[0], weights.view(), each[0], weighting);
        return masu::weighted_joint_histogram(cpu, views, weights.view(), each, weighting);
      });
}

void totals(Chance& chance, const Data& x, const Part& mine, const Cuts& cuts) {
  const Device cpu = Device::open("cpu");
  const int root = chance.root();
  const SumOptions options{.result = std::array{Dtype::f64, Dtype::f32, Dtype::f16}[chance.below(3)],
                           .ddof = chance.below(3)};
  const auto check = [&](const char* name, auto distributed, auto alone) {
    expect_same_at(
        root, name, [&] { return distributed(MPI_COMM_WORLD, mine, options, root); },
        [&] { return alone(cpu, x.view(), options); });
  };
#define MASU_CHECK(function) \
  check(                     \
      #function, [](auto&&... a) { return function(a...); }, [](auto&&... a) { return masu::function(a...); })
  MASU_CHECK(sum);
  MASU_CHECK(mean);
  MASU_CHECK(norm2);
  MASU_CHECK(variance);
  MASU_CHECK(standard_deviation);
#undef MASU_CHECK
  const Data y = chance.data(x.dtype, x.count);
  expect_same_at(
      root, "dot", [&] { return dot(MPI_COMM_WORLD, x.part(cuts), y.part(cuts), options, root); },
      [&] { return masu::dot(cpu, x.view(), y.view(), options); });
  const ReduceOptions reducing{.nan = chance.coin() ? NanPolicy::skip : NanPolicy::propagate};
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max, ReduceOp::minmax, ReduceOp::count_nonzero}) {
    expect_same_at(
        root, "reduce", [&] { return reduce(MPI_COMM_WORLD, mine, op, reducing, root); },
        [&] { return masu::reduce(cpu, x.view(), op, reducing); });
  }
}

void selections(Chance& chance, const Data& x, const Part& mine) {
  const Device cpu = Device::open("cpu");
  const int root = chance.root();
  std::vector<double> q(chance.below(5));
  for (double& one : q) one = chance.coin() ? static_cast<double>(chance.below(5)) / 4 : chance.real(0, 1);
  const QuantileOptions options{.method = static_cast<QuantileMethod>(chance.below(13))};
  std::optional<Sampled> sampled;
  if (chance.coin()) sampled.emplace(1 + chance.below(2000));
  expect_same_at(
      root, "quantiles", [&] { return exact_quantiles(MPI_COMM_WORLD, mine, q, options, root); },
      [&] { return masu::exact_quantiles(cpu, x.view(), q, options); });
  expect_same_at(
      root, "median", [&] { return median(MPI_COMM_WORLD, mine, root); }, [&] { return masu::median(cpu, x.view()); });
  const TopkOptions top{.largest = chance.coin(), .nan = chance.coin() ? NanPolicy::skip : NanPolicy::last};
  const std::uint64_t k = chance.below(chance.coin() ? 20 : x.count + 2);
  expect_same_at(
      root, "topk", [&] { return topk(MPI_COMM_WORLD, mine, k, top, root); },
      [&] { return masu::topk(cpu, x.view(), k, top); });
  expect_same_at(
      root, "unique", [&] { return unique(MPI_COMM_WORLD, mine, root); }, [&] { return masu::unique(cpu, x.view()); });
}

// What `work` writes, or the code of its error.
template <class F>
std::vector<std::byte> written(std::vector<std::byte> bytes, const F& work) {
  return outcome([&] {
    work(bytes);
    return bytes;
  });
}

void orders(Chance& chance, const Data& x, const Part& mine, const Cuts& cuts) {
  const Device cpu = Device::open("cpu");
  const std::span<const std::byte> part = x.bytes_of_part(cuts);
  const std::vector<std::byte> my_bytes(part.begin(), part.end());
  const ScanOptions scanning{.op = static_cast<ScanOp>(chance.below(3)), .exclusive = chance.coin()};
  Data scanned = x;
  const auto scan_alone = [&](std::vector<std::byte>& to) {
    masu::scan(cpu, x.view(), scanned.all(), scanning);
    to.assign(scanned.bytes_of_part(cuts).begin(), scanned.bytes_of_part(cuts).end());
  };
  const auto scan_all = [&](std::vector<std::byte>& to) {
    scan(MPI_COMM_WORLD, mine, MutableArrayView(x.dtype, to.data(), mine.count()), scanning);
  };
  EXPECT_EQ(written(my_bytes, scan_all), written(my_bytes, scan_alone)) << "scan";

  const SortOptions options{.order = chance.coin() ? Order::ascending : Order::descending};
  std::vector<std::uint64_t> places(x.count);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  Data sorted = x;
  masu::sort_by_key(cpu, sorted.all(), RecordsView(places), options);
  const std::span<const std::byte> share = sorted.bytes_of_part(cuts);
  const std::vector<std::byte> expected(share.begin(), share.end());
  const std::span<const std::uint64_t> my_places = part_of(places, cuts);
  std::vector<std::uint64_t> order(mine.count());
  argsort(MPI_COMM_WORLD, mine, order, options);
  EXPECT_TRUE(std::ranges::equal(order, my_places)) << "argsort";

  const std::size_t size = 1 + chance.below(9);  // of a value: its place, cut short
  const auto first_bytes = [&](std::span<const std::uint64_t> numbers) {
    std::vector<std::byte> result(numbers.size() * size);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::memcpy(result.data() + i * size, &numbers[i], std::min(size, sizeof numbers[i]));
    }
    return result;
  };
  std::iota(order.begin(), order.end(), cuts[static_cast<std::size_t>(rank())]);
  std::vector<std::byte> values = first_bytes(order);
  std::vector<std::byte> keys = my_bytes;
  sort_by_key(MPI_COMM_WORLD, std::nullopt, MutableArrayView(x.dtype, keys.data(), mine.count()),
              RecordsView(values.data(), size, mine.count()), options);
  EXPECT_EQ(keys, expected) << "sort_by_key";
  EXPECT_EQ(values, first_bytes(my_places)) << "sort_by_key";
  Buffer<std::byte> here = cpu.upload(part);
  sort(MPI_COMM_WORLD, here, x.dtype, options);
  EXPECT_EQ(here.read(), expected) << "sort";
}

TEST(MpiRandom, Calls) {
  static std::uint64_t seed = 0;
  const int rounds = std::getenv("MASU_TEST_LONG") != nullptr ? 400 : 20;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    Chance chance(++seed);
    const Dtype dtype = chance.dtype();
    const Data x = chance.data(dtype, chance.below(chance.coin() ? 12 : 3000));
    const Cuts cuts = chance.cuts(x.count);
    SCOPED_TRACE(std::string(to_string(dtype)) + ", " + std::to_string(x.count) + " elements, seed " +
                 std::to_string(seed));
    const bool on_device = chance.coin() && rank() % 2 == 0;
    const Buffer<std::byte> there = Device::open("cpu").upload(x.bytes_of_part(cuts));
    const Part mine = on_device ? Part(there, dtype) : x.part(cuts);
    histograms(chance, x, mine, cuts);
    totals(chance, x, mine, cuts);
    selections(chance, x, mine);
    orders(chance, x, mine, cuts);
  }
}

}  // namespace
}  // namespace masu::mpi::test
