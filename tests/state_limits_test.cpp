// SPDX-License-Identifier: Apache-2.0
// States that claim more than data can have: counts never wrap, and no sum grows beyond its room, however often states
// are merged.
#include "elements/stored_float.h"
#include "expect_error.h"

#include <gtest/gtest.h>
#include <masu/masu.h>
#include <masu/sum.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace masu {
namespace {

using StateBytes = std::vector<std::byte>;

// Merges a state with itself until that is refused, which leaves it as it is. The number of merges.
template <class State, class Read>
int merge_until_refused(State& state, const Read& read,
                        const std::string& reason = "fewer than 2^63 elements together") {
  int merges = 0;
  for (; merges < 64; ++merges) {
    const StateBytes before = state.bytes();
    try {
      state.merge(read(before));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
      EXPECT_EQ(state.bytes(), before);
      break;
    }
    EXPECT_EQ(read(state.bytes()).bytes(), state.bytes());
  }
  return merges;
}

StateBytes with_number(StateBytes bytes, std::size_t place, std::uint64_t number) {
  for (std::size_t i = 0; i < sizeof number; ++i) bytes.at(place + i) = static_cast<std::byte>(number >> 8 * i);
  return bytes;
}

template <class T>
class StateLimitsOf : public testing::Test {};
using LimitTypes =
    testing::Types<std::uint8_t, std::int8_t, std::int32_t, std::uint64_t, Half, Bfloat16, float, double>;
TYPED_TEST_SUITE(StateLimitsOf, LimitTypes);

// Three elements, as far from zero as there are.
template <class T>
std::vector<T> greatest() {
  if constexpr (is_stored<T>) return std::vector<T>(3, T{static_cast<std::uint16_t>(0x8000 | (infinity_bits<T> - 1))});
  else
    return std::vector<T>(3, is_signed(dtype_of<T>) ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
}

TYPED_TEST(StateLimitsOf, Sums) {
  const Device cpu = Device::open("cpu");
  const auto x = greatest<TypeParam>();
  const auto read = [&](const StateBytes& b) { return SumAccumulator::from_bytes(cpu, b); };
  for (const SumKind kind : {SumKind::sum, SumKind::squares, SumKind::dot}) {
    SumAccumulator sums(cpu, dtype_of<TypeParam>, kind);
    if (kind == SumKind::dot) sums.add(ArrayView(x), ArrayView(x));
    else sums.add(ArrayView(x));
    const double mean = kind == SumKind::dot ? 0 : sums.mean().value();
    EXPECT_EQ(merge_until_refused(sums, read), 61);
    EXPECT_EQ(sums.count(), std::uint64_t{3} << 61);
    EXPECT_EQ(sums.integers().front(), std::int64_t{3} << 61);
    if (kind != SumKind::dot) {
      EXPECT_EQ(sums.mean().value(), mean);
    }
    EXPECT_EQ(SumAccumulator::from_integers(cpu, dtype_of<TypeParam>, kind, sums.integers()).bytes(), sums.bytes());
    constexpr std::size_t count_at = 8;
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{3} << 50, std::uint64_t{1} << 63}) {
      MASU_EXPECT_ERROR((void)read(with_number(sums.bytes(), count_at, count)), invalid_argument, "no data have these");
    }
  }
  ExactSum exact;
  exact.add(ArrayView(x));
  const double once = exact.mean();
  EXPECT_EQ(merge_until_refused(exact, [](const StateBytes& b) { return ExactSum::from_bytes(b); }), 61);
  EXPECT_EQ(exact.mean(), once);
}

TYPED_TEST(StateLimitsOf, Weights) {
  const Device cpu = Device::open("cpu");
  const auto weights = greatest<TypeParam>();
  const std::vector<float> x{0, 1, 1};
  const auto read = [&](const StateBytes& b) { return WeightedHistogramAccumulator::from_bytes(cpu, b); };
  WeightedHistogramAccumulator a(cpu, Dtype::f32, dtype_of<TypeParam>, Bins::even(1, 0, 1),
                                 {.variances = true, .wrap = true});
  a.add(ArrayView(x), ArrayView(weights));
  const double total = a.result().totals()[0];
  EXPECT_EQ(merge_until_refused(a, read), 61);
  EXPECT_EQ(a.result().totals()[0], std::isinf(total * 0x1p61) ? std::copysign(HUGE_VAL, total) : total * 0x1p61);
  constexpr std::size_t n_at = 4 + 1 + 2 + 4 + 16;
  EXPECT_EQ(with_number(a.bytes(), n_at, std::uint64_t{3} << 61), a.bytes());
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1} << 50, std::uint64_t{1} << 63}) {
    MASU_EXPECT_ERROR((void)read(with_number(a.bytes(), n_at, n)), invalid_argument, "not the bytes of a Weighted");
  }
}

