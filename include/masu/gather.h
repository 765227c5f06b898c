// SPDX-License-Identifier: Apache-2.0
/// @file
/// Moving elements: gather, scatter, permute, reverse, compact, fill and iota, with the same bits on every device.
///
/// **Elements** of 1 to 64 bytes, any size in between, are moved as they are, bit by bit. **Indices** are u32 or u64.
/// Up to 2^48 elements. With options.rows each array is that many rows of equal length, each treated by itself; indices
/// count from the start of the row.
/// - `gather`: out[i] = in[indices[i]]. As many elements in `out` as indices.
/// - `scatter`: out[indices[i]] = in[i]. Where an index is repeated, the last element is kept, as in NumPy.
///   Elements of `out` that no index names are unchanged.
/// - `permute`: out[i] = in[mask[i]], by one mask for all rows: rows * mask elements in and out. Indices may repeat.
/// - `reverse`: the first becomes the last; `out` may be `in` itself.
/// - `compact`: the elements whose flag (u8) is not 0, in their order. Returns their number; the rest of `out` is
/// unchanged.
/// - `fill`: one element, everywhere. `iota`: element i is start + i step, of integers modulo 2^bits. Floats: i,
/// start and step as f64, multiplied and added with one rounding (fma), then rounded to the dtype, to nearest even.
/// Narrow
///   floats overflow to infinity.
///
/// **Bad input.** An index out of range is an error that names the first one's position and value. So is an `out` of
/// `compact` that is too small. `out` is untouched then. So is an overlap of `out` with an input, except where
/// `reverse` says otherwise.
/// **Complexity.** O(n). **Memory.** On a device gather_workspace(), scatter_workspace() or compact_workspace() bytes;
/// on `cpu` none.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; an error found before the
/// work begins leaves the output untouched. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<std::uint32_t> order = {2, 0, 1};
/// std::vector<float> moved = masu::gather(values, order);  // values[2], values[0], values[1]
/// @endcode
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>
#include <vector>

