// SPDX-License-Identifier: Apache-2.0
/// @file
/// The k largest or smallest elements and their positions, in order, with the same bits on every device.
///
/// **Order.** That of sort.h: largest first (or smallest first), floats by value, -0 equal to +0. Equal elements are
/// ordered by index, and of those equal to the last one the lowest indices are taken. NaN counts as the largest, or is
/// skipped. Chosen elements keep their bits.
/// **Lengths.** A row may have a length: then only that many of its first elements count. A negative length is 0, one
/// beyond the row is the row's.
/// **Places without an element**, where a row has fewer than k, are the last ones of the row. They get the index 2^64 -
/// 1 (all bits set) and the number that comes last: -infinity of floats for the largest, infinity for the smallest.
/// For integers it is the least, or the greatest, of the dtype.
/// **Limits.** k from 1 to the elements of a row; every dtype; 64-bit sizes; up to 2^32 rows.
/// **Complexity.** O(n) expected for one row, plus O(k log k).
/// **Memory.** The result, and topk_workspace() bytes on a device; on `cpu` about 32 k bytes a thread, in addition to
/// the result. **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; the caller's
/// data is unchanged then. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<float> scores = …;
/// masu::TopkResult best = masu::topk(scores, 10);
/// for (std::uint64_t i = 0; i < best.size(); ++i) use(best.values<float>()[i], best.indices()[i]);
/// @endcode
#pragma once

#include <masu/accumulator.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

struct TopkOptions {
  bool largest = true;              ///< the largest first; false: the smallest first
  NanPolicy nan = NanPolicy::last;  ///< last or skip; those skipped are counted
  /// The data are this many rows of equal length, each with a result of its own. Must divide the elements.
  std::uint64_t rows = 1;
  /// Where not null, a length for each row, of u32, i32, u64 or i64: on the data's device, on `cpu` for host data.
  const BufferBase* lengths = nullptr;
  Dtype lengths_dtype = Dtype::u64;
  /// The dtype of indices in the caller's memory: u64 or i64; u32 or i32, where rows have at most 2^31 elements.
  Dtype index_dtype = Dtype::u64;
  /// Temporary memory to use instead of allocating: at least topk_workspace() bytes on the device, aligned to 16
  /// bytes. Not used on `cpu` and where data comes in pieces.
  const BufferBase* workspace = nullptr;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// The result. A plain value. A row has fewer than k elements if fewer are left by its length, and by NaNs that are
/// skipped.
class MASU_EXPORT TopkResult {
 public:
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return found_.size(); }
  /// Elements that were found in a row. Throws invalid_argument for a row past the end, as the others do.
  [[nodiscard]] std::uint64_t size(std::uint64_t row = 0) const;
  /// size(row) indices, counted from the start of the row.
  [[nodiscard]] std::span<const std::uint64_t> indices(std::uint64_t row = 0) const;
  /// The size(row) elements at these indices. Throws invalid_argument unless T is of the data's dtype.
  template <Element T>
  [[nodiscard]] std::span<const T> values(std::uint64_t row = 0) const {
    return {static_cast<const T*>(values(dtype_of<T>, row)), size(row)};
  }
  /// The same for a dtype known at run time.
  [[nodiscard]] ArrayView view(std::uint64_t row = 0) const { return {dtype_, values(dtype_, row), size(row)}; }
  /// NaNs of the row that were skipped.
  [[nodiscard]] std::uint64_t skipped(std::uint64_t row = 0) const;

 private:
  friend struct TopkParts;
  void check_row(std::uint64_t row) const;
  [[nodiscard]] const void* values(Dtype dtype, std::uint64_t row) const;
  Dtype dtype_ = Dtype::u8;
  std::uint64_t stride_ = 0;  // places of a row
  std::vector<std::uint64_t> found_;
  std::vector<std::uint64_t> skipped_;
  std::vector<std::uint64_t> indices_;
  std::vector<std::byte> values_;
};

/// Finds the top k of data that comes in pieces, in one pass, in memory that depends on k and the pieces only. Indices
/// count from the start of the first piece; count() includes the elements that are skipped.
class MASU_EXPORT TopkAccumulator : public detail::BufferAccumulator<TopkAccumulator> {
 public:
  /// options.rows must be 1, options.lengths null. Throws invalid_argument for k = 0.
  TopkAccumulator(const Device& device, Dtype dtype, std::uint64_t k, const TopkOptions& options = {});

  using BufferAccumulator::add_buffer;
  /// The same, on a stream of that device without waiting. The next piece, merge(), bytes(), result() and the end of
  /// the accumulator wait: until then `data` and `stream` must live. What goes wrong there is thrown, and the piece is
  /// not taken.
  void add_buffer(Stream& stream, const BufferBase& data, Dtype dtype);
  [[nodiscard]] std::uint64_t k() const noexcept;
  /// The top k so far, or all elements in order if there are fewer than k.
  [[nodiscard]] TopkResult result() const;
};

/// Bytes of temporary device memory for the top k of `count` elements: what is allocated when options.workspace is
/// null. 0 on `cpu`.
MASU_EXPORT std::uint64_t topk_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::uint64_t k,
                                         const TopkOptions& options = {});

/// The top k of host data whose type is known at run time, on a device. Throws invalid_argument for k = 0 and where a
/// row has fewer than k elements.
MASU_EXPORT TopkResult topk(const Device& device, const ArrayView& data, std::uint64_t k,
                            const TopkOptions& options = {});
/// The same for device memory, on its device.
MASU_EXPORT TopkResult topk(const BufferBase& data, Dtype dtype, std::uint64_t k, const TopkOptions& options = {});
/// The same, on a stream of the memory's device without waiting. `data`, `stream`, options.lengths and
/// options.workspace must outlive the result's `get()`; options.times is not filled.
MASU_EXPORT Pending<TopkResult> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k,
                                     const TopkOptions& options = {});
/// The same into memory of the same device. `values` holds rows k elements of the dtype, `indices` as many of
/// options.index_dtype. None of these, the data and the lengths may overlap.
MASU_EXPORT void topk(const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values, BufferBase& indices,
                      const TopkOptions& options = {});

/// The same on a stream of that device without waiting. All must outlive the work; options.times is not filled.
MASU_EXPORT Pending<void> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values,
                               BufferBase& indices, const TopkOptions& options = {});

/// The top k of a contiguous host range, on a device.
template <HostRange R>
TopkResult topk(const Device& device, const R& data, std::uint64_t k, const TopkOptions& options = {}) {
  return topk(device, ArrayView(data), k, options);
}
/// The top k of a contiguous host range, on the device that device_for names.
template <HostRange R>
TopkResult topk(const R& data, std::uint64_t k, const TopkOptions& options = {}) {
  const ArrayView view(data);
  return topk(device_for(Work::reading, view.count * size_of(view.dtype)), view, k, options);
}
/// The top k of a buffer, on its device.
template <Element T>
TopkResult topk(const Buffer<T>& data, std::uint64_t k, const TopkOptions& options = {}) {
  return topk(data, dtype_of<T>, k, options);
}
template <Element T>
Pending<TopkResult> topk(Stream& stream, const Buffer<T>& data, std::uint64_t k, const TopkOptions& options = {}) {
  return topk(stream, data, dtype_of<T>, k, options);
}

}  // namespace masu
