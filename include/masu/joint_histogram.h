// SPDX-License-Identifier: Apache-2.0
/// @file
/// Joint histograms of up to 8 columns: how many points fall into each joint bin, as `numpy.histogramdd`.
///
/// **Rule.** Point i is (column 0 [i], column 1 [i], …). Each coordinate falls into a bin of its own column's Bins,
/// as bins.h says. An exception: even bins over a given range keep f64 edges for f32 data, as numpy.histogramdd does. A
/// point with a NaN is counted in `nan`; otherwise one with a coordinate in no bin is counted in `outside`. So
/// sum(counts) + outside + nan = n. With `Outside::clamp` coordinates below and above go to their first and last bin.
/// **Limits.** 1 to 8 columns of one dtype; at most 2^31 joint bins. **Memory.** 8 bytes a joint bin for the result, as
/// much again on a device. **Exceptions.** As in histogram.h.
///
/// Example:
/// @code
/// masu::JointHistogram h = masu::joint_histogram(device, {masu::ArrayView(x), masu::ArrayView(y)},
///                                                {masu::Bins::even(100, 0, 1), masu::Bins::even(50, -1, 1)});
/// h.counts()[row * 50 + column];
/// @endcode
#pragma once

#include <masu/histogram.h>

#include <span>
#include <vector>

namespace masu {

/// The result. A plain value.
class MASU_EXPORT JointHistogram {
 public:
  JointHistogram() = default;
  [[nodiscard]] unsigned dimensions() const noexcept { return static_cast<unsigned>(all_.rules.size()); }
  /// Bins of column d.
  [[nodiscard]] std::uint64_t size(unsigned d) const;
  /// All size(d) + 1 edges of column d.
  [[nodiscard]] std::vector<double> edges(unsigned d) const;
  /// The product of all sizes, the last column's bins next to each other.
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return all_.bins; }
  [[nodiscard]] std::uint64_t outside() const noexcept { return all_.outside_at(0); }
  [[nodiscard]] std::uint64_t nan() const noexcept { return all_.outside_at(1); }
  /// The number of points counted, in the bins and outside.
  [[nodiscard]] std::uint64_t n() const noexcept { return all_.n(); }
  /// counts / sum(counts) / volume of each joint bin, as numpy.histogramdd(density=True).
  [[nodiscard]] std::vector<double> density() const;
  [[nodiscard]] Dtype dtype() const noexcept { return all_.dtype; }
  [[nodiscard]] Strategy strategy() const noexcept { return all_.strategy; }
  /// Adds the counts of another histogram of the same edges. Throws invalid_argument when they differ, and
  /// where they have 2^63 points or more together.
  void merge(const JointHistogram& other) { all_.merge(other.all_); }
  /// All that it holds but the strategy, little-endian, with a version: equal for equal histograms.
  [[nodiscard]] std::vector<std::byte> bytes() const { return all_.bytes(); }
  /// Throws invalid_argument for anything that bytes() did not write.
  static JointHistogram from_bytes(std::span<const std::byte> bytes) {
    return JointHistogram(detail::Counts::from_bytes(detail::CountKind::joint, bytes));
  }
  /// The counts, then outside and nan, and a histogram with other such numbers: as Histogram::integers.
  [[nodiscard]] std::vector<std::int64_t> integers() const { return all_.integers(); }
  [[nodiscard]] JointHistogram with_integers(std::span<const std::int64_t> integers) const {
    return JointHistogram(all_.with_integers(integers));
  }
  friend bool operator==(const JointHistogram& a, const JointHistogram& b) { return a.all_.equals(b.all_); }

 private:
  friend struct CountShape;
  explicit JointHistogram(detail::Counts counts) noexcept : all_(std::move(counts)) {}
  detail::Counts all_{.kind = detail::CountKind::joint};
};

/// Counts points that come in pieces. Move-only; one thread at a time.
class MASU_EXPORT JointHistogramAccumulator : public detail::CountAccumulator {
 public:
  /// One entry of `bins`, definite, for each column; options.channels must be 1.
  JointHistogramAccumulator(const Device& device, Dtype dtype, std::span<const Bins> bins,
                            const HistogramOptions& options = {});

  /// Counts points whose columns are in host memory, all of the same dtype and length.
  void add(std::span<const ArrayView> columns);
  /// Counts points stored one after the other, dimensions() coordinates each.
  void add_interleaved(const ArrayView& points);
  /// Counts points whose columns are in device memory; with a stream, there without waiting (finish the
  /// stream before `result`).
  void add_buffers(std::span<const BufferBase* const> columns, Dtype dtype, Stream* stream = nullptr);
  [[nodiscard]] JointHistogram result() const;
};

/// The joint histogram of columns in host memory, on a device. Bins may depend on their column.
MASU_EXPORT JointHistogram joint_histogram(const Device& device, std::span<const ArrayView> columns,
                                           std::span<const Bins> bins, const HistogramOptions& options = {});
/// The same with both as lists.
inline JointHistogram joint_histogram(const Device& device, std::initializer_list<ArrayView> columns,
                                      std::initializer_list<Bins> bins, const HistogramOptions& options = {}) {
  return joint_histogram(device, std::span(columns.begin(), columns.size()), std::span(bins.begin(), bins.size()),
                         options);
}
/// The joint histogram of columns in device memory, where they are.
MASU_EXPORT JointHistogram joint_histogram(std::span<const BufferBase* const> columns, Dtype dtype,
                                           std::span<const Bins> bins, const HistogramOptions& options = {});

/// The bins of several columns made ready: see PreparedBins.
class MASU_EXPORT PreparedJointHistogram : public PreparedBins {
 public:
  /// Throws as JointHistogramAccumulator does.
  PreparedJointHistogram(const Device& device, Dtype dtype, std::span<const Bins> bins,
                         const HistogramOptions& options = {});
  /// The histogram that `joint_histogram` has left as numbers(): the counts, then outside and nan. Throws
  /// invalid_argument for another number of them.
  [[nodiscard]] JointHistogram result(std::span<const std::uint64_t> counts) const;

 private:
  friend MASU_EXPORT Pending<void> joint_histogram(Stream& stream, std::span<const BufferBase* const> columns,
                                                   PreparedJointHistogram& prepared, BufferBase& counts,
                                                   const BufferBase* workspace);
};
/// Given to a stream of the memory's device: nothing is waited for, and with a workspace nothing is allocated. `counts`
/// gets prepared.numbers() numbers. Columns, `counts`, the workspace and `prepared` must outlive the work.
MASU_EXPORT Pending<void> joint_histogram(Stream& stream, std::span<const BufferBase* const> columns,
                                          PreparedJointHistogram& prepared, BufferBase& counts,
                                          const BufferBase* workspace = nullptr);

}  // namespace masu