namespace masu {

struct GatherOptions {
  /// The data are this many rows of equal length. Must divide the elements. Not for compact, fill and iota.
  std::uint64_t rows = 1;
  /// Temporary memory to use instead of allocating: at least what the function's …_workspace() says, on the device,
  /// aligned to 16 bytes. Not used on `cpu`.
  const BufferBase* workspace = nullptr;
  /// For gather, scatter and permute on a stream: two u64 of the device, aligned to 8 bytes. They get the position
  /// of the first index out of range and the index, or twice 2^64 - 1 if there is none. get() throws
  /// nothing of them then.
  const BufferBase* status = nullptr;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// Bytes of temporary device memory for gather and permute. 0 on `cpu`.
MASU_EXPORT std::uint64_t gather_workspace(const Device& device) noexcept;
/// The same for a scatter into `out_count` elements.
MASU_EXPORT std::uint64_t scatter_workspace(const Device& device, std::uint64_t out_count) noexcept;
/// The same for a compaction of `count` elements.
MASU_EXPORT std::uint64_t compact_workspace(const Device& device, std::uint64_t count) noexcept;

/// Host data, on a device.
MASU_EXPORT void gather(const Device& device, const ConstRecordsView& in, const ArrayView& indices,
                        const RecordsView& out, const GatherOptions& options = {});
MASU_EXPORT void scatter(const Device& device, const ConstRecordsView& in, const ArrayView& indices,
                         const RecordsView& out, const GatherOptions& options = {});
MASU_EXPORT void permute(const Device& device, const ConstRecordsView& in, const ArrayView& mask,
                         const RecordsView& out, const GatherOptions& options = {});
MASU_EXPORT void reverse(const Device& device, const ConstRecordsView& in, const RecordsView& out,
                         const GatherOptions& options = {});
MASU_EXPORT std::uint64_t compact(const Device& device, const ConstRecordsView& in, const ArrayView& flags,
                                  const RecordsView& out, const GatherOptions& options = {});
/// `start` and `step` point to one element of out's dtype each.
MASU_EXPORT void iota(const Device& device, MutableArrayView out, const void* start, const void* step,
                      const GatherOptions& options = {});

/// Device memory, where it is: all on one device, in elements of `element_bytes` bytes.
MASU_EXPORT void gather(const BufferBase& in, std::size_t element_bytes, const BufferBase& indices, Dtype index_dtype,
                        BufferBase& out, const GatherOptions& options = {});
MASU_EXPORT void scatter(const BufferBase& in, std::size_t element_bytes, const BufferBase& indices, Dtype index_dtype,
                         BufferBase& out, const GatherOptions& options = {});
MASU_EXPORT void permute(const BufferBase& in, std::size_t element_bytes, const BufferBase& mask, Dtype index_dtype,
                         BufferBase& out, const GatherOptions& options = {});
MASU_EXPORT void reverse(const BufferBase& in, std::size_t element_bytes, BufferBase& out,
                         const GatherOptions& options = {});
/// `flags` has one byte an element.
MASU_EXPORT std::uint64_t compact(const BufferBase& in, std::size_t element_bytes, const BufferBase& flags,
                                  BufferBase& out, const GatherOptions& options = {});
MASU_EXPORT void fill(BufferBase& out, const void* element, std::size_t element_bytes,
                      const GatherOptions& options = {});
MASU_EXPORT void iota(BufferBase& out, Dtype dtype, const void* start, const void* step,
                      const GatherOptions& options = {});

/// The same on a stream of that device without waiting; get() throws the errors of the indices. Buffers,
/// workspace and stream must outlive the result's `get()`; options.times is not filled.
MASU_EXPORT Pending<void> gather(Stream& stream, const BufferBase& in, std::size_t element_bytes,
                                 const BufferBase& indices, Dtype index_dtype, BufferBase& out,
                                 const GatherOptions& options = {});
MASU_EXPORT Pending<void> scatter(Stream& stream, const BufferBase& in, std::size_t element_bytes,
                                  const BufferBase& indices, Dtype index_dtype, BufferBase& out,
                                  const GatherOptions& options = {});
MASU_EXPORT Pending<void> permute(Stream& stream, const BufferBase& in, std::size_t element_bytes,
                                  const BufferBase& mask, Dtype index_dtype, BufferBase& out,
                                  const GatherOptions& options = {});
MASU_EXPORT Pending<void> reverse(Stream& stream, const BufferBase& in, std::size_t element_bytes, BufferBase& out,
                                  const GatherOptions& options = {});
MASU_EXPORT Pending<std::uint64_t> compact(Stream& stream, const BufferBase& in, std::size_t element_bytes,
                                           const BufferBase& flags, BufferBase& out, const GatherOptions& options = {});
/// The same with the number of the selected elements in memory of the device, a u64. If `out` is too small for them,
/// the number is still written. That is no error then, and nothing is moved.
MASU_EXPORT Pending<void> compact(Stream& stream, const BufferBase& in, std::size_t element_bytes,
                                  const BufferBase& flags, BufferBase& out, const BufferBase& number,
                                  const GatherOptions& options = {});
MASU_EXPORT Pending<void> fill(Stream& stream, BufferBase& out, const void* element, std::size_t element_bytes,
                               const GatherOptions& options = {});
MASU_EXPORT Pending<void> iota(Stream& stream, BufferBase& out, Dtype dtype, const void* start, const void* step,
                               const GatherOptions& options = {});

/// Elements of a contiguous host range in the order of indices, on a device.
template <HostRange R, HostRange I>
auto gather(const Device& device, const R& in, const I& indices, const GatherOptions& options = {}) {
  std::vector<std::ranges::range_value_t<R>> out(std::ranges::size(indices));
  gather(device, ConstRecordsView(in), ArrayView(indices), RecordsView(out), options);
  return out;
}
/// The same on the device that device_for names.
template <HostRange R, HostRange I>
auto gather(const R& in, const I& indices, const GatherOptions& options = {}) {
  return gather(device_for(Work::moving), in, indices, options);
}
/// Elements of a buffer in the order of indices, on their device.
template <class T, Element I>
Buffer<std::remove_const_t<T>> gather(const Buffer<T>& in, const Buffer<I>& indices,
                                      const GatherOptions& options = {}) {
  Buffer<std::remove_const_t<T>> out(in.device(), indices.size());
  gather(in, sizeof(T), indices, dtype_of<I>, out, options);
  return out;
}

/// Scatters the elements of a host range to the places of `indices`, on a device.
template <HostRange R, HostRange I, HostRange O>
void scatter(const Device& device, const R& in, const I& indices, O&& out, const GatherOptions& options = {}) {
  scatter(device, ConstRecordsView(in), ArrayView(indices), RecordsView(out), options);
}
/// The same on the device that device_for names.
template <HostRange R, HostRange I, HostRange O>
void scatter(const R& in, const I& indices, O&& out, const GatherOptions& options = {}) {
  scatter(device_for(Work::moving), in, indices, out, options);
}
/// Scatters the elements of a buffer to the places of `indices`, on their device.
template <class T, Element I>
void scatter(const Buffer<T>& in, const Buffer<I>& indices, Buffer<std::remove_const_t<T>>& out,
             const GatherOptions& options = {}) {
  scatter(in, sizeof(T), indices, dtype_of<I>, out, options);
}

/// A host range shuffled by an index mask, on a device.
template <HostRange R, HostRange I>
auto permute(const Device& device, const R& in, const I& mask, const GatherOptions& options = {}) {
  std::vector<std::ranges::range_value_t<R>> out(std::ranges::size(in));
  permute(device, ConstRecordsView(in), ArrayView(mask), RecordsView(out), options);
  return out;
}
/// The same on the device that device_for names.
template <HostRange R, HostRange I>
auto permute(const R& in, const I& mask, const GatherOptions& options = {}) {
  return permute(device_for(Work::moving), in, mask, options);
}
/// A buffer shuffled by an index mask, on its device.
template <class T, Element I>
Buffer<std::remove_const_t<T>> permute(const Buffer<T>& in, const Buffer<I>& mask, const GatherOptions& options = {}) {
  Buffer<std::remove_const_t<T>> out(in.device(), in.size());
  permute(in, sizeof(T), mask, dtype_of<I>, out, options);
  return out;
}

/// Reverses a host range in place, on a device.
template <HostRange R>
void reverse(const Device& device, R&& data, const GatherOptions& options = {}) {
  const RecordsView view(data);
  reverse(device, view, view, options);
}
/// The same on the device that device_for names.
template <HostRange R>
void reverse(R&& data, const GatherOptions& options = {}) {
  reverse(device_for(Work::moving), data, options);
}
/// Reverses a buffer in place.
template <class T>
void reverse(Buffer<T>& data, const GatherOptions& options = {}) {
  reverse(data, sizeof(T), data, options);
}

/// The elements of a host range whose flag is not 0, on a device.
template <HostRange R, HostRange F>
auto compact(const Device& device, const R& in, const F& flags, const GatherOptions& options = {}) {
  std::vector<std::ranges::range_value_t<R>> out(std::ranges::size(in));
  out.resize(compact(device, ConstRecordsView(in), ArrayView(flags), RecordsView(out), options));
  return out;
}
/// The same on the device that device_for names.
template <HostRange R, HostRange F>
auto compact(const R& in, const F& flags, const GatherOptions& options = {}) {
  return compact(device_for(Work::moving), in, flags, options);
}
/// The elements of a buffer whose flag is not 0, on their device.
template <class T, Element F>
Buffer<std::remove_const_t<T>> compact(const Buffer<T>& in, const Buffer<F>& flags, const GatherOptions& options = {}) {
  static_assert(sizeof(F) == 1, "masu::compact: flags have one byte each");
  Buffer<std::remove_const_t<T>> out(in.device(), in.size());
  return out.slice(0, compact(in, sizeof(T), flags, out, options));
}

/// Sets every element of a buffer.
template <class T>
void fill(Buffer<T>& out, const std::type_identity_t<T>& element, const GatherOptions& options = {}) {
  fill(out, &element, sizeof(T), options);
}
/// start, start + step, start + 2 * step, … in a buffer.
template <Element T>
void iota(Buffer<T>& out, const std::type_identity_t<T>& start, const std::type_identity_t<T>& step,
          const GatherOptions& options = {}) {
  iota(out, dtype_of<T>, &start, &step, options);
}
/// The same: `count` new elements, on a device.
template <Element T>
Buffer<T> iota(const Device& device, std::uint64_t count, T start, T step, const GatherOptions& options = {}) {
  Buffer<T> out(device, count);
  iota(out, start, step, options);
  return out;
}

}  // namespace masu
