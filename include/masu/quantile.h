// SPDX-License-Identifier: Apache-2.0
/// @file
/// Places in the sorted order, found without sorting: the n-th element, median, exact quantiles, and the stable
/// partition around the k-th. Every device gives the same bits.
///
/// **Order.** That of sort.h: floats by value, -0 equal to +0, NaN greater than all else. A result that is a zero is
/// +0, one that is NaN the quiet NaN with no other bit set. So which of several equal elements is at a place does not
/// matter.
/// **Quantiles** have NumPy's places (NumPy 2 and later; of f64 quantiles, in f64, from n and q by the method's own
/// formula). Between two neighbours a and b, at a weight t from 0 to 1, lies the real number a + (b - a) t. It is
/// computed as NumPy computes it, rounded at each step: b - a in the dtype; a + (b - a) t in the result's. From t = 1/2
/// on it is b - (b - a) (1 - t). This holds where b - a does not overflow the dtype and, for integers, the result's
/// dtype has a, b and b - a. Else, where NumPy's formula wraps round, overflows or loses digits, the real number is
/// rounded once. Of floats that NumPy lacks all is computed as of the same numbers in f32. A result in such a dtype is
/// that one, rounded once more. With infinities: the element itself at t = 0 and t = 1, and between equal ones; NaN
/// between -inf and inf; else the infinite one. So a quantile is never below a nor above b. Any NaN in the data makes
/// every quantile and the median NaN.
/// **Medians** are (a + b) / 2 of the two in the middle, rounded once.
/// **Complexity.** O(n) a pass over the data: as a rule one to three passes; many quantiles or rows on a device: a
/// sort. **Memory.** quantile_workspace() bytes on a device; on `cpu` a few percent of the data, from 16
/// places on a copy of it. Data that come in pieces take at most 8 MiB a thread; partition takes one copy.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost. An error found before the
/// work begins leaves all data untouched. All functions may be called from many threads at once.
/// **Several places.** partition_rows() and argpartition_rows() part rows of host memory, on the CPU, around the
/// elements at several places. elements_at() gives these elements, of host memory and on every device. Places are below
/// the length of a row and ascend, without repetition; 0 is the least element. Few places take O(n), on one thread for
/// each row, and as a rule a twelfth of the row as temporary memory. From 16 places on they take O(n log n), and two
/// copies of a row. On a device up to 8 places in each of a few rows cost a pass each, more of either a sort, with a
/// copy.
///
/// Method: R. J. Hyndman, Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50(4), 1996.
///
/// Example:
/// @code
/// std::vector<float> latencies = …;
/// const double places[] = {0.5, 0.99};
/// std::vector<double> found = masu::quantiles(latencies, places);
/// const std::uint64_t last[] = {latencies.size() / 2, latencies.size() - 1};
/// float median_and_last[2];
/// masu::elements_at(masu::ArrayView(latencies), 1, last, masu::MutableArrayView(median_and_last));
/// @endcode
#pragma once

#include <masu/accumulator.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>
#include <masu/version.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {

/// Partitions each of `rows` equal rows of `data` into `result`. Each place gets the element that sorting brings there.
/// Less elements lie before it, greater ones after it, equal ones beside it. Elements between two of the places
/// keep their order; but several rows of up to 64 elements are sorted. `result` has the dtype and count of `data` and
/// does not overlap it.
MASU_EXPORT void partition_rows(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                                MutableArrayView result);
/// The same of the indices of the elements within their rows, in the same order; as many as elements.
MASU_EXPORT void argpartition_rows(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                                   std::span<std::uint64_t> indices);
/// The elements at the places, row by row. They are those of the stable order, so -0 and +0 differ. A NaN is the quiet
/// NaN with no other bit set. `result` has the dtype of `data` and rows * places.size() elements.
MASU_EXPORT void elements_at(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                             MutableArrayView result);

/// Options of selections in device memory.
struct SelectionOptions {
  std::uint64_t rows = 1;  ///< the data are this many rows of equal length; must divide the elements
  /// Temporary memory to use instead of allocating: on the device, aligned to 16 bytes. Not used on `cpu`.
  const BufferBase* workspace = nullptr;
};
/// Bytes of temporary memory of elements_at() for `places` places in rows of `count` elements in all. 0 on `cpu`.
MASU_EXPORT std::uint64_t elements_at_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                                std::size_t places, const SelectionOptions& options = {});
/// The same of memory of the stream's device, to memory there; nothing waits. `result` has rows * places.size()
/// elements of the dtype and does not overlap the data.
MASU_EXPORT Pending<void> elements_at(Stream& stream, const BufferBase& data, Dtype dtype,
                                      std::span<const std::uint64_t> places, const BufferBase& result,
                                      const SelectionOptions& options = {});

