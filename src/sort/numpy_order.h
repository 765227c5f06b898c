// SPDX-License-Identifier: Apache-2.0
// What NumPy's order has beside masu's: NaNs that are last in descending order too, and elements whose bits its sort
// does not keep. Exported for the Python package of the same version; no public API.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/sort.h>
#include <masu/stream.h>

#include <cstddef>

namespace masu {

// As sort() and argsort(), with indices of u64 and equal rows, but NaNs are last in both orders. `result` may be `data`
// itself. On a stream nothing waits.
MASU_EXPORT void sort_nans_last(const Device& device, const ArrayView& data, MutableArrayView result,
                                const SortOptions& options);
MASU_EXPORT void argsort_nans_last(const Device& device, const ArrayView& data, std::uint64_t* order,
                                   const SortOptions& options);
MASU_EXPORT void sort_nans_last(Stream& stream, const Buffer<std::byte>& data, Dtype dtype, Buffer<std::byte>& result,
                                const SortOptions& options);
MASU_EXPORT void argsort_nans_last(Stream& stream, const Buffer<std::byte>& data, Dtype dtype, Buffer<std::byte>& order,
                                   const SortOptions& options);

// What of some elements a comparison leaves in any order.
struct Unordered {
  bool both_zeros = false;  // zeros of both signs
  bool nan = false;
  bool other_nan = false;  // NaNs with other bits than the one of NumPy's sort; any NaN of stored floats
};
MASU_EXPORT Unordered find_unordered(const ArrayView& data);
// Whether all lines of outer x length x inner elements, along the middle, are in order.
[[nodiscard]] MASU_EXPORT bool are_lines_in_order(const ArrayView& data, std::uint64_t outer, std::uint64_t inner);
// In one pass.
[[nodiscard]] MASU_EXPORT bool has_nan(const ArrayView& data);

}  // namespace masu
