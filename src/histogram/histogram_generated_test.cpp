// SPDX-License-Identifier: Apache-2.0
// Generated bins of every kind, inside of the data's dtype, partly outside and wholly outside: every form of the
// histogram on every device against the plainest count. MASU_TEST_LONG takes a thousand seeds.
#include "all_dtypes.h"
#include "each_device.h"
#include "expect_error.h"
#include "histogram/histogram_test_data.h"

#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <masu/weighted_histogram.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace masu {
namespace {

class GeneratedHistogramTest : public test::EachDevice {
 protected:
  using Random = std::mt19937_64;

  // Numbers around both ends of the dtype, around zero, and far outside.
  template <class T>
  static double number(Random& random) {
    double least = -65504;
    double most = 65504;
    if constexpr (std::is_integral_v<T>) {
      least = static_cast<double>(std::numeric_limits<T>::min());
      most = static_cast<double>(std::numeric_limits<T>::max());
    }
    const double far = 2 * (most - least);
    const double ends[] = {least - far, least - 1, least, least + 1, -1.5, 0, 1, 3.25, most - 1, most, most + 1};
    return random() % 12 == 0 ? most + far : ends[random() % std::size(ends)];
  }
  template <class T>
  static Bins bins(Random& random) {
    if (!is_float(dtype_of<T>) && random() % 8 == 0) return Bins::integers(1 + random() % 300);
    std::vector<double> edges(2 + random() % 4);
    for (double& edge : edges) edge = number<T>(random);
    std::ranges::sort(edges);
    // Even bins of f16 go where NumPy's arithmetic puts them, which other tests look at.
    if (random() % 2 == 0 && edges.front() < edges.back() && dtype_of<T> != Dtype::f16) {
      return Bins::even(1 + random() % 9, edges.front(), edges.back());
    }
    return Bins::edges(edges);
  }
  template <class T>
  static std::vector<T> data(Random& random, std::size_t size) {
    std::vector<T> result(size);
    for (T& x : result) {
      if constexpr (is_stored<T>) {
        x.bits = static_cast<std::uint16_t>(random());
      } else if constexpr (std::is_floating_point_v<T>) {
        x = static_cast<T>(number<T>(random));
      } else {
        x = static_cast<T>(random() % 2 == 0 ? random() : random() % 4);
      }
    }
    return result;
  }
  static bool half_open(const Bins& bins) { return bins.kind() == Bins::Kind::integers; }

  // One column: all at once, in rows, in two channels, by weights of 1.
  template <class T>
  void expect_one(const std::vector<T>& values, const Bins& which) {
    const Histogram found = histogram(device, values, which);
    const std::vector<double> edges = found.edges();
    const std::size_t n = edges.size() - 1;
    std::vector<std::vector<std::uint64_t>> parts(2, std::vector<std::uint64_t>(n + 3));
    auto channels = parts;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const test::Plain at = test::plain_bin(test::plain_value(values[i]), edges, half_open(which), false);
      const std::size_t slot = at.place == test::Place::bin ? at.bin : n + static_cast<std::size_t>(at.place) - 1;
      ++parts[i / (values.size() / 2)][slot];
      ++channels[i % 2][slot];
    }
    std::vector<std::uint64_t> all = parts[0];
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += parts[1][i];
    const auto expect = [&](std::span<const std::uint64_t> counts, std::uint64_t below, std::uint64_t above,
                            std::uint64_t nan, const std::vector<std::uint64_t>& wanted) {
      std::vector<std::uint64_t> got(counts.begin(), counts.end());
      got.insert(got.end(), {below, above, nan});
      EXPECT_EQ(got, wanted);
    };
    expect(found.counts(), found.below(), found.above(), found.nan(), all);
    const RowHistograms rows = row_histograms(device, values, 2, which);
    for (unsigned row = 0; row < 2; ++row) {
      expect(rows.counts(row), rows.below(row), rows.above(row), rows.nan(row), parts[row]);
    }
    HistogramOptions two;
    two.channels = 2;
    const std::vector<Histogram> each = histogram_channels(device, ArrayView(values), which, two);
    for (unsigned c = 0; c < 2; ++c) {
      expect(each[c].counts(), each[c].below(), each[c].above(), each[c].nan(), channels[c]);
    }
    const std::vector<std::uint8_t> ones(values.size(), 1);
    const WeightedHistogram by = weighted_histogram(device, values, ones, which);
    const auto extra = by.unsigned_extra_totals();
    expect(by.unsigned_totals(), extra[0], extra[1], extra[2], all);
  }

