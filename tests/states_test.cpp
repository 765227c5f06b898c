// SPDX-License-Identifier: Apache-2.0
// States: what an accumulator holds as bytes, from which another goes on, on another device too. Bytes that are cut,
// changed or another accumulator's are an Error or a state, never more.
#include "each_device.h"
#include "expect_error.h"

#include <gtest/gtest.h>
#include <masu/masu.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace masu {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
std::vector<T> awkward(std::size_t n, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> x(n);
  for (T& one : x) {
    const std::uint64_t bits = random() % 3 == 0 ? random() : random() % 7 << (8 * sizeof(T) - 4);
    std::memcpy(&one, &bits, sizeof one);
  }
  return x;
}

// Every prefix of the bytes, some changes of one byte, and the bytes of others.
void expect_checked(const Bytes& bytes, const std::function<void(const Bytes&)>& read) {
  EXPECT_NO_THROW(read(bytes));
  const std::size_t step = bytes.size() / 200 + 1;
  for (std::size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : step) {
    MASU_EXPECT_ERROR(read(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))), invalid_argument,
                      "");
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  MASU_EXPECT_ERROR(read(longer), invalid_argument, "");
  for (std::size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : step) {
    for (const int change : {1, 0x80, 0xff}) {
      Bytes changed = bytes;
      changed[at] ^= static_cast<std::byte>(change);
      try {
        read(changed);
      } catch (const Error&) {  // an Error is right, and so is another state
      }
    }
  }
  Bytes later = bytes;
  later[4] = std::byte{9};
  MASU_EXPECT_ERROR(read(later), invalid_argument, "version");
}

std::vector<Bins> all_bins() {
  return {Bins::even(7, -1, 4),       Bins::even(5, ValueRange{0, 3, false}), Bins::even(3, ValueRange{2, 2, true}),
          Bins::edges({-1, 0, 0, 2}), Bins::logarithmic(4, 1, 100),           Bins::even(1, 2, 2)};
}

TEST(States, Bins) {
  std::vector<Bins> all = all_bins();
  all.insert(all.end(), {Bins::even(9), Bins::integers(4), Bins::automatic(Estimator::doane),
                         Bins::automatic(Estimator::fd, 0, 1)});
  for (const Bins& bins : all) {
    const Bytes bytes = bins.bytes();
    EXPECT_EQ(Bins::from_bytes(bytes).bytes(), bytes);
    expect_checked(bytes, [](const Bytes& b) { (void)Bins::from_bytes(b).bytes(); });
    if (!bins.needs_data() && bins.kind() != Bins::Kind::integers) {
      EXPECT_EQ(bin_edges(Bins::from_bytes(bytes), Dtype::f32), bin_edges(bins, Dtype::f32));
    }
  }
}

template <class T>
class StatesOf : public testing::Test {};
using StateTypes = testing::Types<std::uint8_t, std::int32_t, std::uint64_t, Half, Bfloat16, float, double>;
TYPED_TEST_SUITE(StatesOf, StateTypes);

TYPED_TEST(StatesOf, Histograms) {
  const Device cpu = Device::open("cpu");
  const auto x = awkward<TypeParam>(1000);
  const auto y = awkward<TypeParam>(500, 2);
  for (const Bins& bins : all_bins()) {
    for (const bool right_open : {false, true}) {
      const Histogram a = histogram(cpu, x, bins, {.right_open = right_open});
      const Histogram b = histogram(cpu, y, bins, {.right_open = right_open});
      const Histogram back = Histogram::from_bytes(a.bytes());
      EXPECT_EQ(back, a);
      EXPECT_EQ(back.dtype(), a.dtype());
      EXPECT_EQ(back.bytes(), a.bytes());
      Histogram both = back;
      both.merge(Histogram::from_bytes(b.bytes()));
      std::vector<std::int64_t> sum = a.integers();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b.integers()[i];
      EXPECT_EQ(a.with_integers(sum), both);
      EXPECT_EQ(both.n(), 1500);
    }
  }
  const Histogram h = histogram(cpu, x, Bins::even(7, -1, 4));
  expect_checked(h.bytes(), [](const Bytes& b) { (void)Histogram::from_bytes(b).edges(); });
  Histogram given = histogram(cpu, x, Bins::edges({-1, 0, 4}));
  MASU_EXPECT_ERROR(given.merge(histogram(cpu, x, Bins::edges({-1, 1, 4}), {.right_open = true})), invalid_argument,
                    "from -1 to 4, edge 1 0 and 2 bins of " + std::string(to_string(h.dtype())) +
                        " from -1 to 4, edge 1 1, right-open");
  Histogram other = histogram(cpu, x, Bins::even(8, -1, 4));
  MASU_EXPECT_ERROR(other.merge(h), invalid_argument,
                    "8 bins of " + std::string(to_string(h.dtype())) + " from -1 to 4 and 7 bins of");
  MASU_EXPECT_ERROR((void)h.with_integers(std::vector<std::int64_t>(9)), invalid_argument, "10 numbers");
  MASU_EXPECT_ERROR((void)h.with_integers(std::vector<std::int64_t>(10, -1)), invalid_argument, "got -1");
}

