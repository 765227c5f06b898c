// SPDX-License-Identifier: Apache-2.0
/// @file
/// Weighted histograms: the sum of the weights that fall into each bin, exactly, with the same bits on every device.
/// They are of one column, of rows, and of several columns together.
///
/// **Rule.** Element i has the weight w[i]. It falls into a bin, below, above, or among the NaNs as histogram.h says. A
/// point of several columns falls into a joint bin, outside, or among the NaNs as joint_histogram.h says. Each bin's
/// total is the exact real sum of its weights, rounded once to f64 (to nearest, ties to even). An exact zero, and the
/// total of an empty bin, is +0. Integer weights have exact integer totals besides. A total that does not fit i64 (u64
/// for unsigned weights) is an error that names the bin, or, with `wrap`, is taken modulo 2^64. A bin with a NaN among
/// its weights, or with infinities of both signs, has the quiet NaN 0x7ff8000000000000. One with infinities of one sign
/// has that infinity. With `variances` each bin also has the exact sum of its squared weights, rounded once to f64: the
/// variance of the total of counted events. Nothing depends on the order of the data, on its pieces or on the device.
///
/// **Limits.** Every dtype, for data and weights alike; 1 to 8 columns of one dtype; 1 to 2^32 rows; rows * joint
/// bins at most 2^31. **Memory.** The exact sums. Those of integers and floats of 16, 32, 64 bits take at most 33, 81,
/// 537 bytes a bin and row. Each CPU thread has its own while that is small. On a device 48, 160, 1,072 bytes. With
/// variances about three times as much.
/// **Complexity.** O(elements + bins). **Exceptions.** Error with invalid_argument (also: lengths that differ,
/// overflow), unsupported, out_of_memory or device_lost; nothing of the caller's is changed then.
/// **Method.** U. Kulisch's long accumulator for each bin (Computer Arithmetic and Validity, 2013).
///
/// Example:
/// @code
/// masu::WeightedHistogram h = masu::weighted_histogram(energies, weights, masu::Bins::even(256, 0, 10));
/// for (double total : h.totals()) …
/// @endcode
#pragma once

#include <masu/histogram.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace masu {

struct WeightedOptions {
  bool right_open = false;  ///< the last bin does not hold x = e[n]
  Outside outside = Outside::drop;
  bool variances = false;    ///< sum the squares of the weights too
  std::uint64_t rows = 1;    ///< equal blocks of the data, each with a histogram of its own; only with one column
  std::uint64_t memory = 0;  ///< most bytes of staging memory on a device; 0: what suits the device
  bool wrap = false;         ///< integer totals modulo 2^64, where one that does not fit is an error otherwise
};

/// The result. A plain value: copyable, independent of the data, the device and the options. Of several rows, `row`
/// says which; the functions throw invalid_argument for a row past the end.
class MASU_EXPORT WeightedHistogram {
 public:
  /// Columns of the data.
  [[nodiscard]] unsigned dimensions() const noexcept { return static_cast<unsigned>(rules_.size()); }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  /// Bins of column d.
  [[nodiscard]] std::uint64_t size(unsigned d = 0) const;
  /// All size(d) + 1 edges of column d.
  [[nodiscard]] std::vector<double> edges(unsigned d = 0) const;
  /// The total of each joint bin, the last column's bins next to each other; of one column: of each bin.
  [[nodiscard]] std::span<const double> totals(std::uint64_t row = 0) const { return part(totals_, row, false); }
  /// The exact totals of signed integer weights; empty for other weights.
  [[nodiscard]] std::span<const std::int64_t> signed_totals(std::uint64_t row = 0) const {
    return part(signed_, row, false);
  }
  /// The exact totals of unsigned integer weights; empty for other weights.
  [[nodiscard]] std::span<const std::uint64_t> unsigned_totals(std::uint64_t row = 0) const {
    return part(unsigned_, row, false);
  }
  /// The sum of the squared weights of each bin; empty unless requested.
  [[nodiscard]] std::span<const double> variances(std::uint64_t row = 0) const { return part(variances_, row, false); }