/// How a quantile's place is computed, with NumPy's names and meanings.
enum class QuantileMethod {
  inverted_cdf,
  averaged_inverted_cdf,
  closest_observation,
  interpolated_inverted_cdf,
  hazen,
  weibull,
  linear,
  median_unbiased,
  normal_unbiased,
  lower,
  higher,
  midpoint,
  nearest,
};
MASU_EXPORT std::string_view to_string(QuantileMethod method) noexcept;
/// Throws invalid_argument, listing the names.
MASU_EXPORT QuantileMethod quantile_method_from_name(std::string_view name);

struct QuantileOptions {
  QuantileMethod method = QuantileMethod::linear;
  /// The data are this many rows of equal length, each with results of its own. Must divide the elements.
  std::uint64_t rows = 1;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// A quantile. Methods that choose an element rather than compute between two (inverted_cdf, closest_observation,
/// lower, higher, nearest) give the element too.
struct Quantile {
  double value = 0;         ///< as f64; a 64-bit integer that was chosen is rounded here, and exact in `bits`
  std::uint64_t bits = 0;   ///< the chosen element, its bits in the lowest bytes
  bool is_element = false;  ///< `bits` is set
  friend bool operator==(const Quantile& a, const Quantile& b) {
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value) && a.bits == b.bits &&
           a.is_element == b.is_element;
  }
};

/// Finds quantiles of data that comes in pieces and may have to come several times:
/// @code
/// masu::QuantileFinder finder(device, masu::Dtype::f32, quantiles);
/// do {
///   for (…) finder.add(piece);
/// } while (finder.next_pass());
/// std::vector<masu::Quantile> found = finder.result();
/// @endcode
/// One pass for 8- and 16-bit data, as a rule two for the others, never more than eight. The result does not depend on
/// the pieces or their order. Every pass must give the same elements, in any order; count() is the elements of one
/// pass. merge() and from_bytes() require the same pass and the same kind of device (`cpu` or none).
class MASU_EXPORT QuantileFinder : public detail::BufferAccumulator<QuantileFinder> {
 public:
  /// Throws invalid_argument for a q that is not within 0 … 1. options.rows must be 1.
  QuantileFinder(const Device& device, Dtype dtype, std::span<const double> q, const QuantileOptions& options = {});

  /// In place of add(): all the data, or this finder's part of it, which must stay there unchanged until the passes
  /// have ended. As a rule it is then read once. The first pass takes `samples` elements of it. The second one counts
  /// what is below and between elements of all samples. It keeps copies of the latter, a few percent, and the other
  /// passes read these. With 0 samples, where the samples mislead and where elements have less than 4 bytes passes go
  /// over all data. Parts give samples in proportion to their elements, 2^14 to 2^15 in all are a good number; all
  /// parts give some or all none.
  void hold(const ArrayView& data, std::uint64_t samples);
  /// The same of memory of this finder's device.
  void hold_buffer(const BufferBase& data, Dtype dtype, std::uint64_t samples);
  /// For a finder that holds a part of the data. Takes what the finders of all parts have found in this pass, as their
  /// merged bytes(). Comes before next_pass(). Throws invalid_argument for what from_bytes() refuses, and for other
  /// quantiles.
  void take(std::span<const std::byte> bytes);
  /// Ends a pass. True when all the data has to be given once more. Throws invalid_argument where there was no data.
  [[nodiscard]] bool next_pass();
  /// The quantiles in the order of q, once next_pass() was false.
  [[nodiscard]] std::vector<Quantile> result() const;
};

/// Bytes of temporary device memory that the functions below allocate for `count` elements in all. 0 on `cpu`.
MASU_EXPORT std::uint64_t quantile_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                             const QuantileOptions& options = {});

/// The quantiles of host data, row by row, in the order of q: rows * q.size() of them. Throws invalid_argument for a q
/// that is not within 0 … 1, and for empty rows.
MASU_EXPORT std::vector<Quantile> exact_quantiles(const Device& device, const ArrayView& data,
                                                  std::span<const double> q, const QuantileOptions& options = {});
/// The same for device memory, on its device.
MASU_EXPORT std::vector<Quantile> exact_quantiles(const BufferBase& data, Dtype dtype, std::span<const double> q,
                                                  const QuantileOptions& options = {});
/// Their values alone.
MASU_EXPORT std::vector<double> quantiles(const Device& device, const ArrayView& data, std::span<const double> q,
                                          const QuantileOptions& options = {});
