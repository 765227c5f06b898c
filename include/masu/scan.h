// SPDX-License-Identifier: Apache-2.0
/// @file
/// Scans: for each element the sum, least or greatest of all elements up to it, with the same bits on every device.
///
/// **Rule.** Element i of the result is the sum (the least, the greatest) of elements 0 to i of the input (inclusive).
/// Exclusive: of the elements before i; the first result is then the identity. Rows, or segments that flags begin, are
/// scanned separately.
/// - Sums of integers are taken modulo 2^bits of their dtype. They are taken modulo 2^64 where ScanOptions::result asks
/// for 64 bits,
///   so that -1 adds 2^64 - 1 to sums in u64. The identity is 0.
/// - Sums of floats: each prefix's exact sum, rounded once to the dtype (to nearest, ties to even; an overflow gives
///   infinity). An exact zero is +0. A prefix with NaN or with infinities of both signs is the quiet NaN of positive
///   sign. One with one infinity is that infinity. So rounding errors do not add up, and the order of the elements of a
///   prefix does not matter. The identity is +0.
/// - Least and greatest: the element at the first position of the extreme, with its bits; -0 equals +0. From the first
///   NaN on, the result is that NaN. The identity is the type's greatest (min) or least (max) value, infinity for
///   floats.
/// **Aliasing.** Input and output may be the same memory where their elements are of one size; any other overlap is an
/// error.
/// **Limits.** Every dtype; 64-bit sizes. **Complexity.** O(n).
/// **Memory.** scan_workspace() bytes on a device. **Exceptions.** Error with invalid_argument, unsupported,
/// out_of_memory or device_lost; an error found before the work begins leaves the output untouched. All functions
/// may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<std::uint32_t> lengths = {3, 0, 5};
/// std::vector<std::uint32_t> starts = masu::scan(lengths, {.exclusive = true});  // 0 3 3
/// @endcode
#pragma once

#include <masu/accumulator.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>
#include <masu/sum.h>

#include <cstdint>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {

enum class ScanOp { sum, min, max };
/// "sum", "min", "max".
MASU_EXPORT std::string_view to_string(ScanOp op) noexcept;
/// Throws invalid_argument, listing the names.
MASU_EXPORT ScanOp scan_op_from_name(std::string_view name);

struct ScanOptions {
  ScanOp op = ScanOp::sum;
  bool exclusive = false;
  /// The data are this many rows of equal length, each scanned separately. Must divide the elements.
  std::uint64_t rows = 1;
  /// The results' dtype: by default the input's. Sums of integers may be i64 or u64: each element is taken with its
  /// value, and no converted copy of the input is made. ScanAccumulator has results of the input's dtype only.
  std::optional<Dtype> result = {};
  /// u8, as many as elements, or none: a segment begins at each that is not zero (and at the first of each row). For
  /// host data.
  ArrayView flags = {};
  /// The same for data in device memory, on its device; must not overlap the output.
  const BufferBase* device_flags = nullptr;
  /// Temporary memory to use instead of allocating: at least scan_workspace() bytes on the device, aligned to 16
  /// bytes. Not used on `cpu`.
  const BufferBase* workspace = nullptr;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// Scans data that comes in pieces: each piece's result continues the one before. Move-only; one thread at a time.
class MASU_EXPORT ScanAccumulator {
 public:
  /// options.rows must be 1, and there are no flags.
  ScanAccumulator(const Device& device, Dtype dtype, const ScanOptions& options = {});

  /// Goes on as if the elements of `before`, of the same dtype, had been scanned in front. Only for sums, before the
  /// first piece. So parts of data are scanned apart, when the sums of those in front are known.
  void start_after(const SumAccumulator& before);
  /// Scans the next piece, in host memory; both are of the dtype and of one size, and may be the same memory.
  void scan(const ArrayView& input, MutableArrayView output);
  /// Elements so far.
  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] Times times() const;

 private:
  struct State;
  detail::Hidden<State> state_;
};

/// Bytes of temporary device memory: what is allocated when options.workspace is null. 0 on `cpu`.
MASU_EXPORT std::uint64_t scan_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                         const ScanOptions& options = {});

/// Scans host data, on a device. Input and output have as many elements; the output's dtype is the result's.
MASU_EXPORT void scan(const Device& device, const ArrayView& input, MutableArrayView output,
                      const ScanOptions& options = {});
/// Scans device memory, where it is: both on one device, with as many elements. `dtype` is the input's.
MASU_EXPORT void scan(const BufferBase& input, Dtype dtype, BufferBase& output, const ScanOptions& options = {});
/// The same on a stream of that device without waiting. Buffers and stream must outlive the result's `get()`;
/// options.times is not filled.
MASU_EXPORT Pending<void> scan(Stream& stream, const BufferBase& input, Dtype dtype, BufferBase& output,
                               const ScanOptions& options = {});

/// The scan of a contiguous host range, on a device; as below the results are of the input's type.
template <HostRange R>
auto scan(const Device& device, const R& input, const ScanOptions& options = {}) {
  std::vector<std::remove_cv_t<std::ranges::range_value_t<R>>> output(std::ranges::size(input));
  scan(device, ArrayView(input), MutableArrayView(output), options);
  return output;
}
/// The scan of a contiguous host range, on the device that device_for names.
template <HostRange R>
auto scan(const R& input, const ScanOptions& options = {}) {
  return scan(device_for(Work::moving), input, options);
}
/// The scan of a buffer, on its device.
template <Element T>
Buffer<std::remove_const_t<T>> scan(const Buffer<T>& input, const ScanOptions& options = {}) {
  Buffer<std::remove_const_t<T>> output(input.device(), input.size());
  scan(input, dtype_of<T>, output, options);
  return output;
}
/// The same into a buffer of the same size, which may be the input itself.
template <Element T>
void scan(const Buffer<T>& input, Buffer<std::remove_const_t<T>>& output, const ScanOptions& options = {}) {
  scan(input, dtype_of<T>, output, options);
}

}  // namespace masu
