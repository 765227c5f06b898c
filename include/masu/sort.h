// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sorting: keys, keys with values, and the order itself (argsort), stably, with the same bits on every device.
///
/// **Order.** Integers by value. Floats by value, -0 equal to +0; NaNs (any sign, any payload) are equal to each other
/// and greater than all else. They are last when ascending, first when descending. Equal elements keep their order,
/// also when descending, so zeros and NaNs keep their bits.
/// **Limits.** Every dtype; 64-bit sizes; values are records of 1 to 64 bytes.
/// **Complexity.** radix: O(n * bytes of a key); merge: O(n log n).
/// **Memory.** Temporary: one copy of keys and values, and at most a quarter of it and 64 KiB, or 3 MiB, more. For
/// argsort on devices, where the keys stay, two copies of them and one of the indices. Values of sizes other than 1, 2,
/// 4, 8 and 16 bytes, and unaligned ones, are gathered at the end: their order twice as well. Many keys of 4 bytes with
/// values or indices take 16 bytes a key (20 where floats have values) and a copy of the values. This is so on devices
/// with much local memory. With less memory, another algorithm is used. sort_workspace() and argsort_workspace() return
/// the bytes. On `cpu` it is at most that; sorted input needs none.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost. An error found before the
/// work begins leaves all data untouched. A device that is lost during the call may leave old and new data mixed. All
/// functions may be called from many threads at once, on different data.
///
/// Example:
/// @code
/// std::vector<float> samples = …;
/// masu::sort(samples);                                              // in place, ascending
/// std::vector<std::uint64_t> order = masu::argsort(samples);        // samples[order[i]] is in order
/// masu::sort_by_key(samples, labels, {.order = masu::Order::descending});
/// @endcode
#pragma once

#include <masu/accumulator.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {

enum class Order { ascending, descending };

/// How a device finds the order. All give the same bits. `cpu` has one way and takes `automatic` alone (unsupported).
enum class SortAlgorithm {
  automatic,  ///< "auto": the plan chooses
  radix,      ///< digit by digit
  merge,      ///< sorted runs, merged
};
MASU_EXPORT std::string_view to_string(SortAlgorithm algorithm) noexcept;
/// Throws invalid_argument, listing the names.
MASU_EXPORT SortAlgorithm sort_algorithm_from_name(std::string_view name);

class PreparedSegments;

struct SortOptions {
  Order order = Order::ascending;
  SortAlgorithm algorithm = SortAlgorithm::automatic;
  /// The data are this many rows of equal length, each sorted by itself. Must divide the elements.
  std::uint64_t rows = 1;
  /// Where not empty: segment s is [segments[s], segments[s + 1]), each sorted by itself; elements outside of the
  /// segments are unchanged. Offsets are non-decreasing and at most the number of elements. Not together with `rows`.
  std::span<const std::uint64_t> segments = {};
  /// Where not null: the segments, made ready for this call. Not together with `rows` or `segments`; `algorithm` is not
  /// used.
  const PreparedSegments* prepared = nullptr;
  /// Temporary memory to use instead of allocating: at least sort_workspace() bytes on the device, aligned to 16
  /// bytes. Not used on `cpu`.
  const BufferBase* workspace = nullptr;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// Bytes of temporary memory for sorting `count` keys with `value_bytes` bytes of value each (0: keys alone), in place
/// or out of place alike. The call allocates as much when options.workspace is null. Segments that are not prepared
/// allocate up to 48 bytes more for each, and a little for each 4,096 keys.
MASU_EXPORT std::uint64_t sort_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                         std::size_t value_bytes = 0, const SortOptions& options = {});
/// The same for argsort with indices of `index_dtype`, u64 or u32.
MASU_EXPORT std::uint64_t argsort_workspace(const Device& device, Dtype dtype, std::uint64_t count, Dtype index_dtype,
                                            const SortOptions& options = {});

