// SPDX-License-Identifier: Apache-2.0
// Short rows, many at a time: each in a lane of vectors, so that one operation serves as many rows as there are lanes
// (Highway, dispatched at run time).
//
// T: int32, uint32, int64, uint64, float or double. Among the elements there is no NaN, and no zeros of both signs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

template <class T>
inline constexpr bool is_wide = sizeof(T) >= 4;

// Rows of up to so many elements are worth sorting so.
inline constexpr std::size_t short_row_most = 512;
// Longer rows than this are so only where they fill the lanes: a call for one row costs what a call for many costs.
inline constexpr std::size_t any_number_most = 32;
inline constexpr std::size_t lanes_most = 16;
[[nodiscard]] constexpr bool are_short_rows(std::uint64_t rows, std::uint64_t length) noexcept {
  return length >= 2 && length <= (rows < lanes_most / 2 ? any_number_most : short_row_most);
}
// How many rows to take at a time: whole vectors of them, about `elements` in all.
[[nodiscard]] constexpr std::uint64_t short_rows_in(std::uint64_t elements, std::uint64_t length) noexcept {
  const std::uint64_t rows = elements / length / lanes_most * lanes_most;
  return rows < lanes_most ? lanes_most : rows;
}

// Sorts rows of 2 to short_row_most elements; `sorted` may be x.
void sort_short_rows(const std::int32_t* x, std::uint64_t rows, std::size_t length, std::int32_t* sorted);
void sort_short_rows(const std::uint32_t* x, std::uint64_t rows, std::size_t length, std::uint32_t* sorted);
void sort_short_rows(const std::int64_t* x, std::uint64_t rows, std::size_t length, std::int64_t* sorted);
void sort_short_rows(const std::uint64_t* x, std::uint64_t rows, std::size_t length, std::uint64_t* sorted);
void sort_short_rows(const float* x, std::uint64_t rows, std::size_t length, float* sorted);
void sort_short_rows(const double* x, std::uint64_t rows, std::size_t length, double* sorted);

// The same, but left in groups of as many rows as a vector has lanes, which is returned: element i of row r is
// columns[(r / lanes * length + i) * lanes + r % lanes]. `columns`, which starts at a multiple of 64 bytes, has room
// for the rows rounded up to lanes_most.
std::size_t sort_to_columns(const std::int32_t* x, std::uint64_t rows, std::size_t length, std::int32_t* columns);
std::size_t sort_to_columns(const std::uint32_t* x, std::uint64_t rows, std::size_t length, std::uint32_t* columns);
std::size_t sort_to_columns(const std::int64_t* x, std::uint64_t rows, std::size_t length, std::int64_t* columns);
std::size_t sort_to_columns(const std::uint64_t* x, std::uint64_t rows, std::size_t length, std::uint64_t* columns);
std::size_t sort_to_columns(const float* x, std::uint64_t rows, std::size_t length, float* columns);
std::size_t sort_to_columns(const double* x, std::uint64_t rows, std::size_t length, double* columns);

// The element at a place of the order of each row of more than near_end_most, with fewer than that before or behind it.
inline constexpr std::size_t near_end_most = 8;
[[nodiscard]] constexpr bool is_near_end(std::uint64_t place, std::uint64_t length) noexcept {
  return length > near_end_most && (place < near_end_most || length - place <= near_end_most);
}
void end_of_short_rows(const std::int32_t* x, std::uint64_t rows, std::size_t length, std::size_t place,
                       std::int32_t* elements);
void end_of_short_rows(const std::uint32_t* x, std::uint64_t rows, std::size_t length, std::size_t place,
                       std::uint32_t* elements);
void end_of_short_rows(const std::int64_t* x, std::uint64_t rows, std::size_t length, std::size_t place,
                       std::int64_t* elements);
void end_of_short_rows(const std::uint64_t* x, std::uint64_t rows, std::size_t length, std::size_t place,
                       std::uint64_t* elements);
void end_of_short_rows(const float* x, std::uint64_t rows, std::size_t length, std::size_t place, float* elements);
void end_of_short_rows(const double* x, std::uint64_t rows, std::size_t length, std::size_t place, double* elements);

// Rows of up to so many elements are worth comparing each with each.
inline constexpr std::size_t ranked_row_most = 24;
// The place of each element in the stable order of its row of 2 to ranked_row_most.
void rank_short_rows(const std::int32_t* x, std::uint64_t rows, std::size_t length, bool descending,
                     std::uint8_t* ranks);
void rank_short_rows(const std::uint32_t* x, std::uint64_t rows, std::size_t length, bool descending,
                     std::uint8_t* ranks);
void rank_short_rows(const std::int64_t* x, std::uint64_t rows, std::size_t length, bool descending,
                     std::uint8_t* ranks);
void rank_short_rows(const std::uint64_t* x, std::uint64_t rows, std::size_t length, bool descending,
                     std::uint8_t* ranks);
void rank_short_rows(const float* x, std::uint64_t rows, std::size_t length, bool descending, std::uint8_t* ranks);
void rank_short_rows(const double* x, std::uint64_t rows, std::size_t length, bool descending, std::uint8_t* ranks);

}  // namespace masu::cpu
