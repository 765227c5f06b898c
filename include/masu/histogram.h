// SPDX-License-Identifier: Apache-2.0
/// @file
/// Histograms: how many values fall into each bin, exactly, with the same bits on every device.
///
/// **Rule.** The bins have edges e[0] … e[n], see bins.h. x falls into bin i when e[i] <= x < e[i+1]; the last bin also
/// holds x = e[n] (unless `right_open`). NaN is counted in `nan`, x < e[0] (and -inf) in `below`, x > e[n] (and +inf)
/// in `above`. So sum(counts) + below + above + nan = n, always.
///
/// **Limits.** 1 to 2^31 bins; every dtype; up to 16 interleaved channels; counts are 64-bit. One histogram for each
/// of many rows: row_histogram.h; of several columns together: joint_histogram.h.
/// **Complexity.** O(elements + bins); explicit edges O(elements * log bins) at worst.
/// **Memory.** 8 bytes a bin for the result. On the CPU a table a thread while that is small. On a device the tables,
/// histogram_workspace() bytes of them, and staging buffers for host data (HistogramOptions::memory bounds both).
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; the caller's data is
/// unchanged then. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<std::uint8_t> pixels = …;
/// masu::Histogram h = masu::histogram(pixels, masu::Bins::even(256, 0, 256));
/// for (std::uint64_t count : h.counts()) …
/// @endcode
#pragma once

#include <masu/accumulator.h>
#include <masu/bins.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu {

/// How a histogram is counted. Every strategy gives the same counts; where its tables do not fit, the error names the
/// limit. The names, but for `automatic` ("auto"), are the steps of a GPU textbook.
enum class Strategy {
  automatic,  ///< "auto": the plan chooses
  global,     ///< atomic adds to the result in global memory
  private_,   ///< "private": a table for each thread or work-item, then merged
  local,      ///< one table for each work-group in local memory, then merged
  lanes,      ///< replicated tables, the copy chosen by the lane so that no two lanes of a warp use one memory bank
  packed,     ///< a table of a share of the bins for each work-group, two 16-bit counters a word where no value is too
              ///< frequent. Groups of other shares, if there are several, read the same values
  partitioned,  ///< values are first sorted into parts of the bins, each of which fits a table; then each part is
                ///< counted
};
MASU_EXPORT std::string_view to_string(Strategy strategy) noexcept;
/// Throws invalid_argument, listing the names.
MASU_EXPORT Strategy strategy_from_name(std::string_view name);

/// How values outside of the range are counted: in `below` and `above`, or in the first and the last bin.
enum class Outside { drop, clamp };

struct HistogramOptions {
  bool right_open = false;  ///< the last bin does not hold x = e[n], as in CUB and OpenCV
  Outside outside = Outside::drop;
  Strategy strategy = Strategy::automatic;
  unsigned channels = 1;     ///< interleaved samples, 1 to 16; more than 1 only where a list of histograms is returned
  std::uint64_t memory = 0;  ///< most bytes of staging and temporary memory on a device; 0: what suits the device
  const BufferBase* workspace = nullptr;  ///< temporary memory to use instead of allocating: see histogram_workspace
};

/// A rectangle of an image, in pixels.
struct Region {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 0;
};

/// The layout of an image's pixels in memory, and which of them are counted. A pixel is `channels` elements.
struct ImageLayout {
  std::uint64_t width = 0;       ///< pixels in a row
  std::uint64_t height = 0;      ///< rows
  std::uint64_t pitch = 0;       ///< bytes from one row to the next, a multiple of the element's size; 0: rows touch
  std::optional<Region> region;  ///< which pixels; all of them where there is none
};

struct BinRule;

namespace detail {
enum class CountKind : std::uint8_t { one, rows, joint };
/// The part that all results share: the counts of the bins, and of the elements outside all bins.
struct MASU_EXPORT Counts {
  std::vector<std::uint64_t> bins{};
  std::vector<std::uint64_t> outside{};  // below, above and NaN of each table; of a joint one outside and NaN
  std::vector<std::shared_ptr<const BinRule>> rules{};  // of each column
  CountKind kind = CountKind::one;
  Dtype dtype = Dtype::u8;
  Strategy strategy = Strategy::automatic;
  std::uint64_t rows = 1;
  unsigned channels = 1;
  std::uint64_t size = 0;  // bins of a table