TYPED_TEST(StatesOf, JointHistograms) {
  const Device cpu = Device::open("cpu");
  const auto x = awkward<TypeParam>(1000);
  const auto y = awkward<TypeParam>(1000, 2);
  const auto of = [&](const auto& a, const auto& b) {
    return joint_histogram(cpu, {ArrayView(a), ArrayView(b)}, {Bins::even(3, 0, 100), Bins::even(4, -1, 4)});
  };
  const JointHistogram a = of(x, y);
  const JointHistogram b = of(y, x);
  JointHistogram both = JointHistogram::from_bytes(a.bytes());
  EXPECT_EQ(both, a);
  both.merge(JointHistogram::from_bytes(b.bytes()));
  std::vector<std::int64_t> sum = a.integers();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b.integers()[i];
  EXPECT_EQ(a.with_integers(sum), both);
  expect_checked(a.bytes(), [](const Bytes& bytes) { (void)JointHistogram::from_bytes(bytes).edges(0); });
}

TYPED_TEST(StatesOf, RowHistograms) {
  const Device cpu = Device::open("cpu");
  const auto x = awkward<TypeParam>(1200);
  const auto y = awkward<TypeParam>(1200, 2);
  for (const Bins& bins : all_bins()) {
    for (const unsigned channels : {1U, 3U}) {
      const RowHistograms a = row_histograms(cpu, x, 8, bins, {.channels = channels});
      const RowHistograms b = row_histograms(cpu, y, 8, bins, {.channels = channels});
      RowHistograms both = RowHistograms::from_bytes(a.bytes());
      EXPECT_EQ(both, a);
      EXPECT_EQ(both.bytes(), a.bytes());
      both.merge(RowHistograms::from_bytes(b.bytes()));
      std::vector<std::int64_t> sum = a.integers();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b.integers()[i];
      EXPECT_EQ(a.with_integers(sum), both);
      for (std::uint64_t row = 0; row < 8; ++row) {
        Histogram one = a.histogram(row, channels - 1);
        one.merge(b.histogram(row, channels - 1));
        EXPECT_EQ(both.histogram(row, channels - 1), one);
      }
    }
  }
  const RowHistograms h = row_histograms(cpu, x, 4, Bins::even(3, -1, 4));
  expect_checked(h.bytes(), [](const Bytes& b) { (void)RowHistograms::from_bytes(b).edges(); });
  RowHistograms other = row_histograms(cpu, x, 8, Bins::even(3, -1, 4));
  MASU_EXPECT_ERROR(other.merge(h), invalid_argument, "8 rows of 1 channels");
  RowHistograms wider = row_histograms(cpu, x, 4, Bins::even(3, -1, 5));
  MASU_EXPECT_ERROR(wider.merge(h), invalid_argument,
                    "3 bins of " + std::string(to_string(h.dtype())) + " from -1 to 5");
  MASU_EXPECT_ERROR((void)h.with_integers(std::vector<std::int64_t>(23)), invalid_argument, "24 numbers");
  MASU_EXPECT_ERROR((void)h.with_integers(std::vector<std::int64_t>(24, -1)), invalid_argument, "none negative");
}