MASU_EXPORT std::vector<double> quantiles(const BufferBase& data, Dtype dtype, std::span<const double> q,
                                          const QuantileOptions& options = {});

/// The median as numpy.median has it: the middle element, or the mean of the two in the middle. It is rounded once:
/// to the dtype of floats, to f64 for integers.
MASU_EXPORT double median(const Device& device, const ArrayView& data);
MASU_EXPORT double median(const BufferBase& data, Dtype dtype);

/// The medians of rows of device memory to memory there: of floats in their dtype, else in f64. Nothing waits. A zero
/// is +0 as with NumPy, whose sum begins with it, but -0 where half of a negative sum underflows. NaN is the quiet NaN.
/// Temporary memory: elements_at_workspace() of two places. Throws invalid_argument for empty rows.
MASU_EXPORT Pending<void> median(Stream& stream, const BufferBase& data, Dtype dtype, const BufferBase& result,
                                 const SelectionOptions& options = {});

/// One quantile of a row: the element at place `previous` of the sorted order, or the interpolation between it and
/// the one at `next`. With a and b for these: from_previous a + (b - a) weight, from_next b - (b - a) weight.
struct QuantilePoint {
  enum class Kind : std::uint8_t { element, from_previous, from_next };
  std::uint64_t previous = 0;
  std::uint64_t next = 0;
  double weight = 0;
  Kind kind = Kind::element;
};
/// Where the quantiles of rows of `length` elements lie. Throws invalid_argument for a q that is not within 0 … 1, and
/// for length 0.
MASU_EXPORT std::vector<QuantilePoint> quantile_points(QuantileMethod method, std::uint64_t length,
                                                       std::span<const double> q);
/// The quantiles at these points of rows of device memory to memory there, as many as rows for each point, one
/// point after the other. Nothing waits. `result_dtype`: that of the data where all points are elements, or a
/// float. Elements (of 64-bit integers by way of f64) and weights are rounded to it. All is computed in it but b - a of
/// floats, by the rule above. A zero has the sign that comes out; NaN is the quiet NaN. Throws invalid_argument for
/// places that are not below the length of a row, and for empty rows.
MASU_EXPORT Pending<void> quantiles(Stream& stream, const BufferBase& data, Dtype dtype,
                                    std::span<const QuantilePoint> points, const BufferBase& result, Dtype result_dtype,
                                    const SelectionOptions& options = {});
/// Writes to result[i] the number between first[i] and second[i] at the weight weights[i], by the rule above. Requires
/// first[i] <= second[i] and weights from 0 to 1, where they differ. All arguments are in host memory and have equal
/// counts; `result` is of floats. A result is NaN where first[i] or second[i] is NaN. Throws invalid_argument for
/// other dtypes, counts, weights and orders; what stands in `result` then is not defined.
MASU_EXPORT void interpolate(const ArrayView& first, const ArrayView& second, std::span<const double> weights,
                             MutableArrayView result);
/// Bytes of its temporary memory for `count` elements in all. 0 on `cpu`.
MASU_EXPORT std::uint64_t quantiles_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                              std::span<const QuantilePoint> points,
                                              const SelectionOptions& options = {});

/// Medians and quantiles of the elements that are not NaN in each row, in device memory, as median() and quantiles()
/// give them. A row of NaNs gives NaN. Nothing waits: the rows are sorted, and the device computes where a quantile
/// lies among the row's numbers, by the method's formula in f64. `result_dtype`: a float, or that of the data where the
/// method chooses elements.
MASU_EXPORT Pending<void> nan_median(Stream& stream, const BufferBase& data, Dtype dtype, const BufferBase& result,
                                     const SelectionOptions& options = {});
MASU_EXPORT Pending<void> nan_quantiles(Stream& stream, const BufferBase& data, Dtype dtype, QuantileMethod method,
                                        std::span<const double> q, const BufferBase& result, Dtype result_dtype,
                                        const SelectionOptions& options = {});
/// Bytes of temporary memory of both for `count` elements in all. 0 on `cpu`.
MASU_EXPORT std::uint64_t nan_quantiles_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                                  const SelectionOptions& options = {});

/// The bits of the element at place n of the sorted order (0 is the least), in the lowest bytes. Throws
/// invalid_argument for an n that is not below the elements.
MASU_EXPORT std::uint64_t nth_element_bits(const Device& device, const ArrayView& data, std::uint64_t n);
MASU_EXPORT std::uint64_t nth_element_bits(const BufferBase& data, Dtype dtype, std::uint64_t n);

