// SPDX-License-Identifier: Apache-2.0
// Rows of host data parted around several places of their sorted order, and the elements of such places: what NumPy's
// partition, argpartition, median and quantile need, for any number of places.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>

#include <cstdint>
#include <span>

namespace masu_python {

// Parts each row around the elements at `places` of its sorted order (ascending, each below the row's length): what is
// between two of them keeps its order. `values` gets the elements or `indices` (i64) where they stood in the row; the
// other is null.
void part_rows(const masu::Device& device, const masu::ArrayView& data, std::uint64_t rows,
               std::span<const std::uint64_t> places, void* values, std::int64_t* indices);

// The same for one row of at most `short_row` elements and one place.
inline constexpr std::uint64_t short_row = 1U << 15;
void part_short_row(const masu::ArrayView& row, std::uint64_t place, void* values, std::int64_t* indices);

// The elements at these places of each row's sorted order, row by row: of the stable order, which tells -0 from +0. A
// NaN is the quiet NaN.
void elements_at(const masu::Device& device, const masu::ArrayView& data, std::uint64_t rows,
                 std::span<const std::uint64_t> places, void* elements);
// The same of device memory, into host memory.
void elements_at(const masu::BufferBase& data, masu::Dtype dtype, std::uint64_t rows,
                 std::span<const std::uint64_t> places, void* elements);

}  // namespace masu_python