/// Segments made ready for calls on a device: checked, and what the kernels need to know of them in memory of the
/// device. A sort of them only gives work to a stream, so that a CUDA graph can capture it:
/// @code
/// const masu::PreparedSegments ready(device, masu::Dtype::f32, n, offsets);
/// masu::Buffer<std::byte> room(device, masu::sort_workspace(device, masu::Dtype::f32, n, 0, {.prepared = &ready}));
/// masu::sort(stream, values, {.prepared = &ready, .workspace = &room});
/// @endcode
/// Memory: 8 bytes a segment on the host; on the device about 48 bytes a segment, and a little for each 4,096 keys.
/// Move-only; may be used by many threads at once, and must outlive the work.
class MASU_EXPORT PreparedSegments {
 public:
  /// For sort() of `count` keys, and sort_by_key() with values of `value_bytes` bytes. Values of 1, 2, 4, 8 and 16
  /// bytes must then be aligned to their size. `offsets`: as SortOptions::segments. Waits until all is there. Throws
  /// as the calls do.
  PreparedSegments(const Device& device, Dtype dtype, std::uint64_t count, std::span<const std::uint64_t> offsets,
                   std::size_t value_bytes = 0);
  /// For argsort() with indices of `index_dtype`.
  static PreparedSegments for_argsort(const Device& device, Dtype dtype, std::uint64_t count,
                                      std::span<const std::uint64_t> offsets, Dtype index_dtype);

  struct State;
  [[nodiscard]] const State& state() const noexcept { return *state_; }

 private:
  explicit PreparedSegments(detail::Hidden<State> state) noexcept;
  detail::Hidden<State> state_;
};

/// Sorts host data in place on a device.
MASU_EXPORT void sort(const Device& device, MutableArrayView data, const SortOptions& options = {});
/// Sorts host data into `result`, of the same dtype and count; the two must not overlap.
MASU_EXPORT void sort(const Device& device, const ArrayView& data, MutableArrayView result,
                      const SortOptions& options = {});
/// Sorts device memory where it is, in place, or into `result`; the two must not overlap.
MASU_EXPORT void sort(BufferBase& data, Dtype dtype, const SortOptions& options = {});
MASU_EXPORT void sort(const BufferBase& data, Dtype dtype, BufferBase& result, const SortOptions& options = {});

/// Sorts keys in place and moves the payload with them: as many values as keys.
MASU_EXPORT void sort_by_key(const Device& device, MutableArrayView keys, RecordsView values,
                             const SortOptions& options = {});
MASU_EXPORT void sort_by_key(BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                             const SortOptions& options = {});

/// The order of the keys: key indices[0] comes first. Indices count from the start of the keys' row or segment. Their
/// dtype is u64, or u32 where no row or segment has more than 2^32 keys. Elements outside of segments get the index of
/// their own place in the data. Keys stay as they are.
MASU_EXPORT void argsort(const Device& device, const ArrayView& keys, MutableArrayView indices,
                         const SortOptions& options = {});
MASU_EXPORT void argsort(const BufferBase& keys, Dtype dtype, BufferBase& indices, Dtype index_dtype,
                         const SortOptions& options = {});

/// Merges sorted runs, stably: run r is elements [runs[2 r], runs[2 r + 1]) of `data`, after the runs before it. Equal
/// elements stay in the order of the runs. `result` has as many elements as the runs together, and does not overlap
/// `data`. `data` is temporary memory of the call: its contents are unspecified afterwards. Of the options only the
/// order is used. Takes O(n log(number of runs)) and no memory: each two runs are read once and written once.
MASU_EXPORT void merge_sorted(BufferBase& data, Dtype dtype, std::span<const std::uint64_t> runs, BufferBase& result,
                              const SortOptions& options = {});
/// The same with values of `value_bytes` bytes, which move with the keys.
MASU_EXPORT void merge_sorted_by_key(BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                                     std::span<const std::uint64_t> runs, BufferBase& result_keys,
                                     BufferBase& result_values, const SortOptions& options = {});

/// Whether every row, or every segment, is in order (elements outside of segments are not compared).
MASU_EXPORT bool is_sorted(const Device& device, const ArrayView& data, const SortOptions& options = {});
MASU_EXPORT bool is_sorted(const BufferBase& data, Dtype dtype, const SortOptions& options = {});

