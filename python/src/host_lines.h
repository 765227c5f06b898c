// SPDX-License-Identifier: Apache-2.0
// The lines of an array of NumPy's along which a plain call works, as rows.
#pragma once

#include "lines.h"
#include "numpy_array.h"

#include <masu/device.h>
#include <masu/transpose.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace masu_python {

inline const masu::Device& this_cpu() {
  static const masu::Device& cpu = *new masu::Device(masu::Device::open("cpu"));
  return cpu;
}

// An array's elements are outer x length x inner of them, and a line has `length`.
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
