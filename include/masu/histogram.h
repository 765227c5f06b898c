// SPDX-License-Identifier: Apache-2.0
/// @file
/// Histograms: how many values fall into each bin, exactly, with the same bits on every device.
///
/// **Rule.** The bins have edges e[0] … e[n], computed once on the host exactly as NumPy >= 2 computes them for the
/// dtype. Values and edges are compared in NumPy's common type: f32 for f32 data in even bins, f64 otherwise (64-bit
/// integers are rounded to f64 first). x falls into bin i when e[i] <= x < e[i+1]; the last bin also holds x = e[n]
/// (unless `right_open`). NaN is counted in `nan`, x < e[0] (and -inf) in `below`, x > e[n] (and +inf) in `above`;
/// so sum(counts) + below + above + nan = n, always. Source of the rule: numpy/lib/_histograms_impl.py.
///
/// **Limits.** 1 to 2^31 bins; every dtype but f16; up to 16 interleaved channels; counts are 64-bit.
/// **Complexity.** O(elements + bins); explicit edges O(elements * log bins).
/// **Memory.** 8 bytes a bin for the result; on the CPU a table a thread while that is small; on a device the tables
/// and one staging buffer of at most 256 MiB for host data.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; nothing of the caller's is
/// changed then. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<std::uint8_t> pixels = …;
/// masu::Histogram h = masu::histogram(pixels, masu::Bins::even(256, 0, 256));
/// for (std::uint64_t count : h.counts()) …
/// @endcode
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu {

/// The least and the greatest finite value of some data, as f64 (64-bit integers rounded to it).
struct ValueRange {
  double lo = 0;
  double hi = 0;
  bool single = true;  ///< all finite values compare equal (told in the dtype, before rounding to f64)
};

/// Which bins: a description that does not depend on the data's type. Cheap to copy.
class MASU_EXPORT Bins {
 public:
  /// n equal bins over the data's finite minimum and maximum (0:1 when there is no finite value), widened by 0.5 on
  /// both sides when the two are equal. Costs a pass over the data.
  static Bins even(std::uint64_t n);
  /// n equal bins over [lo, hi]. lo = hi is widened by 0.5 on both sides. Throws when lo > hi or either is not finite.
  static Bins even(std::uint64_t n, double lo, double hi);
  /// n equal bins over a range that was found in data of the histogram's dtype: what even(n) does, in two steps.
  static Bins even(std::uint64_t n, const ValueRange& range);
  /// Bins between given edges, which must not decrease; at least two. An empty bin (e[i] = e[i+1]) counts nothing,
  /// except that the last one holds x = e[n].
  static Bins edges(std::vector<double> edges);
  /// Value v falls into bin v, for integer data; negative values count as below, n and more as above.
  static Bins integers(std::uint64_t n);
  /// What the command line does when nothing is asked: integers of at most 1,024 different possible or present values:
  /// a bin for each value; other integers: about 100 bins of one whole width; floats: 100 bins over the range.
  static Bins for_data(Dtype dtype, const std::optional<ValueRange>& range);

  enum class Kind { even, edges, integers };
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// The number of bins.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// True when the bins need the data's range first.
  [[nodiscard]] bool needs_range() const noexcept { return kind_ == Kind::even && origin_ == Origin::none; }

 private:
  friend struct BinRule;
  enum class Origin { none, given, data };  ///< where lo and hi come from; decides the arithmetic of f32 edges
  Bins(Kind kind, std::uint64_t size) : kind_(kind), size_(size) {}
  Kind kind_;
  Origin origin_ = Origin::none;
  std::uint64_t size_;
  double lo_ = 0;
  double hi_ = 0;
  bool single_ = false;
  std::shared_ptr<const std::vector<double>> edges_;
};

/// How a histogram is counted. Every strategy gives the same counts; where its tables do not fit, the error says which
/// limit it met. The names, but for `automatic` ("auto"), are the steps that a GPU textbook walks through.
enum class Strategy {
  automatic,   ///< "auto": the plan chooses
  sequential,  ///< one loop, one table
  global,      ///< atomic adds to the result in global memory
  private_,    ///< "private": a table for each thread or work-item, then merged
  local,       ///< one table for each work-group in local memory, then merged
  lanes,  ///< replicated tables, the copy chosen by the lane so that no two lanes of a warp meet in one memory bank
};
MASU_EXPORT std::string_view to_string(Strategy strategy) noexcept;
/// Throws invalid_argument, listing the names.
MASU_EXPORT Strategy strategy_from_name(std::string_view name);

/// Where values outside of the range go: to `below` and `above`, or into the first and the last bin.
enum class Outside { drop, clamp };

struct HistogramOptions {
  bool right_open = false;  ///< the last bin does not hold x = e[n], as in CUB and OpenCV
  Outside outside = Outside::drop;
  Strategy strategy = Strategy::automatic;
  unsigned channels = 1;  ///< interleaved samples, 1 to 16; more than 1 only where a list of histograms is returned
};

/// The result. A plain value: copyable, independent of the data, the device and the options.
class MASU_EXPORT Histogram {
 public:
  /// size() counts.
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return counts_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return counts_.size(); }
  /// All size() + 1 edges. f32 edges are exact as doubles.
  [[nodiscard]] std::vector<double> edges() const;
  /// Edge i, 0 <= i <= size().
  [[nodiscard]] double edge(std::uint64_t i) const;
  [[nodiscard]] std::uint64_t below() const noexcept { return below_; }
  [[nodiscard]] std::uint64_t above() const noexcept { return above_; }
  [[nodiscard]] std::uint64_t nan() const noexcept { return nan_; }
  /// How many values were counted, wherever they fell.
  [[nodiscard]] std::uint64_t n() const noexcept;
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  /// The strategy that was used; never `automatic`.
  [[nodiscard]] Strategy strategy() const noexcept { return strategy_; }
  /// Adds the counts of another histogram of the same edges. Throws invalid_argument when the edges differ.
  void merge(const Histogram& other);
  /// Equal edges and equal counts, below, above and nan.
  friend MASU_EXPORT bool operator==(const Histogram& a, const Histogram& b);

 private:
  friend class HistogramAccumulator;
  std::vector<std::uint64_t> counts_;
  std::uint64_t below_ = 0;
  std::uint64_t above_ = 0;
  std::uint64_t nan_ = 0;
  Dtype dtype_ = Dtype::u8;
  Strategy strategy_ = Strategy::sequential;
  std::shared_ptr<const struct BinRule> rule_;
};