  // One of `outside`; 0 of a result that was made of nothing or moved from: these have no memory.
  [[nodiscard]] std::uint64_t outside_at(std::size_t i) const noexcept { return i < outside.size() ? outside[i] : 0; }
  [[nodiscard]] std::uint64_t n() const noexcept;
  void merge(const Counts& other);
  [[nodiscard]] std::vector<std::byte> bytes() const;
  [[nodiscard]] static Counts from_bytes(CountKind kind, std::span<const std::byte> bytes);
  [[nodiscard]] std::vector<std::int64_t> integers() const;
  [[nodiscard]] Counts with_integers(std::span<const std::int64_t> integers) const;
  [[nodiscard]] bool equals(const Counts& other) const;
};
}  // namespace detail

/// The result. A plain value: copyable, independent of the data, the device and the options.
class MASU_EXPORT Histogram {
 public:
  Histogram() = default;
  /// size() counts.
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return all_.bins; }
  [[nodiscard]] std::uint64_t size() const noexcept { return all_.bins.size(); }
  /// All size() + 1 edges. f32 edges are exact as doubles.
  [[nodiscard]] std::vector<double> edges() const;
  /// Edge i, 0 <= i <= size().
  [[nodiscard]] double edge(std::uint64_t i) const;
  [[nodiscard]] std::uint64_t below() const noexcept { return all_.outside_at(0); }
  [[nodiscard]] std::uint64_t above() const noexcept { return all_.outside_at(1); }
  [[nodiscard]] std::uint64_t nan() const noexcept { return all_.outside_at(2); }
  /// counts / sum(counts) / width of each bin, as numpy.histogram(density=True): the integral over the bins is 1. NaN
  /// where nothing was counted; a bin without width has inf or NaN.
  [[nodiscard]] std::vector<double> density() const;
  /// Entry i is the sum of counts 0 … i.
  [[nodiscard]] std::vector<std::uint64_t> cumulative() const;
  /// The number of values counted, in the bins and outside.
  [[nodiscard]] std::uint64_t n() const noexcept { return all_.n(); }
  [[nodiscard]] Dtype dtype() const noexcept { return all_.dtype; }
  /// The strategy that was used; never `automatic`.
  [[nodiscard]] Strategy strategy() const noexcept { return all_.strategy; }
  /// Adds the counts of another histogram of the same edges. Throws invalid_argument when the edges differ,
  /// and where they have 2^63 values or more together.
  void merge(const Histogram& other) { all_.merge(other.all_); }
  /// All that it holds but the strategy, little-endian, with a version: equal for equal histograms.
  [[nodiscard]] std::vector<std::byte> bytes() const { return all_.bytes(); }
  /// Throws invalid_argument for anything that bytes() did not write.
  static Histogram from_bytes(std::span<const std::byte> bytes) {
    return Histogram(detail::Counts::from_bytes(detail::CountKind::one, bytes));
  }
  /// The counts, then below, above and nan: size() + 3 numbers. Histograms of the same bins are merged by adding these,
  /// while n() stays below 2^63: by MPI_SUM, ncclAllReduce or torch.distributed.all_reduce.
  [[nodiscard]] std::vector<std::int64_t> integers() const { return all_.integers(); }
  /// A histogram of the same bins with other numbers. Throws invalid_argument unless there are size() + 3, none
  /// negative.
  [[nodiscard]] Histogram with_integers(std::span<const std::int64_t> integers) const {
    return Histogram(all_.with_integers(integers));
  }
  /// Equal edges and equal counts, below, above and nan.
  friend bool operator==(const Histogram& a, const Histogram& b) { return a.all_.equals(b.all_); }

 private:
  friend struct CountShape;
  explicit Histogram(detail::Counts counts) noexcept : all_(std::move(counts)) {}
  detail::Counts all_{.strategy = Strategy::global};
};

struct CountState;

namespace detail {
class MASU_EXPORT CountAccumulator {
 public:
  [[nodiscard]] Times times() const;

 protected:
  explicit CountAccumulator(Hidden<CountState> state) noexcept : state_(std::move(state)) {}
  Hidden<CountState> state_;
};
}  // namespace detail

/// Counts data that comes in pieces: the tables stay on the device from `add` to `add`. Move-only; one thread at a
/// time.
class MASU_EXPORT HistogramAccumulator : public detail::CountAccumulator {
 public:
  /// `bins` must be definite (see Bins::needs_data). Throws as `histogram` does, before any data is read.
  HistogramAccumulator(const Device& device, Dtype dtype, const Bins& bins, const HistogramOptions& options = {});

  /// Counts a piece of host memory; its count must be a multiple of `channels`. Returns when the memory may be reused.
  void add(const ArrayView& data);
  /// Counts pixels of an image in host memory. Throws invalid_argument for a region outside of the image, and for an
  /// image that is not inside `data`.
  void add(const ArrayView& data, const ImageLayout& layout);
  /// Counts device memory of this accumulator's device, dtype and element type.
  template <Element T>
  void add(const Buffer<T>& data) {
    add_buffer(data, dtype_of<T>);
  }
  /// The histograms so far, one for each channel.
  [[nodiscard]] std::vector<Histogram> result() const;

