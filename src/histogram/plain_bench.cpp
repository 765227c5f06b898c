// SPDX-License-Identifier: Apache-2.0
// The plain count that the benchmarks hold masu's counts against.
#include "elements/stored_float.h"
#include "histogram/counting_bench.h"
#include "histogram/histogram_reference.h"

#include <masu/joint_histogram.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

namespace masu::bench {
namespace {

enum Place : std::uint64_t { below, above, nan, places };

class Plain {
 public:
  explicit Plain(const HistogramCase& what) : what_(what) {
    const Bins bins = what.definite_bins();
    const Device cpu = Device::open("cpu");
    if (what.columns > 1) {
      edges_ = JointHistogramAccumulator(cpu, what.dtype, std::vector<Bins>(what.columns, bins)).result().edges(0);
    } else {
      edges_ = HistogramAccumulator(cpu, what.dtype, bins).result().front().edges();
      half_ = reference::half_even(BinRule(bins, what.dtype, false));
    }
  }

  // Counts units begin … end - 1 of the data; of rows, these rows alone.
  [[nodiscard]] Tally count(const ArrayView& data, std::uint64_t begin, std::uint64_t end) const {
    return dispatch(data.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* values = static_cast<const T*>(data.data);
      return what_.columns > 1 ? count_points(values, data.count / what_.columns, begin, end)
                               : count_values(values, begin, end);
    });
  }

 private:
  template <class T>
  [[nodiscard]] Tally count_values(const T* values, std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t table = what_.bins + places;
    const std::uint64_t tables = what_.row != 0 ? end - begin : what_.channels;
    const std::uint64_t unit = what_.unit();
    Tally tally(tables * table);
    for (std::uint64_t i = 0; i < (end - begin) * unit; ++i) {
      const std::uint64_t of = what_.row != 0 ? i / unit : i % unit;
      ++tally[of * table + slot(values[begin * unit + i])];
    }
    return tally;
  }

  template <class T>
  [[nodiscard]] Tally count_points(const T* values, std::uint64_t points, std::uint64_t begin,
                                   std::uint64_t end) const {
    std::uint64_t joint_bins = 1;
    for (unsigned column = 0; column < what_.columns; ++column) joint_bins *= what_.bins;
    Tally tally(joint_bins + 2);  // outside and NaN behind the joint bins
    for (std::uint64_t i = begin; i < end; ++i) {
      std::uint64_t joint_bin = 0;
      bool outside = false;
      bool is_nan = false;
      for (unsigned column = 0; column < what_.columns; ++column) {
        const std::uint64_t bin = slot(values[column * points + i]);
        outside = outside || bin >= what_.bins;
        is_nan = is_nan || bin == what_.bins + nan;
        joint_bin = joint_bin * what_.bins + bin;
      }
      ++tally[is_nan ? joint_bins + 1 : outside ? joint_bins : joint_bin];
    }
    return tally;
  }

  template <class T>
  [[nodiscard]] std::uint64_t slot(T value) const {
    double x = 0;
    if constexpr (std::is_same_v<T, Half>) {
      x = reference::half_value(value.bits);
    } else if constexpr (is_stored<T>) {
      x = to_double(value);
    } else {
      x = static_cast<double>(value);
    }
    if (std::isnan(x)) return what_.bins + nan;
    if (x < edges_.front()) return what_.bins + below;
    const bool half_open = what_.kind == HistogramCase::Kind::integers;
    if (x > edges_.back() || (half_open && x == edges_.back())) return what_.bins + above;
    const bool equal_widths = half_open || what_.kind == HistogramCase::Kind::even;
    return equal_widths && !half_ ? near(x) : reference::bin_of(x, edges_, half_);
  }

  // A search among the edges from where x should be: millions of edges lie in no cache.
  [[nodiscard]] std::uint64_t near(double x) const {
    const double part = (x - edges_.front()) / (edges_.back() - edges_.front());
    std::uint64_t bin = std::min(static_cast<std::uint64_t>(part * static_cast<double>(what_.bins)), what_.bins - 1);
    while (x < edges_[bin]) --bin;
    while (bin + 1 < what_.bins && x >= edges_[bin + 1]) ++bin;
    return bin;
  }

  HistogramCase what_;
  std::vector<double> edges_;
  std::optional<reference::HalfEven> half_;
};

}  // namespace

Tally count_plainly(const HistogramCase& what, const ArrayView& data) {
  const Plain plain(what);
  const std::uint64_t units = data.count / what.unit();
  const std::uint64_t pieces = std::max(1U, std::thread::hardware_concurrency());
  std::vector<Tally> parts(pieces);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      threads.emplace_back(
          [&, piece] { parts[piece] = plain.count(data, units * piece / pieces, units * (piece + 1) / pieces); });
    }
  }
  Tally sum = std::move(parts.front());
  for (std::uint64_t piece = 1; piece < pieces; ++piece) {
    if (what.row != 0) {
      sum.insert(sum.end(), parts[piece].begin(), parts[piece].end());
    } else {
      for (std::size_t slot = 0; slot < sum.size(); ++slot) sum[slot] += parts[piece][slot];
    }
  }
  return sum;
}

}  // namespace masu::bench
