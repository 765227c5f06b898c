// SPDX-License-Identifier: Apache-2.0
/// @file
/// One histogram for each of many equal blocks of the data (rows of a matrix, records, tiles), counted in one go.
///
/// **Rule.** Row r is elements [r * m, (r + 1) * m) of the data, m elements a row; each row is counted as histogram.h
/// says. With `channels`, a row has a histogram for each channel.
/// **Limits.** 1 to 2^32 rows; rows * channels * bins at most 2^33. **Memory.** 8 bytes a bin, row and channel for the
/// result; on a device as much again. **Exceptions.** As in histogram.h.
///
/// Example:
/// @code
/// masu::RowHistograms rows = masu::row_histograms(samples, 64, masu::Bins::integers(256));
/// rows.counts(63);  // of the last 64th
/// @endcode
#pragma once

#include <masu/histogram.h>

namespace masu {

/// The result: rows() * channels() histograms of the same bins. A plain value.
class MASU_EXPORT RowHistograms {
 public:
  RowHistograms() = default;
  [[nodiscard]] std::uint64_t rows() const noexcept { return all_.rows; }
  [[nodiscard]] unsigned channels() const noexcept { return all_.channels; }
  /// Bins of each histogram.
  [[nodiscard]] std::uint64_t size() const noexcept { return all_.size; }
  /// All counts: rows() * channels() * size(), row by row, channel by channel.
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return all_.bins; }
  [[nodiscard]] std::span<const std::uint64_t> counts(std::uint64_t row, unsigned channel = 0) const;
  [[nodiscard]] std::uint64_t below(std::uint64_t row, unsigned channel = 0) const;
  [[nodiscard]] std::uint64_t above(std::uint64_t row, unsigned channel = 0) const;
  [[nodiscard]] std::uint64_t nan(std::uint64_t row, unsigned channel = 0) const;
  /// One of them as a Histogram of its own. Throws invalid_argument for an index past the end, as the others do.
  [[nodiscard]] Histogram histogram(std::uint64_t row, unsigned channel = 0) const;
  /// All size() + 1 edges.
  [[nodiscard]] std::vector<double> edges() const;
  [[nodiscard]] Dtype dtype() const noexcept { return all_.dtype; }
  [[nodiscard]] Strategy strategy() const noexcept { return all_.strategy; }
  /// Adds the counts of others of as many rows and channels and of the same edges. Throws invalid_argument when these
  /// differ, and where they have 2^63 values or more together.
  void merge(const RowHistograms& other) { all_.merge(other.all_); }
  /// All that they hold but the strategy, little-endian, with a version: equal for equal histograms.
  [[nodiscard]] std::vector<std::byte> bytes() const { return all_.bytes(); }
  /// Throws invalid_argument for anything that bytes() did not write.
  static RowHistograms from_bytes(std::span<const std::byte> bytes) {
    return RowHistograms(detail::Counts::from_bytes(detail::CountKind::rows, bytes));
  }
  /// All counts, then below, above and nan of each histogram: rows() * channels() * (size() + 3) numbers, which merge
  /// by addition as those of a Histogram do.
  [[nodiscard]] std::vector<std::int64_t> integers() const { return all_.integers(); }
  /// Histograms of the same rows, channels and bins with other numbers. Throws invalid_argument unless there are as
  /// many, none negative.
  [[nodiscard]] RowHistograms with_integers(std::span<const std::int64_t> integers) const {
    return RowHistograms(all_.with_integers(integers));
  }
  /// Equal edges, and equal counts, below, above and nan of equally many rows and channels.
  friend bool operator==(const RowHistograms& a, const RowHistograms& b) { return a.all_.equals(b.all_); }

 private:
  friend struct CountShape;
  [[nodiscard]] std::uint64_t index(std::uint64_t row, unsigned channel) const;
  explicit RowHistograms(detail::Counts counts) noexcept : all_(std::move(counts)) {}
  detail::Counts all_{.kind = detail::CountKind::rows, .rows = 0};
};

/// Counts rows of data that comes in pieces, in order. Move-only; one thread at a time.
class MASU_EXPORT RowHistogramAccumulator : public detail::CountAccumulator {
 public:
  /// `rows` rows of `row_elements` elements each, a multiple of options.channels. `bins` must be definite.
  RowHistogramAccumulator(const Device& device, Dtype dtype, const Bins& bins, std::uint64_t rows,
                          std::uint64_t row_elements, const HistogramOptions& options = {});

  /// Counts the next elements in host memory: any number of them, rows may begin and end anywhere. Throws
  /// invalid_argument for more than rows * row_elements in all.
  void add(const ArrayView& data);
  /// The same for device memory.
  void add_buffer(const BufferBase& data, Dtype dtype);
  /// The histograms so far; rows that have not come yet are empty.
  [[nodiscard]] RowHistograms result() const;
};

/// The histograms of `rows` equal rows of host data on a device; `rows` must divide the elements (of a pixel's
/// channels). Bins that depend on the data depend on all of it.
MASU_EXPORT RowHistograms row_histograms(const Device& device, const ArrayView& data, std::uint64_t rows,
                                         const Bins& bins, const HistogramOptions& options = {});
/// The same for device memory, on its device.
MASU_EXPORT RowHistograms row_histograms(const BufferBase& data, Dtype dtype, std::uint64_t rows, const Bins& bins,
                                         const HistogramOptions& options = {});

/// The bins of rows made ready: see PreparedBins.
class MASU_EXPORT PreparedRowHistograms : public PreparedBins {
 public:
  /// `rows` rows of `row_elements` elements each. Throws as RowHistogramAccumulator does.
  PreparedRowHistograms(const Device& device, Dtype dtype, const Bins& bins, std::uint64_t rows,
                        std::uint64_t row_elements, const HistogramOptions& options = {});
  /// The histograms that `row_histograms` has left as numbers(): for each row and channel the counts of its bins, then
  /// below, above and nan. Throws invalid_argument for another number of them.
  [[nodiscard]] RowHistograms result(std::span<const std::uint64_t> counts) const;

 private:
  friend MASU_EXPORT Pending<void> row_histograms(Stream& stream, const BufferBase& data,
                                                  PreparedRowHistograms& prepared, BufferBase& counts,
                                                  const BufferBase* workspace);
};
/// Given to a stream of the memory's device: nothing is waited for, and with a workspace nothing is allocated. `data`
/// has all rows, `counts` prepared.numbers() numbers. These, the workspace and `prepared` must outlive the work.
MASU_EXPORT Pending<void> row_histograms(Stream& stream, const BufferBase& data, PreparedRowHistograms& prepared,
                                         BufferBase& counts, const BufferBase* workspace = nullptr);

template <HostRange R>
RowHistograms row_histograms(const Device& device, const R& data, std::uint64_t rows, const Bins& bins,
                             const HistogramOptions& options = {}) {
  return row_histograms(device, ArrayView(data), rows, bins, options);
}
/// On the device that device_for names.
template <HostRange R>
RowHistograms row_histograms(const R& data, std::uint64_t rows, const Bins& bins,
                             const HistogramOptions& options = {}) {
  const ArrayView view(data);
  return row_histograms(device_for(Work::reading, view.count * size_of(view.dtype)), view, rows, bins, options);
}
template <Element T>
RowHistograms row_histograms(const Buffer<T>& data, std::uint64_t rows, const Bins& bins,
                             const HistogramOptions& options = {}) {
  return row_histograms(data, dtype_of<T>, rows, bins, options);
}

}  // namespace masu
