// SPDX-License-Identifier: Apache-2.0
// Every function but the sums (sum_test.cpp), against one process with all the data, bit for bit.
#include "expect_error.h"
#include "test_calls.h"

#include <gtest/gtest.h>
#include <masu/mpi.h>

#include <limits>
#include <numeric>
#include <utility>

namespace masu::mpi::test {
namespace {

template <class T>
class MpiFunctions : public testing::Test {};
// Of each size and kind; random_test.cpp has all.
using AllTypes = testing::Types<std::uint8_t, std::int64_t, Half, float>;
TYPED_TEST_SUITE(MpiFunctions, AllTypes);

TYPED_TEST(MpiFunctions, Extremes) {
  const Device cpu = Device::open("cpu");
  each_distribution<TypeParam>({0, 1, 1009}, [&](const std::vector<TypeParam>& x, const Cuts& cuts) {
    const Part mine(part_of(x, cuts));
    expect_same(
        "reduce", [&] { return reduce(MPI_COMM_WORLD, mine, ReduceOp::minmax, {.nan = NanPolicy::skip}); },
        [&] { return masu::reduce(cpu, ArrayView(x), ReduceOp::minmax, {.nan = NanPolicy::skip}); });
    expect_same(
        "max", [&] { return reduce(MPI_COMM_WORLD, mine, ReduceOp::max); },
        [&] { return masu::reduce(cpu, ArrayView(x), ReduceOp::max); });
    EXPECT_EQ(count_nonzero(MPI_COMM_WORLD, mine), masu::count_nonzero(x));
    EXPECT_EQ(count(MPI_COMM_WORLD, mine), x.size());
  });
}

TYPED_TEST(MpiFunctions, Histograms) {
  const Device cpu = Device::open("cpu");
  each_distribution<TypeParam>({0, 1, 1009}, [&](const std::vector<TypeParam>& x, const Cuts& cuts) {
    const Part mine(part_of(x, cuts));
    for (const Bins& bins : {Bins::even(100), Bins::edges({-1, 0, 0, 99})}) {
      expect_same(
          "histogram", [&] { return histogram(MPI_COMM_WORLD, mine, bins); },
          [&] { return masu::histogram(cpu, ArrayView(x), bins); });
    }
    const Bins bins = Bins::even(5, 0, 50);
    const Histogram at_root = histogram(MPI_COMM_WORLD, mine, bins, {.outside = Outside::clamp}, ranks() - 1);
    EXPECT_EQ(at_root.n(), rank() == ranks() - 1 ? x.size() : 0);
    const Part both[] = {mine, mine};
    const Bins each[] = {Bins::even(3), Bins::even(4, 0, 10)};
    const ArrayView alone[] = {ArrayView(x), ArrayView(x)};
    expect_same(
        "joint_histogram", [&] { return joint_histogram(MPI_COMM_WORLD, both, each); },
        [&] { return masu::joint_histogram(cpu, alone, each); });
    const WeightedOptions options{.variances = true, .wrap = true};
    expect_same(
        "weighted_histogram", [&] { return weighted_histogram(MPI_COMM_WORLD, mine, mine, bins, options); },
        [&] { return masu::weighted_histogram(cpu, ArrayView(x), ArrayView(x), bins, options); });
  });
}

// Of the rules one of each kind: by moments, by quartiles, by counting candidates.
TYPED_TEST(MpiFunctions, BinsOfRules) {
  const Device cpu = Device::open("cpu");
  std::vector<TypeParam> x(300);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<TypeParam>(i * i % 97);
  const std::size_t mine = x.size() / static_cast<std::size_t>(ranks());
  const std::size_t first = static_cast<std::size_t>(rank()) * mine;
  const bool last = rank() == ranks() - 1;
  const std::span<const TypeParam> part(x.data() + first, last ? x.size() - first : mine);
  for (const Bins& bins : {Bins::automatic(Estimator::doane), Bins::automatic(Estimator::automatic, 0, 50),
                           Bins::automatic(Estimator::fd), Bins::automatic(Estimator::stone)}) {
    expect_same(
        "histogram", [&] { return histogram(MPI_COMM_WORLD, Part(part), bins); },
        [&] { return masu::histogram(cpu, ArrayView(x), bins); });
  }
}

TYPED_TEST(MpiFunctions, Selections) {
  const Device cpu = Device::open("cpu");
  const std::vector<double> q{0, 0.25, 0.5, 0.99, 1};
  each_distribution<TypeParam>({0, 2, 1009}, [&](const std::vector<TypeParam>& x, const Cuts& cuts) {
    const Part mine(part_of(x, cuts));
    expect_same(
        "quantiles", [&] { return exact_quantiles(MPI_COMM_WORLD, mine, q); },
        [&] { return masu::exact_quantiles(cpu, ArrayView(x), q); });
    const Sampled sampled(cuts[1] % 2 == 0 ? 30 : 600);
    expect_same(
        "quantiles by a sample", [&] { return exact_quantiles(MPI_COMM_WORLD, mine, q); },
        [&] { return masu::exact_quantiles(cpu, ArrayView(x), q); });
    for (const std::uint64_t places : {detail::exact_places, std::uint64_t{0}}) {
      const std::uint64_t before = std::exchange(detail::exact_places, places);
      expect_same(
          "median", [&] { return median(MPI_COMM_WORLD, mine); }, [&] { return masu::median(cpu, ArrayView(x)); });
      detail::exact_places = before;
    }
    for (const std::uint64_t k : {1, 17}) {
      const TopkOptions options{.largest = k == 1, .nan = k == 1 ? NanPolicy::last : NanPolicy::skip};
      expect_same(
          "topk", [&] { return topk(MPI_COMM_WORLD, mine, k, options); },
          [&] { return masu::topk(cpu, ArrayView(x), k, options); });
    }
    expect_same(
        "unique", [&] { return unique(MPI_COMM_WORLD, mine); }, [&] { return masu::unique(cpu, ArrayView(x)); });
  });
}

TYPED_TEST(MpiFunctions, Scans) {
  const Device cpu = Device::open("cpu");
  each_distribution<TypeParam>({0, 2, 1009}, [&](const std::vector<TypeParam>& x, const Cuts& cuts) {
    const std::span<const TypeParam> mine = part_of(x, cuts);
    for (const ScanOptions& options :
         {ScanOptions{}, ScanOptions{.op = ScanOp::min}, ScanOptions{.op = ScanOp::max, .exclusive = true}}) {
      const std::vector<TypeParam> all = masu::scan(cpu, x, options);
      expect_same(
          "scan",
          [&] {
            std::vector<TypeParam> result(mine.size());
            scan(MPI_COMM_WORLD, mine, result, options);
            return result;
          },
          [&] { return part_of(all, cuts); });
    }
  });
}

TYPED_TEST(MpiFunctions, Sorts) {
  const std::uint64_t before = std::exchange(detail::round_bytes, 2048);
  const Device cpu = Device::open("cpu");
  each_distribution<TypeParam>({0, 1, 3, 1009}, [&](const std::vector<TypeParam>& x, const Cuts& cuts) {
    const std::span<const TypeParam> mine = part_of(x, cuts);
    const Order order = x.size() % 2 == cuts[1] % 2 ? Order::ascending : Order::descending;
    std::vector<TypeParam> all = x;
    std::vector<std::uint64_t> places(x.size());
    std::iota(places.begin(), places.end(), std::uint64_t{0});
    std::vector<std::uint64_t> my_places(part_of(places, cuts).begin(), part_of(places, cuts).end());
    masu::sort_by_key(cpu, MutableArrayView(all), RecordsView(places), {.order = order});
    std::vector<TypeParam> found(mine.begin(), mine.end());
    if (order == Order::ascending) {
      sort(MPI_COMM_WORLD, found, {.order = order});
      EXPECT_EQ(bits_of(std::span<const TypeParam>(found)), bits_of(part_of(all, cuts)));
      found.assign(mine.begin(), mine.end());
    }
    sort_by_key(MPI_COMM_WORLD, found, my_places, {.order = order});
    EXPECT_EQ(bits_of(std::span<const TypeParam>(found)), bits_of(part_of(all, cuts)));
    const std::vector<std::uint64_t> expected(part_of(places, cuts).begin(), part_of(places, cuts).end());
    EXPECT_EQ(my_places, expected);
    if (order == Order::ascending) return;
    std::vector<std::uint64_t> indices(mine.size(), 99);
    argsort(MPI_COMM_WORLD, mine, indices, {.order = order});
    EXPECT_EQ(indices, expected);
  });
  detail::round_bytes = before;
}

TEST(MpiFunctionErrors, OfOneRankAreOfAll) {
  const bool last = rank() == ranks() - 1;
  const std::vector<float> x(10, static_cast<float>(rank()));
  const std::string who = ranks() == 1 ? "" : "rank " + std::to_string(ranks() - 1) + ": ";
  std::vector<float> output(last ? 9 : 10);
  MASU_EXPECT_ERROR(scan(MPI_COMM_WORLD, x, output), invalid_argument,
                    who + "mpi: scan: the output must be 10 f32, got 9");
  const std::vector<std::int32_t> narrow(10);
  std::vector<std::int64_t> wide(10);
  MASU_EXPECT_ERROR(scan(MPI_COMM_WORLD, narrow, wide, {.result = Dtype::i64}), invalid_argument,
                    "scan: the result of data that comes in pieces must be i32, got i64");
  std::vector<float> keys = x;
  MASU_EXPECT_ERROR(sort_by_key(MPI_COMM_WORLD, keys, output), invalid_argument, who + "mpi: sort_by_key: there must");
  std::vector<std::uint64_t> indices(output.size());
  MASU_EXPECT_ERROR(argsort(MPI_COMM_WORLD, x, indices), invalid_argument,
                    who + "mpi: argsort: there must be an index");
  const std::vector<std::uint64_t> offsets{0, 3, 7};
  const PreparedSegments ready(Device::open("cpu"), Dtype::f32, 7, offsets);
  std::vector<float> seven(7);
  for (const SortOptions& options : {SortOptions{.rows = 7}, {.segments = offsets}, {.prepared = &ready}}) {
    MASU_EXPECT_ERROR(sort(MPI_COMM_WORLD, seven, options), invalid_argument,
                      "mpi: sort: rows must be 1 and segments none");
  }
  MASU_EXPECT_ERROR(topk(MPI_COMM_WORLD, x, static_cast<std::uint64_t>(10 * ranks() + 1)), invalid_argument,
                    "topk: k must be 1 to " + std::to_string(10 * ranks()));
  MASU_EXPECT_ERROR(weighted_histogram(MPI_COMM_WORLD, x, output, Bins::even(3)), invalid_argument,
                    who + "weighted_histogram");
  MASU_EXPECT_ERROR(histogram(MPI_COMM_WORLD, x, Bins::even(3), {}, ranks()), invalid_argument, "root must be");
  MASU_EXPECT_ERROR(quantiles(MPI_COMM_WORLD, x, std::vector<double>{2}), invalid_argument, "q must be within");
  const std::vector<float> none;
  MASU_EXPECT_ERROR(median(MPI_COMM_WORLD, none), invalid_argument, "there must be data");
  EXPECT_EQ(argmax(MPI_COMM_WORLD, x), static_cast<std::uint64_t>(10 * ranks() - 10));
}

TEST(MpiFunctionErrors, RanksThatDisagree) {
  if (ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const bool last = rank() == ranks() - 1;
  const std::vector<float> x(10, static_cast<float>(rank()));
  const char* const same = "mpi: every rank must make the same call, got ";
  MASU_EXPECT_ERROR(histogram(MPI_COMM_WORLD, x, Bins::even(last ? 3 : 4, 0, 1)), invalid_argument, same);
  MASU_EXPECT_ERROR(histogram(MPI_COMM_WORLD, x, Bins::edges({0, last ? 1.0 : 2.0})), invalid_argument, same);
  MASU_EXPECT_ERROR(histogram(MPI_COMM_WORLD, x, Bins::even(3), {}, last ? 0 : 1), invalid_argument, "root 0");
  MASU_EXPECT_ERROR(topk(MPI_COMM_WORLD, x, last ? 3 : 4), invalid_argument, "k 4");
  MASU_EXPECT_ERROR(quantiles(MPI_COMM_WORLD, x, std::vector<double>{last ? 0.5 : 0.6}), invalid_argument, same);
  std::vector<float> keys = x;
  std::vector<std::uint64_t> indices(10);
  MASU_EXPECT_ERROR(last ? sort(MPI_COMM_WORLD, keys) : argsort(MPI_COMM_WORLD, keys, indices), invalid_argument,
                    "sort(f32");
  MASU_EXPECT_ERROR(sort(MPI_COMM_WORLD, keys, {.order = last ? Order::ascending : Order::descending}),
                    invalid_argument, "descending");
  EXPECT_EQ(max(MPI_COMM_WORLD, x), static_cast<float>(ranks() - 1));
}

// With a root the others have an empty result, a zero or the result of no data; every rank must name the same.
TEST(MpiFunctionRoots, OfEach) {
  const std::vector<float> x{static_cast<float>(rank()), 7, -3};
  const std::vector<double> half{0.5};
  const int last = ranks() - 1;
  const bool here = rank() == last;
  const auto at_root = [&](const auto& call, const auto& of_none) {
    const auto everywhere = call(all_ranks);
    const auto found = call(last);
    if (here) EXPECT_EQ(outcome([&] { return found; }), outcome([&] { return everywhere; }));
    else EXPECT_TRUE(of_none(found));
    MASU_EXPECT_ERROR((void)call(ranks()), invalid_argument, "mpi: root must be all_ranks or 0 to ");
    MASU_EXPECT_ERROR((void)call(-2), invalid_argument, "got -2");
    if (ranks() == 1) return;
    MASU_EXPECT_ERROR((void)call(here ? 0 : last), invalid_argument, "root 0");
    MASU_EXPECT_ERROR((void)call(here ? all_ranks : 0), invalid_argument, "root 0");
  };
  const auto no_rows = [](const SumResult& found) { return found.rows() == 0; };
  at_root([&](int root) { return sum(MPI_COMM_WORLD, x, {}, root); }, no_rows);
  at_root([&](int root) { return dot(MPI_COMM_WORLD, x, x, {}, root); }, no_rows);
  at_root([&](int root) { return mean(MPI_COMM_WORLD, x, {}, root); }, no_rows);
  at_root([&](int root) { return norm2(MPI_COMM_WORLD, x, {}, root); }, no_rows);
  at_root([&](int root) { return variance(MPI_COMM_WORLD, x, {}, root); }, no_rows);
  at_root([&](int root) { return standard_deviation(MPI_COMM_WORLD, x, {}, root); }, no_rows);
  at_root([&](int root) { return reduce(MPI_COMM_WORLD, x, ReduceOp::minmax, {}, root); },
          [](const ReduceResult& found) { return found.rows() == 0; });
  const auto number = [](const auto& call) {
    return [&call](int root) { return std::vector{static_cast<double>(call(root))}; };
  };
  const auto zero = [](const std::vector<double>& found) { return found == std::vector<double>{0}; };
  at_root(number([&](int root) { return mpi::min(MPI_COMM_WORLD, x, {}, root); }), zero);
  at_root(number([&](int root) { return mpi::max(MPI_COMM_WORLD, x, {}, root); }), zero);
  at_root(number([&](int root) { return mpi::minmax(MPI_COMM_WORLD, x, {}, root).second; }), zero);
  at_root(number([&](int root) { return argmin(MPI_COMM_WORLD, x, {}, root); }), zero);
  at_root(number([&](int root) { return argmax(MPI_COMM_WORLD, x, {}, root); }), zero);
  at_root(number([&](int root) { return count_nonzero(MPI_COMM_WORLD, x, {}, root); }), zero);
  at_root(number([&](int root) { return count(MPI_COMM_WORLD, x, root); }), zero);
  at_root(number([&](int root) { return median(MPI_COMM_WORLD, x, root); }), zero);
  at_root([&](int root) { return quantiles(MPI_COMM_WORLD, x, half, {}, root); },
          [](const std::vector<double>& found) { return found.empty(); });
  at_root([&](int root) { return exact_quantiles(MPI_COMM_WORLD, x, half, {}, root); },
          [](const std::vector<Quantile>& found) { return found.empty(); });
  at_root([&](int root) { return topk(MPI_COMM_WORLD, x, 2, {}, root); },
          [](const TopkResult& found) { return found.indices().empty(); });
  at_root([&](int root) { return unique(MPI_COMM_WORLD, x, root); },
          [](const UniqueArrays& found) { return found.size() == 0; });
  const Bins bins = Bins::even(3);
  const auto no_counts = [](const auto& found) { return found.n() == 0; };
  at_root([&](int root) { return histogram(MPI_COMM_WORLD, x, bins, {}, root); }, no_counts);
  const Part column(x);
  at_root([&](int root) { return joint_histogram(MPI_COMM_WORLD, {&column, 1}, {&bins, 1}, {}, root); }, no_counts);
  at_root([&](int root) { return weighted_histogram(MPI_COMM_WORLD, x, x, bins, {}, root); },
          [](const WeightedHistogram& found) {
            return std::ranges::all_of(found.totals(), [](double one) { return one == 0; });
          });
}

TEST(MpiDevices, MemoryOfThem) {
  // With --all one rank on an OpenCL device, where kernels are compiled for seconds; the others on the CPU.
  std::string id = "cpu";
  if (rank() == 0 && std::getenv("MASU_TEST_ALL") != nullptr) {
    for (const DeviceInfo& info : Device::list()) {
      if (info.usable && info.kind == DeviceKind::opencl) id = info.id;
    }
  }
  const Device device = Device::open(id);
  const std::vector<float> all = all_data<float>(1009)[0];
  const Cuts cuts = all_cuts(all.size())[0];
  Buffer<float> x = device.upload(part_of(all, cuts));
  const std::vector<double> q{0.1, 0.5};
  const Device cpu = Device::open("cpu");
  EXPECT_EQ(exact_quantiles(MPI_COMM_WORLD, x, q), masu::exact_quantiles(cpu, ArrayView(all), q));
  EXPECT_EQ(histogram(MPI_COMM_WORLD, x, Bins::even(9)), masu::histogram(cpu, all, Bins::even(9)));
  EXPECT_EQ(sum(MPI_COMM_WORLD, x), masu::sum(cpu, ArrayView(all)));
  EXPECT_EQ(argmin(MPI_COMM_WORLD, x), masu::argmin(all));
  sort(MPI_COMM_WORLD, x);
  std::vector<float> sorted = all;
  masu::sort(cpu, sorted);
  const std::vector<float> found = x.read();
  EXPECT_EQ(bits_of(std::span<const float>(found)), bits_of(part_of(sorted, cuts)));
}

TEST(MpiDevices, HostDataOfOneRankAndMemoryOfAnother) {
  const Device cpu = Device::open("cpu");
  const std::vector<float> all = all_data<float>(1009)[0];
  const Cuts cuts = all_cuts(all.size())[0];
  std::vector<float> sorted = all;
  masu::sort(cpu, sorted);
  std::vector<std::uint64_t> places(all.size());
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  std::vector<float> keys = all;
  masu::sort_by_key(cpu, MutableArrayView(keys), RecordsView(places));
  std::vector<float> found(part_of(all, cuts).begin(), part_of(all, cuts).end());
  Buffer<float> x = cpu.upload(part_of(all, cuts));
  const bool here = rank() % 2 == 1;
  std::vector<std::uint64_t> indices(found.size());
  argsort(MPI_COMM_WORLD, here ? Part(found) : Part(x), indices);
  EXPECT_EQ(indices, std::vector<std::uint64_t>(part_of(places, cuts).begin(), part_of(places, cuts).end()));
  std::vector<float> scanned(found.size());
  scan(MPI_COMM_WORLD, here ? Part(found) : Part(x), MutableArrayView(scanned));
  EXPECT_EQ(sum(MPI_COMM_WORLD, here ? Part(found) : Part(x)), masu::sum(cpu, ArrayView(all)));
  if (here) {
    sort(MPI_COMM_WORLD, found);
  } else {
    sort(MPI_COMM_WORLD, x);
    found = x.read();
  }
  EXPECT_EQ(bits_of(std::span<const float>(found)), bits_of(part_of(sorted, cuts)));
}

TEST(MpiFunctionErrors, OfResultsOnOneRankAreOfAll) {
  detail::Call call(MPI_COMM_WORLD, [] { return detail::Text("a result"); });
  const std::string who = ranks() == 1 ? "" : "rank " + std::to_string(ranks() - 1) + ": ";
  const auto make = [] {
    if (rank() == ranks() - 1) throw Error(ErrorCode::unsupported, "too much");
    return 1;
  };
  MASU_EXPECT_ERROR((void)call.finish(make), unsupported, who + "too much");
  // The sum is too great for its type, but only rank 0 has it.
  const std::vector<double> x{0.5};
  const std::vector<std::int64_t> weights{rank() == 0 ? std::numeric_limits<std::int64_t>::max() : 1};
  const auto at_root = [&] { (void)weighted_histogram(MPI_COMM_WORLD, x, weights, Bins::even(1, 0, 1), {}, 0); };
  if (ranks() != 1) MASU_EXPECT_ERROR(at_root(), invalid_argument, "rank 0: ");
}

TEST(MpiFunctionErrors, OtherExceptions) {
  detail::Call call(MPI_COMM_WORLD, [] { return detail::Text("a call"); });
  const std::string who = ranks() == 1 ? "" : "rank " + std::to_string(ranks() - 1) + ": ";
  call.attempt([] {
    if (rank() == ranks() - 1) throw 5;
  });
  MASU_EXPECT_ERROR(call.agree(), interrupted, who + "an exception that is no std::exception");
  detail::Call next(MPI_COMM_WORLD, [] { return detail::Text("the next"); });
  next.attempt([] { throw Error(ErrorCode::io, std::string(5000, 'x')); });
  MASU_EXPECT_ERROR(next.agree(), io, std::string(2047, 'x'));
}

TEST(MpiFunctionErrors, ColumnsOfTwoDtypes) {
  const Device cpu = Device::open("cpu");
  const std::vector<float> floats{1, 2, 3};
  const std::vector<std::int32_t> integers{1, 2, 3};
  const Buffer<float> x = cpu.upload(floats);
  const Buffer<std::int32_t> y = cpu.upload(integers);
  const Bins bins[] = {Bins::even(4, 0, 4), Bins::even(4, 0, 4)};
  const Part here[] = {floats, integers};
  const Part there[] = {x, y};
  for (const std::span<const Part> columns : {std::span<const Part>(here), std::span<const Part>(there)}) {
    MASU_EXPECT_ERROR(joint_histogram(MPI_COMM_WORLD, columns, bins), invalid_argument,
                      "data must be f32 as before, got i32");
    MASU_EXPECT_ERROR(weighted_histogram(MPI_COMM_WORLD, columns, x, bins), invalid_argument,
                      "data must be f32 as before, got i32");
  }
}

TEST(MpiFunctionErrors, LongTextsWithOtherEnds) {
  if (ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const std::vector<float> x(10);
  const std::vector<Part> columns(80, Part(x));
  const std::vector<Bins> bins(80, Bins::even(4, 0, 4));
  MASU_EXPECT_ERROR(joint_histogram(MPI_COMM_WORLD, columns, bins, {}, rank() == ranks() - 1 ? 0 : 1), invalid_argument,
                    "mpi: every rank must make the same call, got joint_histogram(f32, ");
  MASU_EXPECT_ERROR(joint_histogram(MPI_COMM_WORLD, columns, bins, {}, rank() == ranks() - 1 ? 0 : 1), invalid_argument,
                    " with other ends");
  EXPECT_EQ(count(MPI_COMM_WORLD, x), static_cast<std::uint64_t>(10 * ranks()));
}

}  // namespace
}  // namespace masu::mpi::test
