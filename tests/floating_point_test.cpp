// SPDX-License-Identifier: Apache-2.0
// What masu computes does not depend on the floating-point environment of the caller's thread.
#include "floating_point_modes.h"

#include "runtime/parallel.h"

#include <gtest/gtest.h>
#include <masu/masu.h>

#include <algorithm>
#include <limits>

namespace masu {
namespace {

using test::Bits;
using test::expect_same_in_all_modes;
using test::FloatingPointCall;

constexpr double unit = std::numeric_limits<double>::denorm_min();
constexpr double tiny = std::numeric_limits<double>::min();

// Numbers of which every mode changes something: subnormal ones, those whose sums round, and some whose order flushing
// changes.
template <class T>
std::vector<T> numbers(std::size_t count) {
  constexpr T least = std::numeric_limits<T>::denorm_min();
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    switch (i * 7 % 5) {
      case 0: all[i] = least * static_cast<T>(i % 11); break;
      case 1: all[i] = -least * static_cast<T>(i % 13); break;
      case 2: all[i] = static_cast<T>(0.1) * static_cast<T>(i % 17); break;
      case 3: all[i] = std::numeric_limits<T>::min() * static_cast<T>(1.5); break;
      default: all[i] = static_cast<T>(-1) / static_cast<T>(3 + i % 19);
    }
  }
  return all;
}
template <class T>
std::vector<T> subnormals(std::size_t count) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = std::numeric_limits<T>::denorm_min() * static_cast<T>(1 + i * 7 % 101);
  return all;
}
std::vector<Half> halves(std::size_t count) {
  std::vector<Half> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i].bits = static_cast<std::uint16_t>(i * 2654435761U >> 17 & 0xbbffU);
  return all;
}
template <class T>
std::vector<T> sorted(std::vector<T> all) {
  std::ranges::sort(all);
  return all;
}