/// The same on a stream of the memory's device without waiting. Buffers and stream must outlive the result's
/// `get()`; options.segments and options.times only the call, and options.times is not filled.
MASU_EXPORT Pending<void> sort(Stream& stream, BufferBase& data, Dtype dtype, const SortOptions& options = {});
MASU_EXPORT Pending<void> sort(Stream& stream, const BufferBase& data, Dtype dtype, BufferBase& result,
                               const SortOptions& options = {});
MASU_EXPORT Pending<void> sort_by_key(Stream& stream, BufferBase& keys, Dtype dtype, BufferBase& values,
                                      std::size_t value_bytes, const SortOptions& options = {});
MASU_EXPORT Pending<void> argsort(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase& indices,
                                  Dtype index_dtype, const SortOptions& options = {});

/// Sorts a contiguous host range in place, on the device that device_for names.
template <HostRange R>
void sort(R&& data, const SortOptions& options = {}) {
  const MutableArrayView view(data);
  sort(device_for(Work::sorting, view.count * size_of(view.dtype)), view, options);
}
template <HostRange R>
void sort(const Device& device, R&& data, const SortOptions& options = {}) {
  sort(device, MutableArrayView(data), options);
}
template <Element T>
void sort(Buffer<T>& data, const SortOptions& options = {}) {
  sort(data, dtype_of<T>, options);
}
/// `data` may be a Buffer<const T> or a Buffer<T>; it stays as it is.
template <class Source, Element T>
requires std::is_same_v<std::remove_const_t<Source>, T>
void sort(const Buffer<Source>& data, Buffer<T>& result, const SortOptions& options = {}) {
  sort(data, dtype_of<T>, result, options);
}
template <Element T>
Pending<void> sort(Stream& stream, Buffer<T>& data, const SortOptions& options = {}) {
  return sort(stream, data, dtype_of<T>, options);
}

template <HostRange K, HostRange V>
void sort_by_key(K&& keys, V&& values, const SortOptions& options = {}) {
  const MutableArrayView view(keys);
  const RecordsView records(values);
  sort_by_key(device_for(Work::sorting, view.count * (size_of(view.dtype) + records.record_bytes)), view, records,
              options);
}
template <Element K, class V>
void sort_by_key(Buffer<K>& keys, Buffer<V>& values, const SortOptions& options = {}) {
  sort_by_key(keys, dtype_of<K>, values, sizeof(V), options);
}

/// The order of a contiguous host range, as u64, or as u32: `argsort<std::uint32_t>(keys)`.
template <class Index = std::uint64_t, HostRange R>
std::vector<Index> argsort(const R& keys, const SortOptions& options = {}) {
  const ArrayView view(keys);
  std::vector<Index> indices(view.count);
  argsort(device_for(Work::sorting, view.count * (size_of(view.dtype) + sizeof(Index))), view,
          MutableArrayView(indices), options);
  return indices;
}
/// The order of a buffer, on its device.
template <class Index = std::uint64_t, Element T>
Buffer<Index> argsort(const Buffer<T>& keys, const SortOptions& options = {}) {
  Buffer<Index> indices(keys.device(), keys.size());
  argsort(keys, dtype_of<T>, indices, dtype_of<Index>, options);
  return indices;
}

template <Element T>
void merge_sorted(Buffer<T>& data, std::span<const std::uint64_t> runs, Buffer<T>& result,
                  const SortOptions& options = {}) {
  merge_sorted(data, dtype_of<T>, runs, result, options);
}
template <Element K, class V>
void merge_sorted_by_key(Buffer<K>& keys, Buffer<V>& values, std::span<const std::uint64_t> runs,
                         Buffer<K>& result_keys, Buffer<V>& result_values, const SortOptions& options = {}) {
  merge_sorted_by_key(keys, dtype_of<K>, values, sizeof(V), runs, result_keys, result_values, options);
}

template <HostRange R>
bool is_sorted(const R& data, const SortOptions& options = {}) {
  return is_sorted(Device::open("cpu"), ArrayView(data), options);
}
template <Element T>
bool is_sorted(const Buffer<T>& data, const SortOptions& options = {}) {
  return is_sorted(data, dtype_of<T>, options);
}

}  // namespace masu
