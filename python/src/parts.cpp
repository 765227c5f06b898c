// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include <masu/selection.h>
#include <masu/stream.h>

#include <cstddef>

namespace masu_python {

void elements_at(const masu::BufferBase& data, masu::Dtype dtype, std::uint64_t rows,
                 std::span<const std::uint64_t> places, void* elements) {
  masu::Buffer<std::byte> found(data.device(), rows * places.size() * masu::size_of(dtype));
  masu::Stream stream(data.device(), masu::Timing::off);
  masu::elements_at(stream, data, dtype, places, found, {.rows = rows}).get();
  found.read(std::span(static_cast<std::byte*>(elements), found.size_bytes()));
}

}  // namespace masu_python