struct Data {
  Device cpu = Device::open("cpu");
  std::vector<double> f64 = numbers<double>(5000);
  std::vector<float> f32 = numbers<float>(5000);
  std::vector<Half> f16 = halves(5000);
  std::vector<double> least = subnormals<double>(3001);
  std::vector<float> least_f32 = subnormals<float>(3001);
  std::vector<double> in_order = sorted(subnormals<double>(3001));
  std::vector<double> spread = [] {
    std::vector<double> all(3000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = 0.1 * static_cast<double>(i * 37 % 911) / 7;
    return all;
  }();
  std::vector<double> far = [] {  // subnormal, and far enough apart for bins
    std::vector<double> all(3000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = unit * 1e9 * static_cast<double>(i * 37 % 911);
    return all;
  }();
  std::vector<double> tenths = std::vector<double>(1000, 0.1);
  std::vector<std::int64_t> i64 = [] {
    std::vector<std::int64_t> all(999);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = (std::int64_t{1} << 53) + 1 + static_cast<std::int64_t>(2 * i);
    return all;
  }();
  std::vector<double> zeros = std::vector<double>(5000, 0.0);
  std::vector<double> negative = std::vector<double>(5000, -1.0);
  std::vector<double> quarters = {0, 0.1, 0.25, 0.5, 0.9, 1};
  std::vector<std::uint64_t> places = {0, 17, 1500, 2999};
  Bins near_zero = Bins::edges({-unit, 0, unit, 3 * unit, 1e-310, 1});
  Bins last_zero = Bins::edges({-10, -3, 0});
  Bins last_subnormal = Bins::edges({-10, -3, unit});
  Bins tenth_bins = Bins::even(10, 0, 1);
};

void add(Bits& bits, const Histogram& histogram) {
  bits.add(histogram.counts());
  bits.add(histogram.edges());
  bits.add(histogram.density());
  bits.add(histogram.bytes());
  bits.add(Histogram::from_bytes(histogram.bytes()) == histogram ? 1 : 0);
}
void add(Bits& bits, const SumResult& result) {
  for (std::uint64_t row = 0; row < result.rows(); ++row) bits.add(result.value(row));
}
void add(Bits& bits, const std::vector<Quantile>& quantiles) {
  for (const Quantile& each : quantiles) {
    bits.add(each.value);
    bits.add(each.bits);
  }
}

// A new public function gets a line here.
std::vector<FloatingPointCall> calls_of(const Data& d) {
  const auto buffer = [&d]<class T>(const std::vector<T>& from) {
    Buffer<T> there(d.cpu, from.size());
    there.write(std::span<const T>(from));
    return there;
  };
  const auto sums = [&d](auto function) {
    return [&d, function](Bits& bits) {
      for (const Dtype result : {Dtype::f64, Dtype::f32, Dtype::f16}) {
        const SumOptions options{.result = result, .wrap = true};
        for (const ArrayView& x : {ArrayView(d.f64), ArrayView(d.f32), ArrayView(d.f16), ArrayView(d.least),
                                   ArrayView(d.least_f32), ArrayView(d.tenths), ArrayView(d.i64)}) {
          if (!is_float(x.dtype) && result != Dtype::f64) continue;
          add(bits, function(x, options));
          add(bits, function({x.dtype, x.data, 7}, options));
          SumOptions rows = options;
          rows.rows = 100;
          add(bits, function({x.dtype, x.data, 900}, rows));
        }
      }
    };
  };
  return {
      {"sum", sums([&d](const ArrayView& x, const SumOptions& o) { return sum(d.cpu, x, o); })},
      {"mean", sums([&d](const ArrayView& x, const SumOptions& o) { return mean(d.cpu, x, o); })},
      {"dot", sums([&d](const ArrayView& x, const SumOptions& o) { return dot(d.cpu, x, x, o); })},
      {"norm2", sums([&d](const ArrayView& x, const SumOptions& o) { return norm2(d.cpu, x, o); })},
      {"variance", sums([&d](const ArrayView& x, const SumOptions& o) { return variance(d.cpu, x, o); })},
      {"standard_deviation",
       sums([&d](const ArrayView& x, const SumOptions& o) { return standard_deviation(d.cpu, x, o); })},
      {"sum of a range", [&d](Bits& bits) { bits.add(sum(d.f64)); }},
      {"sum on a stream",
       [&d, there = std::make_shared<Buffer<double>>(buffer(d.f64))](Bits& bits) {
         Stream stream(d.cpu);
         add(bits, sum(stream, *there, Dtype::f64).get());
         const Buffer<float> result(d.cpu, 1);
         mean(stream, *there, Dtype::f64, result, {.result = Dtype::f32}).get();
         bits.add(result.read());
       }},
      {"sum_columns",
       [&d](Bits& bits) {
         std::vector<double> sums(50);
         std::vector<float> means(50);
         sum_columns(ArrayView(d.f64), 50, MutableArrayView(sums));
         mean_columns(ArrayView(d.f32), 50, MutableArrayView(means));
         bits.add(sums);
         bits.add(means);
       }},
      {"SumAccumulator",
       [&d](Bits& bits) {
         SumAccumulator sums(d.cpu, Dtype::f64, SumKind::squares);
         sums.add(ArrayView(d.f64));
         SumAccumulator more(d.cpu, Dtype::f64, SumKind::squares);
         more.add(ArrayView(d.least));
         sums.merge(SumAccumulator::from_bytes(d.cpu, more.bytes()));
         for (const Dtype result : {Dtype::f64, Dtype::f32, Dtype::f16}) {
           add(bits, sums.sum(result));
           add(bits, sums.mean(result));
           add(bits, sums.norm2(result));
           add(bits, sums.variance(1, result));
           add(bits, sums.standard_deviation(0, result));
         }
         bits.add(sums.integers());
       }},
      {"ExactSum",
       [&d](Bits& bits) {
         ExactSum exact;
         exact.add(ArrayView(d.f64));
         exact.add(1.5 * tiny);
         exact.add(-tiny);
         exact.add(unit, 3);
         for (const Dtype result : {Dtype::f64, Dtype::f32, Dtype::f16}) bits.add(exact.sum(result));
         bits.add(exact.mean());
         bits.add(exact.bytes());
       }},
      {"scan",
       [&d](Bits& bits) {
         for (const ArrayView& x :
              {ArrayView(d.f64), ArrayView(d.f32), ArrayView(d.f16), ArrayView(d.tenths), ArrayView(d.least)}) {
           for (const ScanOp op : {ScanOp::sum, ScanOp::min, ScanOp::max}) {
             std::vector<std::byte> out(x.count * size_of(x.dtype));
             scan(d.cpu, x, {x.dtype, out.data(), x.count}, {.op = op});
             bits.add(out);
           }
         }
         std::vector<double> pieces(d.tenths.size());
         ScanAccumulator state(d.cpu, Dtype::f64);
         SumAccumulator before(d.cpu, Dtype::f64);
         before.add(ArrayView(d.f64));
         state.start_after(before);
         state.scan(ArrayView(d.tenths), MutableArrayView(pieces));
         bits.add(pieces);
       }},
      {"histogram",
       [&d](Bits& bits) {
         for (const Bins& bins : {d.near_zero, d.last_zero, d.last_subnormal, d.tenth_bins}) {
           for (const ArrayView& x : {ArrayView(d.f64), ArrayView(d.f32), ArrayView(d.f16), ArrayView(d.zeros),
                                      ArrayView(d.negative), ArrayView(d.least), ArrayView(d.i64)}) {
             add(bits, histogram(d.cpu, x, bins));
           }
         }
         add(bits, histogram(d.cpu, ArrayView(d.f64), Bins::even(7)));
         add(bits, histogram(d.cpu, ArrayView(d.far), Bins::even(7)));
         add(bits, histogram(d.cpu, ArrayView(d.f32), Bins::even(13, -0.1, 0.7)));
       }},
      {"bins",
       [&d](Bits& bits) {
         bits.add(bin_edges(Bins::even(11, -0.3, 0.1), Dtype::f64));
         bits.add(bin_edges(Bins::even(7, 0, 1e-310), Dtype::f64));
         bits.add(bin_edges(Bins::even(7, 0, 1), Dtype::f32));
         bits.add(bin_edges(Bins::even(7, 0, 1), Dtype::f16));
         bits.add(bin_edges(Bins::logarithmic(10, 1e-3, 7), Dtype::f64));
         bits.add(bin_edges(Bins::logarithmic(10, 1e-320, 1e-310), Dtype::f64));
         bits.add(Bins::for_data(Dtype::f64, finite_range(d.cpu, ArrayView(d.far))).bytes());
         bits.add(Bins::from_bytes(d.near_zero.bytes()).bytes());
         for (const Estimator rule : {Estimator::automatic, Estimator::fd, Estimator::doane, Estimator::scott,
                                      Estimator::stone, Estimator::rice, Estimator::sturges, Estimator::sqrt}) {
           for (const ArrayView& x : {ArrayView(d.spread), ArrayView(d.far)}) {
             BinEstimator estimator(x.dtype, Bins::automatic(rule));
             do estimator.add(x);
             while (estimator.next_pass());
             bits.add(estimator.bins().bytes());
           }
         }
       }},
      {"equalization_map and otsu_threshold",
       [&d](Bits& bits) {
         const Histogram found = histogram(d.cpu, ArrayView(d.f64), Bins::even(64, -0.4, 1.7));
         bits.add(equalization_map(found, 256));
         bits.add(otsu_threshold(found));
       }},
      {"HistogramAccumulator",
       [&d](Bits& bits) {
         HistogramAccumulator counts(d.cpu, Dtype::f64, d.near_zero, {.channels = 2});
         counts.add(ArrayView(d.f64));
         for (const Histogram& each : counts.result()) add(bits, each);
         Histogram both = counts.result()[0];
         both.merge(counts.result()[1]);
         add(bits, both.with_integers(both.integers()));
       }},
      {"prepared histogram",
       [&d, there = std::make_shared<Buffer<double>>(buffer(d.far))](Bits& bits) {
         PreparedHistogram prepared(d.cpu, Dtype::f64, d.near_zero);
         Buffer<std::uint64_t> counts(d.cpu, prepared.numbers());
         Stream stream(d.cpu);
         histogram(stream, *there, prepared, counts).get();
         for (const Histogram& each : prepared.result(counts.read())) add(bits, each);
         add(bits, histogram(stream, *there, Dtype::f64, Bins::even(5, 0, 1e-310)).get());
       }},
      {"row_histograms",
       [&d](Bits& bits) {
         const RowHistograms found = row_histograms(d.cpu, ArrayView(d.f64), 50, d.near_zero);
         bits.add(found.bytes());
         bits.add(found.edges());
         add(bits, found.histogram(49));
       }},
      {"joint_histogram",
       [&d](Bits& bits) {
         const JointHistogram found =
             joint_histogram(d.cpu, {ArrayView(d.f64), ArrayView(d.zeros)}, {d.near_zero, Bins::edges({0, 1e-310, 1})});
         bits.add(found.bytes());
         bits.add(found.density());
       }},
      {"weighted_histogram",
       [&d](Bits& bits) {
         for (const Bins& bins : {d.near_zero, d.tenth_bins}) {
           const WeightedHistogram found =
               weighted_histogram(d.cpu, ArrayView(d.f64), ArrayView(d.f64), bins, {.variances = true});
           bits.add(found.totals());
           bits.add(found.variances());
           bits.add(found.extra_totals());
           bits.add(found.density());
         }
         WeightedHistogramAccumulator state(d.cpu, Dtype::f64, Dtype::f64, d.near_zero);
         state.add(ArrayView(d.least), ArrayView(d.least));
         bits.add(WeightedHistogramAccumulator::from_bytes(d.cpu, state.bytes()).result().totals());
       }},
      {"sort",
       [&d](Bits& bits) {
         std::vector<double> out = d.f64;
         sort(d.cpu, MutableArrayView(out));
         bits.add(out);
         std::vector<std::uint32_t> indices(d.f32.size());
         argsort(d.cpu, ArrayView(d.f32), MutableArrayView(indices));
         bits.add(indices);
         std::vector<float> keys = d.least_f32;
         std::vector<double> values = d.least;
         sort_by_key(d.cpu, MutableArrayView(keys), RecordsView(values));
         bits.add(keys);
         bits.add(values);
         bits.add(is_sorted(d.cpu, ArrayView(d.least)) ? 1 : 0);
         bits.add(is_sorted(d.cpu, ArrayView(d.in_order)) ? 1 : 0);
         std::vector<float> rows = d.f32;
         sort(d.cpu, MutableArrayView(rows), {.rows = 500});
         bits.add(rows);
       }},
      {"searchsorted",
       [&d](Bits& bits) {
         std::vector<std::uint64_t> places(d.least.size());
         searchsorted(d.cpu, ArrayView(d.in_order), ArrayView(d.least), MutableArrayView(places));
         bits.add(places);
       }},
      {"topk",
       [&d](Bits& bits) {
         for (const bool largest : {true, false}) {
           const TopkResult found = topk(d.cpu, d.f64, 100, {.largest = largest});
           bits.add(found.indices());
           bits.add(found.view());
         }
         TopkAccumulator state(d.cpu, Dtype::f32, 10);
         state.add(ArrayView(d.least_f32));
         bits.add(state.result().indices());
       }},
      {"unique",
       [&d](Bits& bits) {
         for (const ArrayView& x : {ArrayView(d.f64), ArrayView(d.f32), ArrayView(d.f16), ArrayView(d.least)}) {
           const UniqueArrays found = unique(d.cpu, x, {.counts = true, .indices = true, .inverse = true});
           bits.add(found.values.bytes);
           bits.add(found.counts);
           bits.add(found.indices);
           bits.add(found.inverse);
           bits.add(run_length(d.cpu, x, {}).values.bytes);
         }
         UniqueAccumulator state(d.cpu, Dtype::f64);
         state.add(ArrayView(d.least));
         state.add(ArrayView(d.f64));
         bits.add(state.result().values.bytes);
         RunAccumulator runs(d.cpu, Dtype::f64);
         runs.add(ArrayView(d.least));
         bits.add(runs.result().values.bytes);
       }},
      {"reduce",
       [&d](Bits& bits) {
         for (const ArrayView& x : {ArrayView(d.f64), ArrayView(d.f32), ArrayView(d.f16), ArrayView(d.least)}) {
           const ReduceResult found = reduce(d.cpu, x, ReduceOp::minmax, {.rows = x.count % 50 == 0 ? 50U : 1U});
           bits.add(found.min_values());
           bits.add(found.max_indices());
           bits.add(reduce(d.cpu, x, ReduceOp::count_nonzero).nonzero());
         }
         ReduceAccumulator state(d.cpu, Dtype::f64, ReduceOp::minmax);
         state.add(ArrayView(d.least));
         bits.add(state.result().min_indices());
       }},
      {"interpolate",
       [](Bits& bits) {
         const double first[] = {0, 0.1, -0x1p-1074};
         const double second[] = {0x1p-1073, 0.3, 0x1p-1074};
         const double weights[] = {0.5, 0.7, 0.5};
         double found[3];
         interpolate(ArrayView(first), ArrayView(second), weights, MutableArrayView(found));
         bits.add(found);
       }},
      {"quantiles",
       [&d](Bits& bits) {
         for (const ArrayView& x : {ArrayView(d.f64), ArrayView(d.f32), ArrayView(d.f16), ArrayView(d.least),
                                    ArrayView(d.least_f32), ArrayView(d.i64)}) {
           bits.add(median(d.cpu, x));
           for (const QuantileMethod method : {QuantileMethod::linear, QuantileMethod::hazen, QuantileMethod::midpoint,
                                               QuantileMethod::inverted_cdf, QuantileMethod::normal_unbiased}) {
             add(bits, exact_quantiles(d.cpu, x, d.quarters, {.method = method}));
             bits.add(quantiles(d.cpu, x, d.quarters, {.method = method}));
           }
           bits.add(nth_element_bits(d.cpu, x, 500));
         }
         QuantileFinder finder(d.cpu, Dtype::f64, d.quarters);
         do finder.add(ArrayView(d.least));
         while (finder.next_pass());
         add(bits, finder.result());
         for (const QuantilePoint& point : quantile_points(QuantileMethod::linear, 1001, d.quarters)) {
           bits.add(point.previous);
           bits.add(point.weight);
         }
       }},
      {"quantiles on a stream",
       [&d, there = std::make_shared<Buffer<double>>(buffer(d.least))](Bits& bits) {
         Stream stream(d.cpu);
         const Buffer<double> result(d.cpu, d.quarters.size());
         const std::vector<QuantilePoint> points = quantile_points(QuantileMethod::linear, there->size(), d.quarters);
         quantiles(stream, *there, Dtype::f64, points, result, Dtype::f64).get();
         bits.add(result.read());
         nan_quantiles(stream, *there, Dtype::f64, QuantileMethod::hazen, d.quarters, result, Dtype::f64).get();
         bits.add(result.read());
         const Buffer<double> one(d.cpu, 1);
         median(stream, *there, Dtype::f64, one).get();
         bits.add(one.read());
         nan_median(stream, *there, Dtype::f64, one).get();
         bits.add(one.read());
       }},
      {"partition",
       [&d](Bits& bits) {
         std::vector<float> parted(d.least_f32.size());
         partition_rows(ArrayView(d.least_f32), 1, d.places, MutableArrayView(parted));
         bits.add(parted);
         std::vector<std::uint64_t> indices(d.least_f32.size());
         argpartition_rows(ArrayView(d.least_f32), 1, d.places, indices);
         bits.add(indices);
         std::vector<double> found(d.places.size());
         elements_at(ArrayView(d.least), 1, d.places, MutableArrayView(found));
         bits.add(found);
         std::vector<double> around(d.f64.size());
         const PartitionResult sizes = partition(d.cpu, ArrayView(d.f64), MutableArrayView(around), 2500);
         bits.add(sizes.less);
         bits.add(sizes.equal);
         bits.add(around);
       }},
      {"convert",
       [&d](Bits& bits) {
         bits.add(convert<double>(d.cpu, d.least_f32));
         bits.add(convert<float>(d.cpu, d.f64));
         bits.add(convert<float>(d.cpu, d.i64));
         bits.add(convert<double>(d.cpu, d.i64));
         bits.add(convert<Half>(d.cpu, d.f32));
         bits.add(convert<double>(d.cpu, d.f16));
         bits.add(convert<float>(d.cpu, d.tenths, {.rounding = Rounding::up}));
       }},
      {"iota",
       [&d](Bits& bits) {
         std::vector<double> out(100);
         const double start = 0.1;
         const double step = unit;
         iota(d.cpu, MutableArrayView(out), &start, &step);
         bits.add(out);
       }},
      {"work in tasks",
       [](Bits& bits) {
         std::vector<double> found(1000);
         runtime::parallel_tasks(found.size(), [&](std::uint64_t task) {
           volatile double third = 3;
           volatile double least = unit;
           found[task] = 1 / third + static_cast<double>(least * 1 != 0);
         });
         bits.add(found);
       }},
  };
}

TEST(FloatingPoint, ResultsDoNotDependOnTheCallersMode) {
  const Data data;
  for (const FloatingPointCall& call : calls_of(data)) expect_same_in_all_modes(call);
}

}  // namespace
}  // namespace masu
