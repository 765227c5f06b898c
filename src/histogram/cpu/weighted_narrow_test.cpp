// SPDX-License-Identifier: Apache-2.0
// Totals of many bins in narrow sums are those of wide ones, to the bit.
#include <masu/weighted_histogram.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace masu {
namespace {

// Weights of which many bins' sums lie between two numbers, cancel or are no numbers.
template <class W>
std::vector<W> weights_of(std::uint64_t count, unsigned kind, std::mt19937_64& random) {
  std::vector<W> result(count);
  for (W& weight : result) {
    const double x = std::ldexp(static_cast<double>(random() % 4096), -12);
    weight = static_cast<W>(x);
    if (kind == 1) weight = static_cast<W>(std::ldexp(x - 0.5, static_cast<int>(random() % 240) - 120));
    if (kind == 2)
      weight = static_cast<W>((random() % 2 != 0 ? 1 : -1) * std::ldexp(1.0, random() % 3 == 0 ? 100 : 20));
    if (kind == 3 && random() % 40 == 0) {
      constexpr double special[] = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN(), -0.0};
      weight = static_cast<W>(special[random() % 4]);
    }
    if (kind == 4) weight = static_cast<W>(std::ldexp(x - 0.5, static_cast<int>(random() % 2000) - 1000));
    if (kind == 5) weight = static_cast<W>(std::sqrt(x) / 3);
  }
  return result;
}

template <class W>
void compare_narrow() {
  std::mt19937_64 random(3);
  const Device cpu = Device::open("cpu");
  for (const std::uint64_t count : {0, 1, 10, 1000, 20000}) {
    std::vector<double> x(count);
    std::vector<double> y(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      x[i] = static_cast<double>(random() % 1300) / 1000 - 0.1;
      y[i] = random() % 99 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(random() % 64) / 64;
    }
    for (unsigned kind = 0; kind < 6; ++kind) {
      const std::vector<W> weights = weights_of<W>(count, kind, random);
      for (const Outside outside : {Outside::drop, Outside::clamp}) {
        WeightedOptions options;
        options.outside = outside;
        options.variances = kind % 2 == 0 || outside == Outside::clamp;
        for (const std::uint64_t bins : {100, 2000, 20000}) {
          WeightedHistogramAccumulator wide(cpu, Dtype::f64, dtype_of<W>, Bins::even(bins, 0, 1), options);
          wide.add(ArrayView(x), ArrayView(weights));
          EXPECT_EQ(weighted_histogram(cpu, ArrayView(x), ArrayView(weights), Bins::even(bins, 0, 1), options),
                    wide.result());
        }
        const std::vector<Bins> both{Bins::even(50, 0, 1), Bins::even(60, 0, 1)};
        const std::vector<ArrayView> columns{ArrayView(x), ArrayView(y)};
        WeightedHistogramAccumulator wide(cpu, Dtype::f64, dtype_of<W>, both, options);
        wide.add(columns, ArrayView(weights));
        EXPECT_EQ(weighted_joint_histogram(cpu, columns, ArrayView(weights), both, options), wide.result());
      }
    }
  }
}

TEST(WeightedNarrow, TotalsAreThoseOfWideSums) {
  compare_narrow<double>();
  compare_narrow<float>();
}

TEST(WeightedNarrow, FewElementsInManyBins) {
  const Device cpu = Device::open("cpu");
  const std::vector<double> x{0.25, 0.25, 0.75};
  const std::vector<double> weights{1, 0x1p-53, 3};
  const std::uint64_t bins = 50'000'000;
  const WeightedHistogram found = weighted_histogram(cpu, ArrayView(x), ArrayView(weights), Bins::even(bins, 0, 1));
  EXPECT_EQ(found.totals()[bins / 4], 1.0);  // a tie, to even
  EXPECT_EQ(found.totals()[bins / 4 * 3], 3.0);
}

}  // namespace
}  // namespace masu