TYPED_TEST(StatesOf, BinEstimators) {
  const auto all = awkward<TypeParam>(900);
  const ArrayView data(all);
  const auto part = [&](std::uint64_t first, std::uint64_t count) {
    return ArrayView(data.dtype, static_cast<const TypeParam*>(data.data) + first, count);
  };
  for (int rule = 0; rule <= static_cast<int>(Estimator::sqrt); ++rule) {
    const auto estimator = static_cast<Estimator>(rule);
    bool checked = estimator == Estimator::fd || estimator == Estimator::doane || estimator == Estimator::stone;
    for (const Bins& bins : {Bins::automatic(estimator), Bins::automatic(estimator, 0, 100), Bins::even(7)}) {
      BinEstimator alone(data.dtype, bins);
      std::vector<BinEstimator> parts;  // of the first elements, of none, and of the others
      for (int i = 0; i < 3; ++i) parts.emplace_back(data.dtype, bins);
      for (bool more = true; more;) {
        alone.add(data);
        more = alone.next_pass();
        parts[0].add(part(0, 250));
        parts[2].add(part(250, 650));
        BinEstimator merged = BinEstimator::from_bytes(parts[2].bytes());
        for (const int i : {1, 0}) merged.merge(BinEstimator::from_bytes(parts[static_cast<std::size_t>(i)].bytes()));
        const Bytes bytes = merged.bytes();
        EXPECT_EQ(BinEstimator::from_bytes(bytes).bytes(), bytes);
        if (checked) expect_checked(bytes, [](const Bytes& b) { (void)BinEstimator::from_bytes(b).bytes(); });
        for (BinEstimator& one : parts) {
          one = BinEstimator::from_bytes(bytes);
          EXPECT_EQ(one.next_pass(), more);
          // What the next pass starts from has nothing of this pass in it.
          EXPECT_EQ(BinEstimator::from_bytes(one.bytes()).bytes(), one.bytes());
        }
      }
      for (const BinEstimator& one : parts) EXPECT_EQ(one.bins_found(), alone.bins_found());
      if (alone.bins_found() < 1e9) {
        EXPECT_EQ(BinEstimator::from_bytes(parts[1].bytes()).bins().bytes(), alone.bins().bytes());
      }
      MASU_EXPECT_ERROR(parts[0].merge(parts[1]), invalid_argument, "no pass left");
      checked = false;  // once for each rule
    }
  }
  BinEstimator scott(data.dtype, Bins::automatic(Estimator::scott));
  MASU_EXPECT_ERROR(scott.merge(BinEstimator(data.dtype, Bins::automatic(Estimator::doane))), invalid_argument,
                    "other passes or of other bins");
}

TYPED_TEST(StatesOf, WeightedHistograms) {
  const Device cpu = Device::open("cpu");
  const auto x = awkward<double>(1000);
  const auto w = awkward<TypeParam>(1000, 3);
  for (const Outside outside : {Outside::drop, Outside::clamp}) {
    const WeightedOptions options{.outside = outside, .variances = true, .wrap = true};
    const auto part = [&](std::size_t first, std::size_t count) {
      WeightedHistogramAccumulator a(cpu, Dtype::f64, dtype_of<TypeParam>, Bins::even(4, 0, 2), options);
      a.add(ArrayView(std::span(x).subspan(first, count)), ArrayView(std::span(w).subspan(first, count)));
      return a.bytes();
    };
    WeightedHistogramAccumulator both = WeightedHistogramAccumulator::from_bytes(cpu, part(0, 300));
    both.merge(WeightedHistogramAccumulator::from_bytes(cpu, part(300, 700)));
    EXPECT_EQ(both.bytes(), part(0, 1000));
    EXPECT_EQ(both.result(), weighted_histogram(cpu, x, w, Bins::even(4, 0, 2), options));
    expect_checked(part(0, 10),
                   [&](const Bytes& b) { (void)WeightedHistogramAccumulator::from_bytes(cpu, b).result(); });
  }
}