/// Seconds that a histogram has spent so far.
struct HistogramTimes {
  double transfer = 0;  ///< moving data to the device and results back (host clock)
  double compute = 0;   ///< counting: device time on OpenCL and CUDA, host clock on `cpu`
};

/// Counts data that comes in pieces: the tables stay on the device from `add` to `add`. Move-only; one thread at a
/// time.
class MASU_EXPORT HistogramAccumulator {
 public:
  /// `bins` must have its range (see Bins::needs_range). Throws as `histogram` does, before any data is read.
  HistogramAccumulator(const Device& device, Dtype dtype, const Bins& bins, const HistogramOptions& options = {});
  HistogramAccumulator(HistogramAccumulator&&) noexcept;
  HistogramAccumulator& operator=(HistogramAccumulator&&) noexcept;
  ~HistogramAccumulator();

  /// Counts a piece of host memory; its count must be a multiple of `channels`. Returns when the memory may be reused.
  void add(const ArrayView& data);
  /// Counts device memory of this accumulator's device, dtype and element type.
  template <Element T>
  void add(const Buffer<T>& data) {
    add_buffer(data, dtype_of<T>);
  }
  /// The histograms so far, one for each channel.
  [[nodiscard]] std::vector<Histogram> result() const;
  [[nodiscard]] HistogramTimes times() const;

  /// The same for data whose type is known at run time; with a stream, counted there while the caller goes on (finish
  /// the stream before `result`).
  void add_buffer(const BufferBase& data, Dtype dtype, Stream* stream = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The range of the finite values; nothing when there are none.
MASU_EXPORT std::optional<ValueRange> finite_range(const Device& device, const ArrayView& data);
MASU_EXPORT std::optional<ValueRange> finite_range(const BufferBase& data, Dtype dtype);
/// The range of two pieces of data of one dtype together.
MASU_EXPORT std::optional<ValueRange> merge(const std::optional<ValueRange>& a, const std::optional<ValueRange>& b);

/// The device for host data of `bytes` bytes when none is named: the one expected to finish first, transfers and
/// start-up included; `cpu` for anything small. MASU_DEVICE overrides.
MASU_EXPORT Device device_for_histogram(std::uint64_t bytes);

/// One histogram for each of `options.channels` interleaved channels of host data, on a device.
MASU_EXPORT std::vector<Histogram> histogram_channels(const Device& device, const ArrayView& data, const Bins& bins,
                                                      const HistogramOptions& options);
/// The same of device memory, where it is.
MASU_EXPORT std::vector<Histogram> histogram_channels(const BufferBase& data, Dtype dtype, const Bins& bins,
                                                      const HistogramOptions& options);
/// The histogram of host data whose type is known at run time, on a device.
MASU_EXPORT Histogram histogram(const Device& device, const ArrayView& data, const Bins& bins,
                                const HistogramOptions& options = {});
/// The histogram of device memory whose type is known at run time, where it is.
MASU_EXPORT Histogram histogram(const BufferBase& data, Dtype dtype, const Bins& bins,
                                const HistogramOptions& options = {});
/// The same, counted on a stream of the memory's device while the caller goes on. `data` and `stream` must outlive the
/// result's `get()`. `bins` must have its range.
MASU_EXPORT Pending<Histogram> histogram(Stream& stream, const BufferBase& data, Dtype dtype, const Bins& bins,
                                         const HistogramOptions& options = {});
/// The histogram of a contiguous host range, on a device.
template <HostRange R>
Histogram histogram(const Device& device, const R& data, const Bins& bins, const HistogramOptions& options = {}) {
  return histogram(device, ArrayView(data), bins, options);
}
/// The histogram of a contiguous host range, on the device that device_for_histogram names.
template <HostRange R>
Histogram histogram(const R& data, const Bins& bins, const HistogramOptions& options = {}) {
  const ArrayView view(data);
  return histogram(device_for_histogram(view.count * size_of(view.dtype)), view, bins, options);
}
/// The histogram of a buffer, on its device.
template <Element T>
Histogram histogram(const Buffer<T>& data, const Bins& bins, const HistogramOptions& options = {}) {
  return histogram(data, dtype_of<T>, bins, options);
}
/// The histogram of a buffer, counted on a stream of its device while the caller goes on. `data` and `stream` must
/// outlive the result's `get()`. `bins` must have its range.
template <Element T>
Pending<Histogram> histogram(Stream& stream, const Buffer<T>& data, const Bins& bins,
                             const HistogramOptions& options = {}) {
  return histogram(stream, data, dtype_of<T>, bins, options);
}

}  // namespace masu