  // One to three columns, in host and in device memory, and by weights.
  template <class T>
  void expect_joint(Random& random, std::size_t size) {
    std::vector<std::vector<T>> columns;
    std::vector<Bins> which;
    std::vector<ArrayView> views;
    std::vector<Buffer<T>> buffers;
    for (std::size_t d = 1 + random() % 3; d > 0; --d) columns.push_back(data<T>(random, size));
    std::vector<const BufferBase*> pointers;
    for (const std::vector<T>& column : columns) {
      which.push_back(bins<T>(random));
      views.emplace_back(column);
      buffers.push_back(device.upload(column));
    }
    for (const Buffer<T>& buffer : buffers) pointers.push_back(&buffer);
    const JointHistogram found = joint_histogram(device, views, which);
    std::vector<std::uint64_t> wanted(found.counts().size());
    std::uint64_t nans = 0;
    for (std::size_t i = 0; i < size; ++i) {
      std::size_t joint_bin = 0;
      bool inside = true;
      bool nan = false;
      for (unsigned d = 0; d < columns.size(); ++d) {
        const std::vector<double> edges = found.edges(d);
        const test::Plain at = test::plain_bin(test::plain_value(columns[d][i]), edges, half_open(which[d]), false);
        inside = inside && at.place == test::Place::bin;
        nan = nan || at.place == test::Place::nan;
        joint_bin = joint_bin * (edges.size() - 1) + at.bin;
      }
      if (inside) ++wanted[joint_bin];
      nans += nan ? 1 : 0;
    }
    EXPECT_TRUE(std::ranges::equal(found.counts(), wanted));
    EXPECT_EQ(found.nan(), nans);
    EXPECT_EQ(joint_histogram(pointers, dtype_of<T>, which), found);
    if (columns.size() == 1) return;  // other edges: those of a plain histogram
    const std::vector<std::uint8_t> ones(size, 1);
    const WeightedHistogram by = weighted_joint_histogram(device, views, ArrayView(ones), which);
    EXPECT_TRUE(std::ranges::equal(by.unsigned_totals(), wanted));
    const Buffer<std::uint8_t> weights = device.upload(ones);
    EXPECT_TRUE(weighted_joint_histogram(pointers, dtype_of<T>, weights, Dtype::u8, which) == by);
  }

  // Calls test(tag of a dtype, random numbers) for each seed, bytes more often than other dtypes.
  template <class F>
  void each_seed(unsigned few, const F& test) {
    const unsigned short_run = device.kind() == DeviceKind::cpu ? 10 * few : few;  // elsewhere kernels are compiled
    const unsigned seeds = std::getenv("MASU_TEST_LONG") != nullptr ? 1000 : short_run;
    for (unsigned seed = 0; seed < seeds && !HasFailure(); ++seed) {
      Random random(seed);
      Dtype dtype = test::all_dtypes[random() % std::size(test::all_dtypes)];
      if (seed % 2 == 0) dtype = random() % 2 == 0 ? Dtype::u8 : Dtype::i8;
      if (dtype == Dtype::f64 && !device.info().fp64) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + std::string(to_string(dtype)));
      dispatch(dtype, [&](auto tag) { test(tag, random); });
    }
  }
};
MASU_ON_EACH_DEVICE(GeneratedHistogramTest);