TYPED_TEST(StatesOf, Selections) {
  const Device cpu = Device::open("cpu");
  const auto x = awkward<TypeParam>(1000);
  const std::span<const TypeParam> all(x);
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max, ReduceOp::minmax, ReduceOp::count_nonzero}) {
    for (const NanPolicy nan : {NanPolicy::propagate, NanPolicy::skip}) {
      const auto part = [&](std::size_t first, std::size_t count) {
        ReduceAccumulator a(cpu, dtype_of<TypeParam>, op, {.nan = nan});
        a.add(ArrayView(all.subspan(first, count)));
        return a.bytes();
      };
      ReduceAccumulator both = ReduceAccumulator::from_bytes(cpu, part(0, 300));
      both.merge(ReduceAccumulator::from_bytes(cpu, part(300, 0)));
      both.merge(ReduceAccumulator::from_bytes(cpu, part(300, 700)));
      EXPECT_EQ(both.bytes(), part(0, 1000));
      expect_checked(part(0, 10), [&](const Bytes& b) { (void)ReduceAccumulator::from_bytes(cpu, b).bytes(); });
    }
  }
  for (const std::uint64_t k : {1, 7, 2000}) {
    for (const bool largest : {true, false}) {
      for (const NanPolicy nan : {NanPolicy::last, NanPolicy::skip}) {
        const auto part = [&](std::size_t first, std::size_t count) {
          TopkAccumulator a(cpu, dtype_of<TypeParam>, k, {.largest = largest, .nan = nan});
          a.add(ArrayView(all.subspan(first, count)));
          return a.bytes();
        };
        TopkAccumulator both = TopkAccumulator::from_bytes(cpu, part(0, 300));
        both.merge(TopkAccumulator::from_bytes(cpu, part(300, 700)));
        EXPECT_EQ(both.bytes(), part(0, 1000));
        expect_checked(part(0, 10), [&](const Bytes& b) { (void)TopkAccumulator::from_bytes(cpu, b).bytes(); });
      }
    }
  }
  const auto part = [&](std::size_t first, std::size_t count) {
    UniqueAccumulator a(cpu, dtype_of<TypeParam>);
    a.add(ArrayView(all.subspan(first, count)));
    return a.bytes();
  };
  UniqueAccumulator both = UniqueAccumulator::from_bytes(cpu, part(0, 300));
  both.merge(UniqueAccumulator::from_bytes(cpu, part(300, 0)));
  both.merge(UniqueAccumulator::from_bytes(cpu, part(300, 700)));
  EXPECT_EQ(both.bytes(), part(0, 1000));
  expect_checked(part(0, 10), [&](const Bytes& b) { (void)UniqueAccumulator::from_bytes(cpu, b).bytes(); });
}

// Of pieces that are cut inside of runs and between them, of one element, of none; with another state behind.
TYPED_TEST(StatesOf, Runs) {
  const Device cpu = Device::open("cpu");
  std::vector<TypeParam> x = awkward<TypeParam>(997);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i / 7 * 7 % (i < 500 ? 21 : 997)];
  const std::span<const TypeParam> all(x);
  const auto part = [&](std::size_t first, std::size_t count) {
    RunAccumulator a(cpu, dtype_of<TypeParam>);
    for (std::size_t i = first; i < first + count; i += 13)
      a.add(ArrayView(all.subspan(i, std::min<std::size_t>(13, first + count - i))));
    return a.bytes();
  };
  RunAccumulator both = RunAccumulator::from_bytes(cpu, part(0, 300));
  both.merge(RunAccumulator::from_bytes(cpu, part(300, 0)));
  both.merge(RunAccumulator::from_bytes(cpu, part(300, 1)));
  both.merge(RunAccumulator::from_bytes(cpu, part(301, 696)));
  EXPECT_EQ(both.bytes(), part(0, 997));
  EXPECT_EQ(both.count(), 997U);
  const RunArrays expected = run_length(cpu, ArrayView(all));
  const RunArrays found = both.result();
  EXPECT_EQ(found.values.bytes, expected.values.bytes);
  EXPECT_EQ(found.lengths, expected.lengths);
  EXPECT_EQ(found.starts, expected.starts);
  both.merge(both);
  std::vector<TypeParam> twice = x;
  twice.insert(twice.end(), x.begin(), x.end());
  EXPECT_EQ(both.result().lengths, run_length(cpu, ArrayView(twice)).lengths);
  expect_checked(part(0, 40), [&](const Bytes& b) { (void)RunAccumulator::from_bytes(cpu, b).bytes(); });
  constexpr Dtype other = dtype_of<TypeParam> == Dtype::u8 ? Dtype::i8 : Dtype::u8;
  MASU_EXPECT_ERROR(both.merge(RunAccumulator(cpu, other)), invalid_argument, "RunAccumulator: data must be ");
}

