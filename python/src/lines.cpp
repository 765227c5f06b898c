// SPDX-License-Identifier: Apache-2.0
#include "lines.h"

#include <masu/convert.h>

#include <utility>

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
  const std::size_t bytes = masu::size_of(dtype);
  const Buffer<std::byte>* rows = &data;
  const auto bring_behind = [&](std::uint64_t outer, std::uint64_t length, std::uint64_t inner) {
    if (inner == 1 || length == 1) return;
    Buffer<std::byte> made(device, data.size());
    swap_axes(device, stream, *rows, bytes, outer, length, inner, made);
    memory.emplace(std::move(made));
    rows = &*memory;
  };
  bring_behind(lines.outer, lines.first, lines.between * lines.second * lines.inner);
  bring_behind(lines.outer * lines.between, lines.second, lines.inner * lines.first);
  return *rows;
}

namespace {

void negate(Stream& stream, const Buffer<std::byte>& from, masu::Dtype dtype, Buffer<std::byte>& to) {
  static_cast<void>(masu::convert(stream, from, dtype, to, dtype, {.negate = true}));
}

}  // namespace

// masu's descending order has NaNs first, NumPy's last: floats descend so as those with the other sign ascend.
void sort_rows(Stream& stream, const Buffer<std::byte>& data, masu::Dtype dtype, std::uint64_t rows,
               Buffer<std::byte>& result, bool descending) {
  if (descending && masu::is_float(dtype)) {
    Buffer<std::byte> floats(stream.device(), data.size());
    negate(stream, data, dtype, floats);
    static_cast<void>(masu::sort(stream, floats, dtype, sort_options(rows, false)));
    return negate(stream, floats, dtype, result);
  }
  static_cast<void>(masu::sort(stream, data, dtype, result, sort_options(rows, descending)));
}

void argsort_rows(Stream& stream, const Buffer<std::byte>& data, masu::Dtype dtype, std::uint64_t rows,
                  Buffer<std::byte>& result, bool descending) {
  constexpr masu::Dtype index = masu::Dtype::u64;
  if (descending && masu::is_float(dtype)) {
    Buffer<std::byte> floats(stream.device(), data.size());
    negate(stream, data, dtype, floats);
    static_cast<void>(masu::argsort(stream, floats, dtype, result, index, sort_options(rows, false)));
    return;
  }
  static_cast<void>(masu::argsort(stream, data, dtype, result, index, sort_options(rows, descending)));
}

}  // namespace masu_python
