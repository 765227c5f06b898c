// SPDX-License-Identifier: Apache-2.0
/// @file
/// Searching: where values would go in sorted data, as numpy.searchsorted, with the same answers on every device.
///
/// **Rule.** For each value v, the number of elements of `sorted` that are less than v (Side::left), or not greater
/// than v (Side::right). The order is that of sort.h: -0 equals +0; NaNs are equal to each other and greater than all
/// else. So the value can be inserted before that element and the data stays sorted. `sorted` must be sorted in
/// options.order; with Order::descending, less and greater change places. Where the data is not sorted, the answers are
/// unspecified numbers of 0 to its size. Empty data and empty values are valid.
/// **Limits.** Every dtype, the same for data and values; 64-bit sizes; answers are u64, or u32 where `sorted` has less
/// than 2^32 elements. A device without fp64 searches f64 too: it compares bits.
/// **Complexity.** O(values * log(sorted)).
/// **Memory.** On a device none in addition to data and answers; on `cpu` at most 256 KiB.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; an error found before the
/// work begins leaves the answers untouched. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<float> edges = {0, 1, 2};
/// std::vector<std::uint64_t> bin = masu::searchsorted(edges, samples, {.side = masu::Side::right});
/// @endcode
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/sort.h>
#include <masu/stream.h>

#include <cstdint>
#include <ranges>
#include <type_traits>
#include <vector>

namespace masu {

/// Where a value is placed among its equals: before all or after all.
enum class Side { left, right };

struct SearchOptions {
  Side side = Side::left;
  Order order = Order::ascending;  ///< of the sorted data
  Times* times = nullptr;          ///< where not null, receives the times of the call
};

/// Searches host data, on a device. `positions` are u64 or u32, as many as values; they must not overlap the others.
MASU_EXPORT void searchsorted(const Device& device, const ArrayView& sorted, const ArrayView& values,
                              MutableArrayView positions, const SearchOptions& options = {});
/// Searches device memory, where it is: all three on one device.
MASU_EXPORT void searchsorted(const BufferBase& sorted, const BufferBase& values, Dtype dtype, BufferBase& positions,
                              Dtype position_dtype, const SearchOptions& options = {});
/// The same on a stream of that device without waiting. Buffers and stream must outlive the result's `get()`;
/// options.times is not filled.
MASU_EXPORT Pending<void> searchsorted(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                                       BufferBase& positions, Dtype position_dtype, const SearchOptions& options = {});

/// Where the values of a host range go in a sorted one, as u64, or as u32: `searchsorted<std::uint32_t>(…)`.
template <class Position = std::uint64_t, HostRange S, HostRange V>
std::vector<Position> searchsorted(const Device& device, const S& sorted, const V& values,
                                   const SearchOptions& options = {}) {
  static_assert(dtype_of<std::ranges::range_value_t<S>> == dtype_of<std::ranges::range_value_t<V>>,
                "masu::searchsorted: sorted data and values must be of one type");
  std::vector<Position> positions(std::ranges::size(values));
  searchsorted(device, ArrayView(sorted), ArrayView(values), MutableArrayView(positions), options);
  return positions;
}
/// The same on the device that device_for names.
template <class Position = std::uint64_t, HostRange S, HostRange V>
std::vector<Position> searchsorted(const S& sorted, const V& values, const SearchOptions& options = {}) {
  return searchsorted<Position>(device_for(Work::moving), sorted, values, options);
}
/// Where the values of a buffer go in a sorted one, on their device.
template <class Position = std::uint64_t, Element S, Element V>
Buffer<Position> searchsorted(const Buffer<S>& sorted, const Buffer<V>& values, const SearchOptions& options = {}) {
  static_assert(dtype_of<S> == dtype_of<V>, "masu::searchsorted: sorted data and values must be of one type");
  Buffer<Position> positions(values.device(), values.size());
  searchsorted(sorted, values, dtype_of<V>, positions, dtype_of<Position>, options);
  return positions;
}

}  // namespace masu
