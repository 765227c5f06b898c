// SPDX-License-Identifier: Apache-2.0
/// @file
/// Least and greatest elements, their positions, and the number of non-zero elements, with the same bits on every
/// device.
///
/// **Rule.** The extreme is the element at the first position of the least (or greatest) value, with its bits. -0
/// equals +0, so the first of them decides. NaN propagates, as in numpy.min and numpy.argmin: where there is one,
/// the first NaN is the result, and its place is that of the extreme. With NanPolicy::skip NaNs are left out. Where
/// all elements are NaN, the value is the first NaN, as in numpy.nanmin, and its place is an error, as in
/// numpy.nanargmin. An element counts as not zero unless it is 0, -0 or +0: a NaN does.
/// **Empty input.** An extreme of nothing is an error; nothing of it is not zero, all() of it is true, any() is false.
/// **Limits.** Every dtype; 64-bit sizes; a device without fp64 takes f64 too: it compares bits.
/// **Complexity.** O(n): the data is read once.
/// **Memory.** reduce_workspace() bytes on a device. **Exceptions.** Error with invalid_argument, unsupported,
/// out_of_memory or device_lost. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<float> samples = …;
/// const auto [least, greatest] = masu::minmax(samples);
/// const std::uint64_t place = masu::argmax(samples, {.nan = masu::NanPolicy::skip});
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
#include <type_traits>
#include <utility>
#include <vector>