  /// The totals outside all bins, in the same layout: below, above, NaN of one column; outside, NaN of several.
  [[nodiscard]] std::span<const double> extra_totals(std::uint64_t row = 0) const { return part(totals_, row, true); }
  [[nodiscard]] std::span<const std::int64_t> signed_extra_totals(std::uint64_t row = 0) const {
    return part(signed_, row, true);
  }
  [[nodiscard]] std::span<const std::uint64_t> unsigned_extra_totals(std::uint64_t row = 0) const {
    return part(unsigned_, row, true);
  }
  [[nodiscard]] std::span<const double> extra_variances(std::uint64_t row = 0) const {
    return part(variances_, row, true);
  }
  /// The total of the values below the bins, above them, or NaN; of several columns the first two throw.
  [[nodiscard]] double below(std::uint64_t row = 0) const;
  [[nodiscard]] double above(std::uint64_t row = 0) const;
  [[nodiscard]] double nan(std::uint64_t row = 0) const;
  /// The total of the points outside of the bins of several columns; throws where there is one column.
  [[nodiscard]] double outside(std::uint64_t row = 0) const;

  /// totals / their sum / width (volume) of each bin, as numpy.histogram(density=True, weights=…).
  [[nodiscard]] std::vector<double> density(std::uint64_t row = 0) const;
  /// How many elements (points) there were, in all rows together.
  [[nodiscard]] std::uint64_t n() const noexcept { return n_; }
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] Dtype weights_dtype() const noexcept { return weights_dtype_; }
  /// Equal edges and the same bits in all totals and variances.
  friend MASU_EXPORT bool operator==(const WeightedHistogram& a, const WeightedHistogram& b);

 private:
  friend class WeightedHistogramAccumulator;
  friend struct WeightedShape;
  template <class T>
  [[nodiscard]] std::span<const T> part(const std::vector<T>& all, std::uint64_t row, bool extra) const {
    check_row(row);
    if (all.empty()) return {};
    const auto of_row = std::span(all).subspan(row * (joint_bins_ + extras_), joint_bins_ + extras_);
    return extra ? of_row.subspan(joint_bins_) : of_row.first(joint_bins_);
  }
  void check_row(std::uint64_t row) const;
  [[nodiscard]] double extra(std::uint64_t row, bool joint, std::size_t place, const char* name) const;
  std::uint64_t rows_ = 1;
  std::uint64_t joint_bins_ = 0;  // of a row
  std::uint64_t extras_ = 0;      // of a row, after its bins
  std::vector<double> totals_;
  std::vector<double> variances_;
  std::vector<std::int64_t> signed_;
  std::vector<std::uint64_t> unsigned_;
  std::uint64_t n_ = 0;
  Dtype dtype_ = Dtype::f64;
  Dtype weights_dtype_ = Dtype::f64;
  std::vector<std::shared_ptr<const struct BinRule>> rules_;
};

/// Sums weights that come in pieces, in host or device memory. Move-only; one thread at a time.
class MASU_EXPORT WeightedHistogramAccumulator {
 public:
  /// `bins`: one definite entry for each column. With options.rows > 1, each row has `row_elements` elements.
  WeightedHistogramAccumulator(const Device& device, Dtype dtype, Dtype weights, std::span<const Bins> bins,
                               const WeightedOptions& options = {}, std::uint64_t row_elements = 0);
  /// The same for one column.
  WeightedHistogramAccumulator(const Device& device, Dtype dtype, Dtype weights, const Bins& bins,
                               const WeightedOptions& options = {}, std::uint64_t row_elements = 0)
      : WeightedHistogramAccumulator(device, dtype, weights, std::span(&bins, 1), options, row_elements) {}