TYPED_TEST(StatesOf, Sums) {
  const Device cpu = Device::open("cpu");
  const auto x = awkward<TypeParam>(1000);
  std::vector<TypeParam> finite = x;
  for (TypeParam& one : finite) {
    if (!std::isfinite(sum(cpu, ArrayView(std::span(&one, 1))).value())) one = TypeParam{};
  }
  for (const auto& data : {x, finite}) {
    for (const SumKind kind : {SumKind::sum, SumKind::squares, SumKind::dot}) {
      const auto part = [&](std::size_t first, std::size_t count) {
        SumAccumulator a(cpu, dtype_of<TypeParam>, kind);
        const auto some = std::span(data).subspan(first, count);
        const ArrayView view(some);
        if (kind == SumKind::dot) a.add(view, view);
        else a.add(view);
        return a;
      };
      std::vector<std::int64_t> sum = part(0, 300).integers();
      const std::vector<std::int64_t> other = part(300, 700).integers();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
      EXPECT_EQ(SumAccumulator::from_integers(cpu, dtype_of<TypeParam>, kind, sum).bytes(), part(0, 1000).bytes());
      // 2^31 states: 2^30 times these two.
      for (std::int64_t& one : sum) one *= std::int64_t{1} << 30;
      EXPECT_EQ(SumAccumulator::from_integers(cpu, dtype_of<TypeParam>, kind, sum).count(), 1000 * (1ULL << 30));
      sum.pop_back();
      MASU_EXPECT_ERROR(SumAccumulator::from_integers(cpu, dtype_of<TypeParam>, kind, sum), invalid_argument,
                        "integers, got");
      std::vector<std::int64_t> of_none = SumAccumulator(cpu, dtype_of<TypeParam>, kind).integers();
      of_none[40] = 5;
      MASU_EXPECT_ERROR(SumAccumulator::from_integers(cpu, dtype_of<TypeParam>, kind, of_none), invalid_argument,
                        "no sum");
      for (const std::int64_t most :
           {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        const std::vector<std::int64_t> hostile(sum.size() + 1, most);
        MASU_EXPECT_ERROR(SumAccumulator::from_integers(cpu, dtype_of<TypeParam>, kind, hostile), invalid_argument,
                          "no sum");
      }
    }
  }
}

class StatesOnDevice : public test::EachDevice {};
MASU_ON_EACH_DEVICE(StatesOnDevice);

TEST_P(StatesOnDevice, QuantilesInPasses) {
  const std::vector<double> q{0, 0.1, 0.5, 0.99};
  const auto x = awkward<float>(3000);
  const std::span<const float> all(x);
  const Device cpu = Device::open("cpu");
  QuantileFinder finder(device, Dtype::f32, q);
  do {
    Bytes state = finder.bytes();
    const auto part = [&](std::size_t first, std::size_t count) {
      QuantileFinder some = QuantileFinder::from_bytes(device, state);
      some.add(ArrayView(all.subspan(first, count)));
      return some.bytes();
    };
    QuantileFinder both = QuantileFinder::from_bytes(device, part(0, 1000));
    both.merge(QuantileFinder::from_bytes(device, part(1000, 2000)));
    if (device.kind() == DeviceKind::cpu) {
      expect_checked(both.bytes(), [&](const Bytes& b) {
        QuantileFinder changed = QuantileFinder::from_bytes(device, b);
        if (changed.next_pass()) return (void)changed.bytes();
        (void)changed.result();
      });
    }
    finder = std::move(both);
  } while (finder.next_pass());
  EXPECT_EQ(finder.result(), exact_quantiles(cpu, ArrayView(x), q));
  EXPECT_EQ(QuantileFinder::from_bytes(device, finder.bytes()).result(), finder.result());
  QuantileFinder other(device, Dtype::f32, q, {.method = QuantileMethod::lower});
  MASU_EXPECT_ERROR(other.merge(finder), invalid_argument, "4 quantiles (0, 0.1, 0.5, 0.99) of f32 by lower");
}

TEST_P(StatesOnDevice, QuantilesOfHeldData) {
  const std::vector<double> q{0, 0.1, 0.5, 0.99};
  auto x = awkward<float>(3000);
  std::erase_if(x, [](float value) { return std::isnan(value); });
  const auto holder = [&] {
    QuantileFinder finder(device, Dtype::f32, q);
    finder.hold(ArrayView(x), 300);
    return finder;
  };
  QuantileFinder finder = holder();
  int passes = 0;
  do {
    const Bytes state = finder.bytes();
    EXPECT_EQ(QuantileFinder::from_bytes(device, state).bytes(), state);
    if (device.kind() == DeviceKind::cpu) {
      expect_checked(state, [&](const Bytes& b) {
        QuantileFinder changed = holder();
        changed.take(b);
        if (changed.next_pass()) return (void)changed.bytes();
        (void)changed.result();
      });
    }
    ++passes;
  } while (finder.next_pass());
  EXPECT_GE(passes, 3);
  EXPECT_EQ(finder.result(), exact_quantiles(Device::open("cpu"), ArrayView(x), q));
}

TEST_P(StatesOnDevice, ScansGoOnAfterSums) {
  const auto check = [&](const auto& x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    const std::span<const T> all(x);
    for (const bool exclusive : {false, true}) {
      const std::vector<T> expected = scan(Device::open("cpu"), x, {.exclusive = exclusive});
      std::vector<T> found(x.size());
      for (std::size_t first = 0; first < x.size(); first += x.size() / 3) {
        const std::size_t count = std::min(x.size() / 3, x.size() - first);
        SumAccumulator before(device, dtype_of<T>);
        before.add(ArrayView(all.first(first)));
        ScanAccumulator scanner(device, dtype_of<T>, {.exclusive = exclusive});
        scanner.start_after(before);
        scanner.scan(ArrayView(all.subspan(first, count)), MutableArrayView(std::span(found).subspan(first, count)));
      }
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)), 0) << to_string(dtype_of<T>);
    }
  };
  const auto finite = [](auto x) {
    for (auto& one : x) one = std::isfinite(one) ? one : 1;
    return x;
  };
  check(awkward<std::int32_t>(1000));
  check(awkward<std::uint64_t>(1000));
  check(awkward<Half>(1000));
  check(finite(awkward<float>(1000)));
  check(awkward<float>(1000));
  if (device.info().fp64) check(finite(awkward<double>(1000)));
  ScanAccumulator least(device, Dtype::f32, {.op = ScanOp::min});
  MASU_EXPECT_ERROR(least.start_after(SumAccumulator(device, Dtype::f32)), invalid_argument, "start_after is for sums");
  ScanAccumulator sums(device, Dtype::f32);
  MASU_EXPECT_ERROR(sums.start_after(SumAccumulator(device, Dtype::f64)), invalid_argument, "f32 values, got f64");
}

