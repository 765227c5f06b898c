// SPDX-License-Identifier: Apache-2.0
// Strided operands: copies between arrays of the host that lie in memory in any way, and the lines of an array as rows,
// in host memory and on a device.
#pragma once

#include "call/lines.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace masu {

// Elements in host memory, those along axis i `strides[i]` bytes apart; at most 64 axes. Does not own them.
template <class Byte>
struct Strided {
  Byte* data;
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> strides;

  operator Strided<const Byte>() const noexcept { return {data, shape, strides}; }
};

// Copies each element, of `bytes` bytes, to the place with its indices. The shapes are equal; the arrays do not
// overlap. Much data is copied on all threads, by transposing blocks where the arrays are contiguous along different
// axes.
MASU_EXPORT void copy_strided(std::size_t bytes, const Strided<const std::byte>& from, const Strided<std::byte>& to);

// Copies the elements to memory without gaps, in the order of their indices, those of the axes of `last` (a bit for
// each) after the others: with the axes of Lines these are the lines as rows.
MASU_EXPORT void copy_elements(std::size_t bytes, const Strided<const std::byte>& from, void* to,
                               std::uint64_t last = 0);

// Copies outer x length x inner elements to the order outer x inner x length.
MASU_EXPORT void swap_axes(std::size_t bytes, const void* from, std::uint64_t outer, std::uint64_t length,
                           std::uint64_t inner, void* to);
// The same in device memory; nothing waits.
MASU_EXPORT void swap_axes(Stream& stream, std::size_t bytes, const Buffer<std::byte>& from, std::uint64_t outer,
                           std::uint64_t length, std::uint64_t inner, Buffer<std::byte>& to);

// The lines of a contiguous array as rows: the array itself where they are rows, else a copy, which `memory` holds.
MASU_EXPORT const void* as_rows(std::size_t bytes, const void* data, const call::Lines& lines,
                                std::vector<std::byte>& memory);
MASU_EXPORT const Buffer<std::byte>& as_rows(Stream& stream, std::size_t bytes, const Buffer<std::byte>& data,
                                             const call::Lines& lines, std::optional<Buffer<std::byte>>& memory);

// Calls work(rows, their number, memory for their results) for the lines of one axis of a contiguous array of elements
// of `bytes`, and brings the results, as many elements of `result_bytes` a line as it has, to their places. Lines that
// are not rows go in blocks that stay in a cache, by many threads at once.
MASU_EXPORT void by_lines(std::size_t bytes, const void* data, const call::Lines& lines, std::size_t result_bytes,
                          void* to, const std::function<void(const void*, std::uint64_t, void*)>& work);

// Calls work(rows) with memory for rows of `results` elements, one row for each line of one axis, and brings them to
// their places in `to`.
template <class F>
void put_rows(Stream& stream, std::size_t bytes, Buffer<std::byte>& to, const call::Lines& lines, std::uint64_t results,
              F&& work) {
  if (lines.inner == 1 || results == 1) return work(to);
  Buffer<std::byte> rows(stream.device(), to.size());
  work(rows);
  swap_axes(stream, bytes, rows, lines.outer, lines.inner, results, to);
}

}  // namespace masu