  /// Adds a piece of host memory: columns and weights of the same length. Rows may begin and end anywhere in it.
  void add(std::span<const ArrayView> columns, const ArrayView& weights);
  void add(const ArrayView& data, const ArrayView& weights) { add(std::span(&data, 1), weights); }
  /// Adds points that lie one after the other, dimensions() coordinates each, in host memory.
  void add_interleaved(const ArrayView& points, const ArrayView& weights);
  /// Adds device memory of this accumulator's device. With a stream, there while the caller goes on (finish the stream
  /// before `result` and `merge`).
  void add_buffers(std::span<const BufferBase* const> columns, Dtype dtype, const BufferBase& weights,
                   Dtype weights_dtype, Stream* stream = nullptr);
  void add_buffer(const BufferBase& data, Dtype dtype, const BufferBase& weights, Dtype weights_dtype,
                  Stream* stream = nullptr) {
    const BufferBase* const column = &data;
    add_buffers(std::span(&column, 1), dtype, weights, weights_dtype, stream);
  }
  /// Adds everything that another accumulator of the same dtypes, edges, rows and options holds, exactly; the other one
  /// may be of another device. Throws invalid_argument where they differ, and where they have 2^63 weights or more
  /// together.
  void merge(const WeightedHistogramAccumulator& other);
  /// The exact state as bytes, little-endian, with a version: the same on every device.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// Throws invalid_argument for anything that bytes() did not write.
  static WeightedHistogramAccumulator from_bytes(const Device& device, std::span<const std::byte> bytes);
  /// The totals so far, rounded. Throws invalid_argument where an integer total does not fit, naming the bin.
  [[nodiscard]] WeightedHistogram result() const;
  /// add() and result() for an accumulator that is given nothing else, neither before nor after. For float weights and
  /// many bins on `cpu`, memory and time go by the bins that are touched.
  [[nodiscard]] WeightedHistogram result_of(std::span<const ArrayView> columns, const ArrayView& weights);
  [[nodiscard]] Times times() const;

 private:
  detail::Hidden<struct WeightedState> state_;
};

/// The bins of a weighted histogram made ready: see PreparedBins. Calls leave numbers() totals in device memory.
class MASU_EXPORT PreparedWeightedHistogram : public PreparedBins {
 public:
  /// As WeightedHistogramAccumulator, and throws as it does.
  PreparedWeightedHistogram(const Device& device, Dtype dtype, Dtype weights, std::span<const Bins> bins,
                            const WeightedOptions& options = {}, std::uint64_t row_elements = 0);
  /// The histogram that `weighted_histogram` has left, without what is empty. Throws invalid_argument for another
  /// number of them than numbers().
  [[nodiscard]] WeightedHistogram result(std::span<const double> totals, std::span<const double> variances = {},
                                         std::span<const std::uint64_t> integers = {}) const;

 private:
  friend MASU_EXPORT Pending<void> weighted_histogram(Stream& stream, std::span<const BufferBase* const> columns,
                                                      const BufferBase& weights, PreparedWeightedHistogram& prepared,
                                                      const struct WeightedTotals& totals, const BufferBase* workspace);
  friend MASU_EXPORT Pending<WeightedHistogram> weighted_histogram(Stream& stream, const BufferBase& data, Dtype dtype,
                                                                   const BufferBase& weights, Dtype weights_dtype,
                                                                   const Bins& bins, const WeightedOptions& options);
};

/// Where a call leaves its results: prepared.numbers() of each. Row by row these are the bins, then below, above and
/// NaN, or of several columns outside and NaN.
struct WeightedTotals {
  BufferBase& totals;                  ///< f64
  BufferBase* variances = nullptr;     ///< f64: where they were requested, and there only
  BufferBase* integers = nullptr;      ///< the exact totals of integer weights modulo 2^64, i64 or u64; may be null
  const BufferBase* status = nullptr;  ///< one u32 that gets 1 where such a total does not fit, else 0; may be null
};
/// Given to a stream of the memory's device: nothing is waited for, and with a workspace nothing is allocated. Rows
/// must all be there. Everything given must outlive the work; `get()` waits for it.
MASU_EXPORT Pending<void> weighted_histogram(Stream& stream, std::span<const BufferBase* const> columns,
                                             const BufferBase& weights, PreparedWeightedHistogram& prepared,
                                             const WeightedTotals& totals, const BufferBase* workspace = nullptr);

