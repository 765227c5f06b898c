// SPDX-License-Identifier: Apache-2.0
// The lines of a tensor, or of an array of NumPy's, along which a call works, as rows.
#pragma once

#include "module.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/sort.h>
#include <masu/stream.h>
#include <masu/transpose.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace masu_python {

inline constexpr std::size_t most_dimensions = 32;

// The value of an int of Python's; false for another object, and for an int that is too large.
bool integer(PyObject* object, std::int64_t& value);

inline masu::SortOptions sort_options(std::uint64_t rows, bool descending) {
  return {.order = descending ? masu::Order::descending : masu::Order::ascending, .rows = rows};
}

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
inline std::span<const std::int64_t> shape_of(Lines& lines) {
  return lines.flat ? lines.with(static_cast<std::int64_t>(lines.length))
                    : std::span<const std::int64_t>(lines.shape.data(), lines.dimensions);
}

inline const masu::Device& this_cpu() {
  static const masu::Device& cpu = *new masu::Device(masu::Device::open("cpu"));
  return cpu;
}

// The lines of an array of NumPy's along which a plain call works, as rows. An array's elements are outer x length x
// inner of them, and a line has `length`.
struct HostLines {
  bool flat = false;  // all elements are one line
  std::int64_t axis = 0;
  std::uint64_t outer = 1;
  std::uint64_t length = 0;
  std::uint64_t inner = 1;

  // `along`: None, an int, or null for the last axis. False for what has no elements, and for an axis that is not
  // plain.
  bool find(std::span<const Py_ssize_t> shape, PyObject* along) {
    const auto dimensions = static_cast<std::int64_t>(shape.size());
    length = 1;
    for (const auto extent : shape) length *= static_cast<std::uint64_t>(extent);
    if (dimensions == 0 || length == 0) return false;
    flat = along == Py_None;
    axis = dimensions - 1;
    if (flat) return true;
    if (along != nullptr) {
      std::int64_t number = 0;
      if (!integer(along, number) || number < -dimensions || number >= dimensions) return false;
      axis = number < 0 ? number + dimensions : number;
    }
    const auto at = static_cast<std::size_t>(axis);
    for (std::size_t i = 0; i < at; ++i) outer *= static_cast<std::uint64_t>(shape[i]);
    length = static_cast<std::uint64_t>(shape[at]);
    for (std::size_t i = at + 1; i < shape.size(); ++i) inner *= static_cast<std::uint64_t>(shape[i]);
    return true;
  }
  [[nodiscard]] std::uint64_t rows() const { return outer * inner; }

  // The elements of a plain array, `size` bytes each, as rows; where that is a copy, it is in `memory`.
  const void* as_rows(const void* data, std::size_t size, std::vector<std::byte>& memory) const {
    if (inner == 1) return data;
    memory.resize(rows() * length * size);
    swap(static_cast<const std::byte*>(data), size, length, inner, memory.data());
    return memory.data();
  }
  // Rows of as many elements, back as the array's lines lie.
  void put_rows(const std::vector<std::byte>& rows, std::size_t size, void* to) const {
    swap(rows.data(), size, inner, length, static_cast<std::byte*>(to));
  }

 private:
  void swap(const std::byte* from, std::size_t size, std::uint64_t height, std::uint64_t width, std::byte* to) const {
    const std::uint64_t count = height * width;
    for (std::uint64_t i = 0; i < outer; ++i) {
      masu::transpose(this_cpu(), masu::ConstRecordsView(from + i * count * size, size, count), height, width,
                      masu::RecordsView(to + i * count * size, size, count));
    }
  }
};

}  // namespace masu_python
