// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rows of host memory and several places of their sorted order, on the CPU: the rows parted around the elements there,
/// the indices that part them, and these elements.
///
/// **Order.** That of sort.h: floats by value, -0 equal to +0, NaN greater than all else; equal elements in input
/// order.
/// **Places** are below the length of a row and ascend, without repetition; 0 is the least element.
/// **Complexity.** O(n) for few places, on one thread for each row; from 16 places on O(n log n), and temporary memory
/// for two copies of a row. A row's temporary memory is else as a rule a twelfth of it.
/// **Exceptions.** Error with invalid_argument or out_of_memory. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<float> latencies = …;
/// const std::uint64_t places[] = {latencies.size() / 2, latencies.size() - 1};
/// float found[2];
/// masu::elements_at(masu::ArrayView(latencies), 1, places, masu::MutableArrayView(found));
/// @endcode
#pragma once

#include <masu/dtype.h>
#include <masu/export.h>

#include <cstdint>
#include <span>

namespace masu {

/// Parts each of `rows` equal rows of `data` into `result`: at each place stands the element that sorting brings there,
/// what is less lies before it and what is greater behind, its equals beside it. Elements between two of the places
/// keep their order. `result` has the dtype and count of `data` and does not overlap it.
MASU_EXPORT void partition_rows(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                                MutableArrayView result);
/// The same of the indices of the elements within their rows; as many as elements.
MASU_EXPORT void argpartition_rows(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                                   std::span<std::uint64_t> indices);
/// The elements at the places, row by row: those of the stable order, which tells -0 from +0; a NaN is the quiet NaN
/// with no other bit set. `result` has the dtype of `data` and rows * places.size() elements.
MASU_EXPORT void elements_at(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
                             MutableArrayView result);

}  // namespace masu