/// The weighted histogram of host data on a device. Bins may depend on the data (never on the weights).
MASU_EXPORT WeightedHistogram weighted_histogram(const Device& device, const ArrayView& data, const ArrayView& weights,
                                                 const Bins& bins, const WeightedOptions& options = {});
/// The same for device memory, on its device.
MASU_EXPORT WeightedHistogram weighted_histogram(const BufferBase& data, Dtype dtype, const BufferBase& weights,
                                                 Dtype weights_dtype, const Bins& bins,
                                                 const WeightedOptions& options = {});
/// The same on a stream of the memory's device while the caller goes on. The operands and `stream` must outlive the
/// result's `get()`. `bins` must be definite.
MASU_EXPORT Pending<WeightedHistogram> weighted_histogram(Stream& stream, const BufferBase& data, Dtype dtype,
                                                          const BufferBase& weights, Dtype weights_dtype,
                                                          const Bins& bins, const WeightedOptions& options = {});
/// The weighted joint histogram of columns in host memory, on a device.
MASU_EXPORT WeightedHistogram weighted_joint_histogram(const Device& device, std::span<const ArrayView> columns,
                                                       const ArrayView& weights, std::span<const Bins> bins,
                                                       const WeightedOptions& options = {});
/// The same of columns in device memory, where they are.
MASU_EXPORT WeightedHistogram weighted_joint_histogram(std::span<const BufferBase* const> columns, Dtype dtype,
                                                       const BufferBase& weights, Dtype weights_dtype,
                                                       std::span<const Bins> bins, const WeightedOptions& options = {});
/// The weighted histogram of contiguous host ranges, on a device.
template <HostRange R, HostRange W>
WeightedHistogram weighted_histogram(const Device& device, const R& data, const W& weights, const Bins& bins,
                                     const WeightedOptions& options = {}) {
  return weighted_histogram(device, ArrayView(data), ArrayView(weights), bins, options);
}
/// The same on the device that device_for names.
template <HostRange R, HostRange W>
WeightedHistogram weighted_histogram(const R& data, const W& weights, const Bins& bins,
                                     const WeightedOptions& options = {}) {
  const ArrayView view(data);
  const ArrayView by(weights);
  const std::uint64_t bytes = view.count * size_of(view.dtype) + by.count * size_of(by.dtype);
  return weighted_histogram(device_for(Work::reading, bytes), view, by, bins, options);
}
/// The weighted histogram of buffers, on their device.
template <Element T, Element W>
WeightedHistogram weighted_histogram(const Buffer<T>& data, const Buffer<W>& weights, const Bins& bins,
                                     const WeightedOptions& options = {}) {
  return weighted_histogram(data, dtype_of<T>, weights, dtype_of<W>, bins, options);
}
template <Element T, Element W>
Pending<WeightedHistogram> weighted_histogram(Stream& stream, const Buffer<T>& data, const Buffer<W>& weights,
                                              const Bins& bins, const WeightedOptions& options = {}) {
  return weighted_histogram(stream, data, dtype_of<T>, weights, dtype_of<W>, bins, options);
}

namespace detail {
struct MASU_EXPORT Freed {
  void operator()(void* memory) const noexcept;
};
}  // namespace detail

/// The totals of the weights of 0, 1, 2, …
struct IndexTotals {
  std::unique_ptr<double[], detail::Freed> totals;
  std::uint64_t count = 0;
};

/// The exact total of the weights of each index, rounded once to f64, of data in host memory: at least `least` totals.
/// Runs on the CPU, on all threads. Where few indices occur, time and memory go by those. `indices` are integers;
/// `weights` are f64, f32 or integers of at most 32 bits. Returns nothing for other types (weighted_histogram with
/// integer bins takes them), and for no data. It also returns nothing if an index is negative or 2^31 or more, or
/// `least` is more than 2^31. Throws invalid_argument for different lengths.
MASU_EXPORT std::optional<IndexTotals> weighted_bincount(const ArrayView& indices, const ArrayView& weights,
                                                         std::uint64_t least = 0);

}  // namespace masu