// Sums that no data have: of a state of floats with its dtype, count or kinds of numbers changed.
TEST(States, SumsOfNoData) {
  const Device cpu = Device::open("cpu");
  const auto bytes_of = [&](const auto& data, SumKind kind) {
    SumAccumulator sums(cpu, ArrayView(data).dtype, kind);
    sums.add(ArrayView(data));
    return sums.bytes();
  };
  const auto refuse = [&](Bytes bytes, std::size_t at, unsigned value) {
    bytes.at(at) = static_cast<std::byte>(value);
    MASU_EXPECT_ERROR((void)SumAccumulator::from_bytes(cpu, bytes), invalid_argument, "no data have these sums");
  };
  constexpr std::size_t count_at = 8;
  constexpr std::size_t first_at = 16;  // flags of the first part
  refuse(bytes_of(std::vector<float>{5}, SumKind::sum), count_at, 0);
  refuse(bytes_of(std::vector<std::int32_t>{1, 2}, SumKind::sum), first_at, 1);
  refuse(bytes_of(std::vector<std::uint32_t>{1, 2}, SumKind::sum), first_at, 8);
  const Bytes squares = bytes_of(std::vector<double>{1, 2}, SumKind::squares);
  const std::size_t second_at = first_at + 6 + 4;  // behind a part of one word
  refuse(squares, second_at, 4);
  refuse(squares, second_at, 8);
}

TEST(States, FinishedQuantilesTakeNoMore) {
  const Device cpu = Device::open("cpu");
  const std::vector<std::uint8_t> data = {0, 1, 2};
  const std::vector<double> q = {0.5};
  QuantileFinder finder(cpu, Dtype::u8, q);
  do finder.add(ArrayView(data));
  while (finder.next_pass());
  QuantileFinder same = QuantileFinder::from_bytes(cpu, finder.bytes());
  MASU_EXPECT_ERROR(same.add(ArrayView(data)), invalid_argument, "the passes have ended");
  MASU_EXPECT_ERROR(finder.add(ArrayView(data)), invalid_argument, "the passes have ended");
}

TEST(States, TopkOfMoreThanThereIs) {
  const Device cpu = Device::open("cpu");
  std::vector<float> data(5000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 97);
  for (const std::uint64_t k : {std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    TopkAccumulator accumulator(cpu, Dtype::f32, k);
    accumulator.add(ArrayView(data));
    EXPECT_EQ(accumulator.result().indices().size(), data.size());  // all of them
  }
}

}  // namespace
}  // namespace masu