  /// The same for data whose type is known at run time; with a stream, counted there without waiting (finish
  /// the stream before `result`).
  void add_buffer(const BufferBase& data, Dtype dtype, Stream* stream = nullptr);
  /// The same for pixels of an image in device memory.
  void add_buffer(const BufferBase& data, Dtype dtype, const ImageLayout& layout, Stream* stream = nullptr);
};

/// The part that all prepared bins share: their tables lie on one device, the kernels are compiled.
/// Made once, they serve any number of calls that do nothing but give work to a stream. Move-only; one thread at a
/// time.
class MASU_EXPORT PreparedBins {
 public:
  PreparedBins(PreparedBins&&) noexcept;
  PreparedBins& operator=(PreparedBins&&) noexcept;

  [[nodiscard]] Dtype dtype() const noexcept;
  [[nodiscard]] const Device& device() const noexcept;
  /// How many 64-bit numbers a call leaves.
  [[nodiscard]] std::uint64_t numbers() const noexcept;
  /// Bytes of temporary memory for `count` elements; 0 on `cpu`.
  [[nodiscard]] std::uint64_t workspace(std::uint64_t count) const;

  struct State;

 protected:
  explicit PreparedBins(std::unique_ptr<State> state) noexcept;
  ~PreparedBins();
  std::unique_ptr<State> state_;
};

/// The bins of one histogram, or of one for each channel, made ready.
/// @code
/// masu::PreparedHistogram ready(device, masu::Dtype::f32, masu::Bins::even(100, 0, 1));
/// masu::Buffer<std::uint64_t> counts(device, ready.numbers());
/// masu::Buffer<std::byte> room(device, ready.workspace(values.size()));
/// masu::histogram(stream, values, ready, counts, &room);  // what a CUDA graph can capture
/// @endcode
class MASU_EXPORT PreparedHistogram : public PreparedBins {
 public:
  /// `bins` must be definite (see Bins::needs_data). `options.workspace` is not used. Waits until all is there. Throws
  /// as `histogram` does.
  PreparedHistogram(const Device& device, Dtype dtype, const Bins& bins, const HistogramOptions& options = {});

  /// Bins of a channel.
  [[nodiscard]] std::uint64_t size() const noexcept;
  /// The histograms of the channels that `histogram` has left as numbers: size() + 3 for each channel. Throws
  /// invalid_argument for another number of them.
  [[nodiscard]] std::vector<Histogram> result(std::span<const std::uint64_t> counts) const;

 private:
  friend MASU_EXPORT Pending<void> histogram(Stream& stream, const BufferBase& data, PreparedHistogram& prepared,
                                             BufferBase& counts, const BufferBase* workspace);
  friend MASU_EXPORT Pending<void> histogram(Stream& stream, const BufferBase& data, PreparedHistogram& prepared,
                                             BufferBase& counts, const BufferBase& from, BufferBase& to,
                                             const BufferBase* workspace);
};

/// Bytes of temporary device memory for counting `count` elements: what is allocated when options.workspace is null,
/// and what options.workspace must have. 0 on `cpu`. Staging buffers for host data are not in it.
MASU_EXPORT std::uint64_t histogram_workspace(const Device& device, Dtype dtype, const Bins& bins,
                                              const HistogramOptions& options, std::uint64_t count);

/// Which value each bin becomes so that an image's values spread evenly over 0 … levels - 1.
/// It is round((cumulative - least) / (n - least) (levels - 1)), half up, in exact integer arithmetic. `least` is the
/// count of the first bin that is not empty (R. C. Gonzalez, R. E. Woods, Digital Image Processing, 3.3.1). All 0 where
/// only one bin is not empty; the formula divides by zero there. Throws invalid_argument for levels outside 2 … 65536
/// and where nothing was counted.
MASU_EXPORT std::vector<std::uint16_t> equalization_map(const Histogram& histogram, std::uint32_t levels = 256);
/// The edge that best separates the counts into two classes (N. Otsu, 1979): values below it, and values from it on. A
/// bin's values are taken as the middle of its edges; among equal maxima of the variance between the classes, the least
/// edge. Throws invalid_argument where fewer than two bins have counts.
MASU_EXPORT double otsu_threshold(const Histogram& histogram);

