// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rows and several places of their sorted order: the rows parted around the elements there and the indices that part
/// them, of host memory on the CPU; these elements, of host memory and on every device.
///
/// **Order.** That of sort.h: floats by value, -0 equal to +0, NaN greater than all else; equal elements in input
/// order.
/// **Places** are below the length of a row and ascend, without repetition; 0 is the least element.
/// **Complexity.** O(n) for few places, on one thread for each row; from 16 places on O(n log n), and temporary memory
/// for two copies of a row. A row's temporary memory is else as a rule a twelfth of it. On a device up to 8 places in
/// each of a few rows cost a pass each, more of either a sort, with a copy: elements_at_workspace() bytes.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost. All functions may be called
/// from many threads at once.
///
/// Example:
/// @code
/// std::vector<float> latencies = …;
/// const std::uint64_t places[] = {latencies.size() / 2, latencies.size() - 1};
/// float found[2];
/// masu::elements_at(masu::ArrayView(latencies), 1, places, masu::MutableArrayView(found));
/// @endcode
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/export.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace masu {

/// Parts each of `rows` equal rows of `data` into `result`: at each place stands the element that sorting brings there,
/// what is less lies before it and what is greater behind, its equals beside it. Elements between two of the places
/// keep their order; but several rows of up to 64 elements are sorted. `result` has the dtype and count of `data` and
/// does not overlap it.
MASU_EXPORT void partition_rows(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                                MutableArrayView result);
/// The same of the indices of the elements within their rows, in the same order; as many as elements.
MASU_EXPORT void argpartition_rows(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                                   std::span<std::uint64_t> indices);
/// The elements at the places, row by row: those of the stable order, so -0 and +0 differ; a NaN is the quiet NaN
/// with no other bit set. `result` has the dtype of `data` and rows * places.size() elements.
MASU_EXPORT void elements_at(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                             MutableArrayView result);

/// Options of selections in device memory.
struct SelectionOptions {
  std::uint64_t rows = 1;  ///< the data are this many rows of equal length; must divide the elements
  /// Temporary memory to use instead of allocating: on the device, from a multiple of 16 bytes on. Not used on `cpu`.
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

}  // namespace masu
