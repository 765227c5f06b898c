// SPDX-License-Identifier: Apache-2.0
// The lines of a tensor along which a call works, as rows.
#pragma once

#include "enqueue.h"
#include "tensors.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace masu_python {

// The value of an int of Python's; false for another object, and for an int that is too large.
bool integer(PyObject* object, std::int64_t& value);

// The lines along which a call works: those of an axis, or of several, or all elements as one. The array's elements are
// outer x first x between x second x inner of them, and a line has first x second; of one axis, or of several that
// follow each other, between and second are 1. Where a line is not contiguous it is made so first.
struct Lines {
  std::uint64_t outer = 1;
  std::uint64_t first = 1;
  std::uint64_t between = 1;
  std::uint64_t second = 1;
  std::uint64_t inner = 1;
  std::uint64_t length = 0;
  std::array<std::int64_t, most_dimensions> shape{};  // of the array
  std::size_t dimensions = 0;
  std::size_t axis = 0;    // where it is one
  std::uint32_t axes = 0;  // a bit for each
  bool flat = false;       // all elements are one line

  [[nodiscard]] std::uint64_t number() const { return outer * between * inner; }
  // The shape of results with `results` elements in place of each line of one axis.
  std::span<const std::int64_t> with(std::int64_t results) {
    if (flat) axis = 0;
    shape[axis] = results;
    return {shape.data(), flat ? 1 : dimensions};
  }
  // Of results that have one element for each line; `keep`: an axis of length 1 in the place of each.
  std::span<const std::int64_t> reduced(bool keep) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < dimensions; ++i) {
      if ((axes >> i & 1) == 0) shape[kept++] = shape[i];
      else if (keep) shape[kept++] = 1;
    }
    return {shape.data(), kept};
  }
};

// `axis`: None, an int, or, with `several`, a tuple of them. False for what is not plain.
bool lines_of(const Tensor& tensor, PyObject* axis, Lines& lines, bool several = false);
void key_of_lines(EnqueuedCall& call, const Lines& lines);

// The elements of `data`, outer x length x inner of them, as outer x inner x length.
void swap_axes(const masu::Device& device, masu::Stream& stream, const masu::Buffer<std::byte>& data, std::size_t bytes,
               std::uint64_t outer, std::uint64_t length, std::uint64_t inner, masu::Buffer<std::byte>& result);
// The lines of `data` as rows: `data` itself, or `memory`, which is made.
const masu::Buffer<std::byte>& as_rows(const masu::Device& device, masu::Stream& stream,
                                       const masu::Buffer<std::byte>& data, masu::Dtype dtype, const Lines& lines,
                                       std::optional<masu::Buffer<std::byte>>& memory);
// The rows, each sorted, or their orders, u64. `descending`: NaNs are last then too.
void sort_rows(masu::Stream& stream, const masu::Buffer<std::byte>& data, masu::Dtype dtype, std::uint64_t rows,
               masu::Buffer<std::byte>& result, bool descending);
void argsort_rows(masu::Stream& stream, const masu::Buffer<std::byte>& data, masu::Dtype dtype, std::uint64_t rows,
                  masu::Buffer<std::byte>& result, bool descending);
// Calls work(rows) with memory for `length` results of each line, and brings them to their places in `result`.
template <class F>
void as_lines(const masu::Device& device, masu::Stream& stream, masu::Buffer<std::byte>& result, masu::Dtype dtype,
              const Lines& lines, std::uint64_t length, F&& work) {
  if (lines.inner == 1 || length == 1) return work(result);
  masu::Buffer<std::byte> rows(device, result.size());
  work(rows);
  swap_axes(device, stream, rows, masu::size_of(dtype), lines.outer, lines.inner, length, result);
}

// The shape of a result that is as long as the array, flat where all elements are one line.
inline std::span<const std::int64_t> shape_of(PyObject* axis, Lines& lines) {
  return axis == Py_None ? lines.with(static_cast<std::int64_t>(lines.length))
                         : std::span<const std::int64_t>(lines.shape.data(), lines.dimensions);
}

}  // namespace masu_python