/// One histogram for each of `options.channels` interleaved channels of host data, on a device.
MASU_EXPORT std::vector<Histogram> histogram_channels(const Device& device, const ArrayView& data, const Bins& bins,
                                                      const HistogramOptions& options);
/// The same for device memory, on its device.
MASU_EXPORT std::vector<Histogram> histogram_channels(const BufferBase& data, Dtype dtype, const Bins& bins,
                                                      const HistogramOptions& options);
/// The same for pixels of an image.
MASU_EXPORT std::vector<Histogram> histogram_channels(const Device& device, const ArrayView& data,
                                                      const ImageLayout& layout, const Bins& bins,
                                                      const HistogramOptions& options);
MASU_EXPORT std::vector<Histogram> histogram_channels(const BufferBase& data, Dtype dtype, const ImageLayout& layout,
                                                      const Bins& bins, const HistogramOptions& options);
/// The histogram of host data whose type is known at run time, on a device.
MASU_EXPORT Histogram histogram(const Device& device, const ArrayView& data, const Bins& bins,
                                const HistogramOptions& options = {});
/// The histogram of device memory whose type is known at run time, where it is.
MASU_EXPORT Histogram histogram(const BufferBase& data, Dtype dtype, const Bins& bins,
                                const HistogramOptions& options = {});
/// The same, with the result in memory of the same device. `counts` gets n + 3 counts of 64 bits: those of the n
/// bins, then below, above and nan. Throws invalid_argument for a `counts` of another size, and one that overlaps
/// `data`.
MASU_EXPORT void histogram(const BufferBase& data, Dtype dtype, const Bins& bins, BufferBase& counts,
                           const HistogramOptions& options = {});
/// The same for prepared bins, given to a stream of the memory's device. With a workspace of
/// prepared.workspace(elements) bytes nothing is allocated, and nothing waited for. `counts` gets size() + 3 numbers
/// for each channel. `data`, `counts` and the workspace must outlive the work, `prepared` too.
MASU_EXPORT Pending<void> histogram(Stream& stream, const BufferBase& data, PreparedHistogram& prepared,
                                    BufferBase& counts, const BufferBase* workspace = nullptr);
/// The same, and copies `from` to `to`, of the same size and the same device. `from` holds what belongs to the
/// counts, such as their edges. Few elements take one launch for both. Throws invalid_argument where `to` overlaps any
/// other, or the sizes differ.
MASU_EXPORT Pending<void> histogram(Stream& stream, const BufferBase& data, PreparedHistogram& prepared,
                                    BufferBase& counts, const BufferBase& from, BufferBase& to,
                                    const BufferBase* workspace = nullptr);
/// The same for bins that this call prepares, with the result as a value. `data` and `stream` must outlive the result's
/// `get()`. `bins` must be definite.
MASU_EXPORT Pending<Histogram> histogram(Stream& stream, const BufferBase& data, Dtype dtype, const Bins& bins,
                                         const HistogramOptions& options = {});
/// The histogram of a contiguous host range, on a device.
template <HostRange R>
Histogram histogram(const Device& device, const R& data, const Bins& bins, const HistogramOptions& options = {}) {
  return histogram(device, ArrayView(data), bins, options);
}
/// The histogram of a contiguous host range, on the device that device_for names.
template <HostRange R>
Histogram histogram(const R& data, const Bins& bins, const HistogramOptions& options = {}) {
  const ArrayView view(data);
  return histogram(device_for(Work::reading, view.count * size_of(view.dtype)), view, bins, options);
}
/// With `bins` equal bins over the data's finite minimum and maximum, as Bins::even(bins).
template <HostRange R>
Histogram histogram(const R& data, std::uint64_t bins, const HistogramOptions& options = {}) {
  return histogram(data, Bins::even(bins), options);
}
/// The histogram of a buffer, on its device.
template <Element T>
Histogram histogram(const Buffer<T>& data, const Bins& bins, const HistogramOptions& options = {}) {
  return histogram(data, dtype_of<T>, bins, options);
}
/// The same, with the result in memory of the same device: see above.
template <Element T>
void histogram(const Buffer<T>& data, const Bins& bins, Buffer<std::uint64_t>& counts,
               const HistogramOptions& options = {}) {
  histogram(data, dtype_of<T>, bins, counts, options);
}
/// The histogram of a buffer, counted on a stream of its device without waiting. `data` and `stream` must
/// outlive the result's `get()`. `bins` must be definite.
template <Element T>
Pending<Histogram> histogram(Stream& stream, const Buffer<T>& data, const Bins& bins,
                             const HistogramOptions& options = {}) {
  return histogram(stream, data, dtype_of<T>, bins, options);
}

}  // namespace masu