TYPED_TEST(StateLimitsOf, Selections) {
  const Device cpu = Device::open("cpu");
  const std::vector<TypeParam> x(3, TypeParam{});
  const auto check = [&]<class State>(State state) {
    state.add(ArrayView(x));
    EXPECT_EQ(merge_until_refused(state, [&](const StateBytes& b) { return State::from_bytes(cpu, b); }), 61);
    EXPECT_EQ(state.count(), std::uint64_t{3} << 61);
    return state;
  };
  constexpr Dtype dtype = dtype_of<TypeParam>;
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::minmax, ReduceOp::count_nonzero})
    check(ReduceAccumulator(cpu, dtype, op));
  EXPECT_EQ(check(TopkAccumulator(cpu, dtype, 4)).result().indices().back(), 3);
  EXPECT_EQ(check(UniqueAccumulator(cpu, dtype)).result().counts.front(), std::uint64_t{3} << 61);
  RunAccumulator runs = check(RunAccumulator(cpu, dtype));
  EXPECT_EQ(runs.result().lengths, std::vector<std::uint64_t>{std::uint64_t{3} << 61});
  MASU_EXPECT_ERROR(runs.merge(runs), invalid_argument, "RunAccumulator::merge: both must have fewer than 2^63");
  const std::array<double, 2> q{0.25, 1};
  QuantileFinder finder = check(QuantileFinder(cpu, dtype, q));
  // With as many elements in each pass quantiles are found.
  while (finder.next_pass()) {
    finder.add(ArrayView(x));
    for (int i = 0; i < 61; ++i) finder.merge(QuantileFinder::from_bytes(cpu, finder.bytes()));
  }
  EXPECT_EQ(finder.result().front().value, 0);
}

TEST(StateLimits, Histograms) {
  const Device cpu = Device::open("cpu");
  const std::vector<float> x{-5, 1, 1, 2, 50, std::numeric_limits<float>::quiet_NaN()};
  const Bins bins = Bins::even(4, 0, 8);
  Histogram one = histogram(cpu, x, bins);
  EXPECT_EQ(merge_until_refused(one, [](const StateBytes& b) { return Histogram::from_bytes(b); }), 60);
  EXPECT_EQ(one.n(), std::uint64_t{6} << 60);
  RowHistograms rows = row_histograms(cpu, x, 2, bins);
  EXPECT_EQ(merge_until_refused(rows, [](const StateBytes& b) { return RowHistograms::from_bytes(b); }), 60);
  JointHistogram joint = joint_histogram(cpu, {ArrayView(x), ArrayView(x)}, {bins, bins});
  EXPECT_EQ(merge_until_refused(joint, [](const StateBytes& b) { return JointHistogram::from_bytes(b); }), 60);
  // Integers and bytes whose total is 2^63.
  const auto too_many = [](std::size_t size) {
    std::vector<std::int64_t> numbers(size);
    numbers.front() = numbers.back() = std::int64_t{1} << 62;
    return numbers;
  };
  MASU_EXPECT_ERROR((void)one.with_integers(too_many(7)), invalid_argument, "below 2^63 together, got more");
  MASU_EXPECT_ERROR((void)rows.with_integers(too_many(14)), invalid_argument, "below 2^63 together");
  MASU_EXPECT_ERROR((void)joint.with_integers(too_many(18)), invalid_argument, "below 2^63 together");
  const auto claim = [](StateBytes bytes) {  // one more of what comes last
    bytes.back() = std::byte{0x40};
    return bytes;
  };
  MASU_EXPECT_ERROR((void)Histogram::from_bytes(claim(one.bytes())), invalid_argument, "not the bytes of a Histogram");
  MASU_EXPECT_ERROR((void)RowHistograms::from_bytes(claim(rows.bytes())), invalid_argument, "not the bytes");
  MASU_EXPECT_ERROR((void)JointHistogram::from_bytes(claim(joint.bytes())), invalid_argument, "not the bytes");
}

TEST(StateLimits, BinRules) {
  const Device cpu = Device::open("cpu");
  const std::vector<float> x{1, 2, 4, 8, 16, 17};
  const auto read = [](const StateBytes& b) { return BinEstimator::from_bytes(b); };
  for (const Estimator rule : {Estimator::scott, Estimator::doane, Estimator::fd, Estimator::stone, Estimator::sqrt}) {
    BinEstimator estimator(Dtype::f32, Bins::automatic(rule));
    estimator.add(ArrayView(x));
    BinEstimator many = read(estimator.bytes());
    EXPECT_EQ(merge_until_refused(many, read), 60);
    if (!estimator.next_pass()) continue;
    // Later passes have the values of the first.
    estimator.add(ArrayView(x));
    EXPECT_EQ(merge_until_refused(estimator, read, "every pass must give the same values, got "), 0);
    while (estimator.next_pass()) estimator.add(ArrayView(x));
    EXPECT_EQ(bin_edges(estimator.bins(), Dtype::f32), histogram(cpu, x, Bins::automatic(rule)).edges());
  }
}

}  // namespace
}  // namespace masu
