// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transposing a matrix of elements of any size, with the same bits on every device.
///
/// **Rule.** `in` holds `rows` x `columns` elements, row by row (C order); `out` gets columns x rows:
/// out[c * rows + r] = in[r * columns + c]. Elements are moved as they are, bit by bit.
/// **Limits.** Elements of 1 to 64 bytes, any size in between; up to 2^48 elements; rows or columns may be 0 or 1.
/// **Overlap.** `out` may be `in` itself where the matrix is square: it is transposed in place. Any other overlap is an
/// error.
/// **Complexity.** O(rows * columns). **Memory.** None in addition to the data; host data on a device takes twice its
/// size.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; an error found before the
/// work begins leaves `out` untouched. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<float> image = …;  // 480 rows of 640
/// std::vector<float> transposed = masu::transpose(image, 480, 640);
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

struct TransposeOptions {
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// Transposes host data, on a device. Both views hold rows * columns records of one size.
MASU_EXPORT void transpose(const Device& device, const ConstRecordsView& in, std::uint64_t rows, std::uint64_t columns,
                           const RecordsView& out, const TransposeOptions& options = {});
/// The same of device memory, where it is: both of rows * columns elements of `element_bytes` bytes, on one device.
MASU_EXPORT void transpose(const BufferBase& in, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns,
                           BufferBase& out, const TransposeOptions& options = {});
/// The same on a stream of that device without waiting. Buffers and stream must outlive the result's `get()`;
/// options.times is not filled.
MASU_EXPORT Pending<void> transpose(Stream& stream, const BufferBase& in, std::size_t element_bytes, std::uint64_t rows,
                                    std::uint64_t columns, BufferBase& out, const TransposeOptions& options = {});

/// Host data whose type is known at run time.
inline void transpose(const Device& device, const ArrayView& in, std::uint64_t rows, std::uint64_t columns,
                      MutableArrayView out, const TransposeOptions& options = {}) {
  transpose(device, ConstRecordsView(in), rows, columns, RecordsView(out), options);
}

/// The transpose of a contiguous host range, on a device.
template <HostRange R>
auto transpose(const Device& device, const R& in, std::uint64_t rows, std::uint64_t columns,
               const TransposeOptions& options = {}) {
  std::vector<std::ranges::range_value_t<R>> out(std::ranges::size(in));
  transpose(device, ConstRecordsView(in), rows, columns, RecordsView(out), options);
  return out;
}
/// The same on the device that device_for names.
template <HostRange R>
auto transpose(const R& in, std::uint64_t rows, std::uint64_t columns, const TransposeOptions& options = {}) {
  return transpose(device_for(Work::moving), in, rows, columns, options);
}
/// The transpose of a buffer, on its device.
template <class T>
Buffer<std::remove_const_t<T>> transpose(const Buffer<T>& in, std::uint64_t rows, std::uint64_t columns,
                                         const TransposeOptions& options = {}) {
  Buffer<std::remove_const_t<T>> out(in.device(), in.size());
  transpose(in, sizeof(T), rows, columns, out, options);
  return out;
}

}  // namespace masu