namespace masu {

/// The operation.
enum class ReduceOp { min, max, minmax, count_nonzero };
/// "min", "max", "minmax", "count-nonzero".
MASU_EXPORT std::string_view to_string(ReduceOp op) noexcept;

struct ReduceOptions {
  NanPolicy nan = NanPolicy::propagate;  ///< propagate or skip
  /// The data are this many rows of equal length, each with a result of its own. Must divide the elements. Rows of no
  /// elements are empty input.
  std::uint64_t rows = 1;
  /// Temporary memory to use instead of allocating: at least reduce_workspace() bytes on the device, aligned to 16
  /// bytes. Not used on `cpu` and where data comes in pieces.
  const BufferBase* workspace = nullptr;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// The results of the operation, for each row. A plain value. Reading a result that was not requested throws
/// invalid_argument.
class MASU_EXPORT ReduceResult {
 public:
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] ReduceOp op() const noexcept { return op_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  /// The least and the greatest element of each row, of the data's dtype. Valid as long as this result.
  [[nodiscard]] ArrayView min_values() const;
  [[nodiscard]] ArrayView max_values() const;
  /// Their positions, counted from the start of the row. Throws invalid_argument where NaNs are skipped and a row has
  /// nothing else.
  [[nodiscard]] std::span<const std::uint64_t> min_indices() const;
  [[nodiscard]] std::span<const std::uint64_t> max_indices() const;
  /// Elements of each row that are not zero.
  [[nodiscard]] std::span<const std::uint64_t> nonzero() const;
  /// One element. Throws invalid_argument unless T is of the data's dtype and the row is there.
  template <Element T>
  [[nodiscard]] T min(std::uint64_t row = 0) const {
    return *static_cast<const T*>(element(min_values(), dtype_of<T>, row));
  }
  template <Element T>
  [[nodiscard]] T max(std::uint64_t row = 0) const {
    return *static_cast<const T*>(element(max_values(), dtype_of<T>, row));
  }

 private:
  friend struct ReduceParts;
  [[nodiscard]] const void* element(const ArrayView& values, Dtype dtype, std::uint64_t row) const;
  Dtype dtype_ = Dtype::u8;
  ReduceOp op_ = ReduceOp::min;
  std::uint64_t rows_ = 0;
  std::vector<std::byte> values_[2];       // of min, of max
  std::vector<std::uint64_t> indices_[2];  // of min, of max
  std::vector<std::uint64_t> nonzero_;
};

/// Reduces data that comes in pieces. Indices count from the start of the first piece.
class MASU_EXPORT ReduceAccumulator : public detail::BufferAccumulator<ReduceAccumulator> {
 public:
  /// options.rows must be 1.
  ReduceAccumulator(const Device& device, Dtype dtype, ReduceOp op, const ReduceOptions& options = {});
  [[nodiscard]] ReduceOp op() const noexcept;
  /// The result so far. Throws invalid_argument for an extreme of nothing.
  [[nodiscard]] ReduceResult result() const;
};

/// Bytes of temporary device memory: what is allocated when options.workspace is null. 0 on `cpu`.
MASU_EXPORT std::uint64_t reduce_workspace(const Device& device, Dtype dtype, std::uint64_t count, ReduceOp op,
                                           const ReduceOptions& options = {});

/// Reduces host data whose type is known at run time, on a device.
MASU_EXPORT ReduceResult reduce(const Device& device, const ArrayView& data, ReduceOp op,
                                const ReduceOptions& options = {});
/// The same for device memory, on its device.
MASU_EXPORT ReduceResult reduce(const BufferBase& data, Dtype dtype, ReduceOp op, const ReduceOptions& options = {});
/// The same, on a stream of the memory's device without waiting. `data`, `stream` and options.workspace must
/// outlive the result's `get()`; options.times is not filled.
MASU_EXPORT Pending<ReduceResult> reduce(Stream& stream, const BufferBase& data, Dtype dtype, ReduceOp op,
                                         const ReduceOptions& options = {});

/// Memory for the results of each row on the device of the data, apart from it and each other. It is for extremes,
/// or for what is counted, not both. Null: not wanted.
struct ReduceTargets {
  const BufferBase* min = nullptr;  ///< the least element, of the data's dtype
  const BufferBase* max = nullptr;  ///< the greatest element
  /// u64: where it is, counted from the start of the row; 2^64 - 1 where NaNs are skipped and the row has nothing else
  const BufferBase* min_indices = nullptr;
  const BufferBase* max_indices = nullptr;
  const BufferBase* nonzero = nullptr;  ///< u64: elements that are not zero
  const BufferBase* all = nullptr;      ///< u8: 1 where no element is zero, else 0
  const BufferBase* any = nullptr;      ///< u8: 1 where some element is not zero, else 0
  /// The operation that finds what is wanted. Throws invalid_argument for nothing, and for both kinds.
  [[nodiscard]] MASU_EXPORT ReduceOp op() const;
};
/// Reduces device memory to memory there, options.rows results each; nothing waits. options.workspace:
/// reduce_workspace() bytes for to.op().
MASU_EXPORT Pending<void> reduce(Stream& stream, const BufferBase& data, Dtype dtype, const ReduceTargets& to,
                                 const ReduceOptions& options = {});

/// A contiguous host range, on the device that device_for names.
template <HostRange R>
ReduceResult reduce(const R& data, ReduceOp op, const ReduceOptions& options = {}) {
  const ArrayView view(data);
  return reduce(device_for(Work::reading, view.count * size_of(view.dtype)), view, op, options);
}
/// A contiguous host range, on a device.
template <HostRange R>
ReduceResult reduce(const Device& device, const R& data, ReduceOp op, const ReduceOptions& options = {}) {
  return reduce(device, ArrayView(data), op, options);
}
/// A buffer, on its device.
template <Element T>
ReduceResult reduce(const Buffer<T>& data, ReduceOp op, const ReduceOptions& options = {}) {
  return reduce(data, dtype_of<T>, op, options);
}
template <Element T>
Pending<ReduceResult> reduce(Stream& stream, const Buffer<T>& data, ReduceOp op, const ReduceOptions& options = {}) {
  return reduce(stream, data, dtype_of<T>, op, options);
}

/// What the functions below take: a contiguous host range or a Buffer.
template <class X>
concept Reducible = HostRange<X> ||(std::is_base_of_v<BufferBase, X>&& requires { typename X::value_type; });

namespace detail {
template <Reducible X>
struct ReducedElement {
  using type = typename X::value_type;
};
template <HostRange X>
struct ReducedElement<X> {
  using type = std::remove_cv_t<std::ranges::range_value_t<X>>;
};
// Throws invalid_argument unless options.rows is 1: these functions have one result.
MASU_EXPORT void check_one_row(const ReduceOptions& options);
template <Reducible X>
std::uint64_t elements_of(const X& data) {
  if constexpr (HostRange<X>) return std::ranges::size(data);
  else return data.size();
}
template <Reducible X>
ReduceResult reduce_one(const X& data, ReduceOp op, const ReduceOptions& options) {
  check_one_row(options);
  return reduce(data, op, options);
}
}  // namespace detail
/// The element type of what is reduced.
template <Reducible X>
using ReducedElement = typename detail::ReducedElement<X>::type;

/// The functions of one result: of a host range on the device that device_for names, or of a Buffer on its own.
/// options.rows must be 1. For another device or rows: reduce().
template <Reducible X>
ReducedElement<X> min(const X& data, const ReduceOptions& options = {}) {
  return detail::reduce_one(data, ReduceOp::min, options).template min<ReducedElement<X>>();
}
template <Reducible X>
ReducedElement<X> max(const X& data, const ReduceOptions& options = {}) {
  return detail::reduce_one(data, ReduceOp::max, options).template max<ReducedElement<X>>();
}
/// The least and the greatest element.
template <Reducible X>
std::pair<ReducedElement<X>, ReducedElement<X>> minmax(const X& data, const ReduceOptions& options = {}) {
  const ReduceResult found = detail::reduce_one(data, ReduceOp::minmax, options);
  return {found.template min<ReducedElement<X>>(), found.template max<ReducedElement<X>>()};
}
template <Reducible X>
std::uint64_t argmin(const X& data, const ReduceOptions& options = {}) {
  return detail::reduce_one(data, ReduceOp::min, options).min_indices().front();
}
template <Reducible X>
std::uint64_t argmax(const X& data, const ReduceOptions& options = {}) {
  return detail::reduce_one(data, ReduceOp::max, options).max_indices().front();
}
template <Reducible X>
std::uint64_t count_nonzero(const X& data, const ReduceOptions& options = {}) {
  return detail::reduce_one(data, ReduceOp::count_nonzero, options).nonzero().front();
}
/// Whether no element is zero.
template <Reducible X>
bool all(const X& data, const ReduceOptions& options = {}) {
  return masu::count_nonzero(data, options) == detail::elements_of(data);
}
/// Whether some element is not zero.
template <Reducible X>
bool any(const X& data, const ReduceOptions& options = {}) {
  return masu::count_nonzero(data, options) != 0;
}

}  // namespace masu