TEST_P(GeneratedHistogramTest, OneColumn) {
  each_seed(3, [&](auto tag, Random& random) {
    using T = typename decltype(tag)::type;
    expect_one(data<T>(random, 2 * (1 + random() % 700)), bins<T>(random));
  });
}

TEST_P(GeneratedHistogramTest, Columns) {
  each_seed(6, [&](auto tag, Random& random) { expect_joint<typename decltype(tag)::type>(random, random() % 1500); });
}

TEST_P(GeneratedHistogramTest, BytesBesideAllBinsOfAColumn) {
  const std::vector<std::int8_t> values{0, 5, 3, 9, -1, 127};
  const std::vector<Bins> beside{Bins::edges({300, 400}), Bins::even(2, 300, 400), Bins::edges({-400, -300})};
  const auto expect = [&](const ArrayView& column) {
    for (const Bins& other : beside) {
      const std::vector<Bins> bins{Bins::even(2, 0, 10), other};
      const std::vector<ArrayView> columns{column, column};
      const JointHistogram found = joint_histogram(device, columns, bins);
      EXPECT_EQ(found.outside(), values.size());
      EXPECT_TRUE(std::ranges::all_of(found.counts(), [](std::uint64_t count) { return count == 0; }));
      const WeightedHistogram by = weighted_joint_histogram(device, columns, column, bins);
      EXPECT_TRUE(std::ranges::all_of(by.totals(), [](double total) { return total == 0; }));
    }
  };
  expect(ArrayView(values));
  expect(ArrayView(Dtype::u8, values.data(), values.size()));
}

// Totals of integers that do not fit 64 bits, in bins and outside of them.
TEST_P(GeneratedHistogramTest, TotalsThatDoNotFit) {
  each_seed(6, [&](auto, Random& random) {
    const auto expect = [&]<class W>(W) {
      const std::size_t size = 1 + random() % 40;
      std::vector<std::int32_t> values(size);
      std::vector<W> weights(size);
      std::vector<W> wanted(7);  // bins 0 … 3, below, above, NaN
      for (std::size_t i = 0; i < size; ++i) {
        values[i] = static_cast<std::int32_t>(random() % 6) - 1;
        weights[i] = static_cast<W>(random() % 3 == 0 ? random() : std::numeric_limits<W>::max() - random() % 5);
        const auto slot = values[i] < 0 ? 4U : values[i] > 3 ? 5U : static_cast<unsigned>(values[i]);
        wanted[slot] =
            static_cast<W>(static_cast<std::uint64_t>(wanted[slot]) + static_cast<std::uint64_t>(weights[i]));
      }
      WeightedOptions options;
      options.wrap = true;
      const WeightedHistogram found = weighted_histogram(device, values, weights, Bins::integers(4), options);
      std::vector<W> got;
      if constexpr (std::is_signed_v<W>) {
        got.assign(found.signed_totals().begin(), found.signed_totals().end());
        got.insert(got.end(), found.signed_extra_totals().begin(), found.signed_extra_totals().end());
      } else {
        got.assign(found.unsigned_totals().begin(), found.unsigned_totals().end());
        got.insert(got.end(), found.unsigned_extra_totals().begin(), found.unsigned_extra_totals().end());
      }
      EXPECT_EQ(got, wanted);
    };
    if (random() % 2 == 0) expect(std::int64_t{0});
    else expect(std::uint64_t{0});
  });
}

TEST_P(GeneratedHistogramTest, ATotalThatDoesNotFitNamesItsBin) {
  const std::vector<std::int32_t> values{0, 2, 2};
  const std::vector<std::int64_t> weights(3, std::numeric_limits<std::int64_t>::max());
  MASU_EXPECT_ERROR((void)weighted_histogram(device, values, weights, Bins::integers(4)), invalid_argument,
                    "the total of bin 2 must fit i64");
}

}  // namespace
}  // namespace masu