/// The result of a partition: `less` elements, then `equal` ones, then the rest, which is greater.
struct PartitionResult {
  std::uint64_t less = 0;
  std::uint64_t equal = 0;
  friend bool operator==(const PartitionResult&, const PartitionResult&) = default;
};
/// Partitions data around the element at place k of the sorted order: the less, the equal, then the greater elements,
/// each in input order. Elements keep their bits. Throws invalid_argument for a k that is not below the elements.
MASU_EXPORT PartitionResult partition(const Device& device, MutableArrayView data, std::uint64_t k);
/// Out of place, into `result` of the same dtype and count; the two must not overlap.
MASU_EXPORT PartitionResult partition(const Device& device, const ArrayView& data, MutableArrayView result,
                                      std::uint64_t k);
/// The same for device memory, on its device.
MASU_EXPORT PartitionResult partition(BufferBase& data, Dtype dtype, std::uint64_t k);
MASU_EXPORT PartitionResult partition(const BufferBase& data, Dtype dtype, BufferBase& result, std::uint64_t k);

/// Memory for a partition on the device of the data, apart from it and each other.
struct PartitionTargets {
  const BufferBase& result;  ///< as many elements as the data has
  const BufferBase& sizes;   ///< two u64: how many elements are less than the one at the place, and equal to it
};
/// Bytes of temporary memory of the two functions that follow. 0 on `cpu`.
MASU_EXPORT std::uint64_t partition_workspace(const Device& device, Dtype dtype, std::uint64_t count);
/// Partitions device memory, to memory there; nothing waits. `workspace`: null, or partition_workspace() bytes, on the
/// device, aligned to 16 bytes;
/// not used on `cpu`.
MASU_EXPORT Pending<void> partition(Stream& stream, const BufferBase& data, Dtype dtype, const PartitionTargets& to,
                                    std::uint64_t k, const BufferBase* workspace = nullptr);
/// The same of the elements' indices, u64 or u32, which are written in place of the elements.
MASU_EXPORT Pending<void> argpartition(Stream& stream, const BufferBase& data, Dtype dtype, const PartitionTargets& to,
                                       Dtype index_dtype, std::uint64_t k, const BufferBase* workspace = nullptr);

template <HostRange R>
std::vector<double> quantiles(const Device& device, const R& data, std::span<const double> q,
                              const QuantileOptions& options = {}) {
  return quantiles(device, ArrayView(data), q, options);
}
template <HostRange R>
std::vector<double> quantiles(const R& data, std::span<const double> q, const QuantileOptions& options = {}) {
  const ArrayView view(data);
  return quantiles(device_for(Work::reading, view.count * size_of(view.dtype)), view, q, options);
}
template <Element T>
std::vector<double> quantiles(const Buffer<T>& data, std::span<const double> q, const QuantileOptions& options = {}) {
  return quantiles(data, dtype_of<T>, q, options);
}

/// One quantile: quantile(x, 0.5) is the median.
template <HostRange R>
double quantile(const R& data, double q, const QuantileOptions& options = {}) {
  return quantiles(data, std::span<const double>(&q, 1), options).front();
}
template <Element T>
double quantile(const Buffer<T>& data, double q, const QuantileOptions& options = {}) {
  return quantiles(data, dtype_of<T>, std::span<const double>(&q, 1), options).front();
}

template <HostRange R>
double median(const R& data) {
  const ArrayView view(data);
  return median(device_for(Work::reading, view.count * size_of(view.dtype)), view);
}
template <Element T>
double median(const Buffer<T>& data) {
  return median(data, dtype_of<T>);
}

/// The element at place n of the sorted order.
template <HostRange R>
std::ranges::range_value_t<R> nth_element(const R& data, std::uint64_t n) {
  const ArrayView view(data);
  const std::uint64_t bits = nth_element_bits(device_for(Work::reading, view.count * size_of(view.dtype)), view, n);
  std::ranges::range_value_t<R> value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <Element T>
std::remove_cv_t<T> nth_element(const Buffer<T>& data, std::uint64_t n) {
  const std::uint64_t bits = nth_element_bits(data, dtype_of<T>, n);
  std::remove_cv_t<T> value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <HostRange R>
PartitionResult partition(R&& data, std::uint64_t k) {
  const MutableArrayView view(data);
  return partition(device_for(Work::reading, view.count * size_of(view.dtype)), view, k);
}
template <Element T>
PartitionResult partition(Buffer<T>& data, std::uint64_t k) {
  return partition(data, dtype_of<T>, k);
}

}  // namespace masu
