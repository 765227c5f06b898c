// SPDX-License-Identifier: Apache-2.0
#include "lines.h"

#include <masu/transpose.h>

namespace masu_python {

using masu::Buffer;
using masu::Device;
using masu::Stream;

bool integer(PyObject* object, std::int64_t& value) {
  if (PyLong_CheckExact(object) == 0) return false;
  value = PyLong_AsLongLong(object);
  if (PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  return false;
}

bool lines_of(const Tensor& tensor, PyObject* axis, Lines& lines, bool keep) {
  const auto dimensions = static_cast<std::int64_t>(tensor.dimensions);
  lines.length = tensor.count;
  lines.dimensions = 1;
  if (axis == Py_None) {
    if (keep) {
      lines.dimensions = tensor.dimensions;
      std::ranges::fill(lines.shape, 1);
    }
    return !keep || dimensions != 0;
  }
  std::int64_t number = 0;
  if (!integer(axis, number) || number < -dimensions || number >= dimensions) return false;
  lines.axis = static_cast<std::size_t>(number < 0 ? number + dimensions : number);
  lines.dimensions = tensor.dimensions;
  lines.shape = tensor.shape;
  lines.length = static_cast<std::uint64_t>(tensor.shape[lines.axis]);
  for (std::size_t i = 0; i < lines.axis; ++i) lines.outer *= static_cast<std::uint64_t>(tensor.shape[i]);
  lines.inner = tensor.count / (lines.outer * lines.length);
  return true;
}

void key_of_lines(EnqueuedCall& call, const Lines& lines) {
  call.option(lines.outer);
  call.option(lines.inner);
}

// A transposition for each of `outer`, where these are few or long, or of the shortest of the three first.
void swap_axes(const Device& device, Stream& stream, const Buffer<std::byte>& data, std::size_t bytes,
               std::uint64_t outer, std::uint64_t length, std::uint64_t inner, Buffer<std::byte>& result) {
  constexpr std::uint64_t worth = std::uint64_t{1} << 18;  // elements of a matrix
  const auto turn = [&](const Buffer<std::byte>& from, Buffer<std::byte>& to, std::uint64_t matrices,
                        std::uint64_t columns) {
    const std::uint64_t size = from.size() / matrices;
    for (std::uint64_t i = 0; i < matrices; ++i) {
      Buffer<std::byte> part = to.slice(i * size, size);
      static_cast<void>(
          masu::transpose(stream, from.slice(i * size, size), bytes, size / bytes / columns, columns, part));
    }
  };
  const std::uint64_t least = std::min({outer, length, inner});
  if (outer == least || length * inner >= worth) return turn(data, result, outer, inner);
  Buffer<std::byte> between(device, data.size());
  if (inner == least) {
    turn(data, result, 1, inner);
    turn(result, between, inner, length);
    return turn(between, result, 1, outer);
  }
  turn(data, result, 1, length * inner);
  turn(result, between, length, outer);
  turn(between, result, 1, outer * inner);
}

const Buffer<std::byte>& as_rows(const Device& device, Stream& stream, const Buffer<std::byte>& data, masu::Dtype dtype,
                                 const Lines& lines, std::optional<Buffer<std::byte>>& memory) {
  if (lines.inner == 1 || lines.length == 1) return data;
  memory.emplace(device, data.size());
  swap_axes(device, stream, data, masu::size_of(dtype), lines.outer, lines.length, lines.inner, *memory);
  return *memory;
}

}  // namespace masu_python
