// SPDX-License-Identifier: Apache-2.0
// Rows of TIFF as libtiff decodes them, packed and in planes, to elements of the result.
#include <cstring>

#include "io/tiff_layout.h"

namespace masu::io {
namespace {

template <class T>
void store(std::byte* target, T value) noexcept {
  std::memcpy(target, &value, sizeof(T));
}

// Samples of a number of bits that is no whole number of bytes follow each other from the highest bit on.
template <class T>
void unpack_bits(const std::byte* row, std::uint64_t count, unsigned bits, std::byte* target) noexcept {
  std::uint32_t held = 0;
  unsigned have = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    while (have < bits) {
      held = held << 8 | std::to_integer<std::uint32_t>(*row++);
      have += 8;
    }
    have -= bits;
    store(target + i * sizeof(T), static_cast<T>(held >> have & ((std::uint32_t{1} << bits) - 1)));
  }
}

void unpack_samples(const std::byte* row, std::uint64_t count, unsigned bits, std::byte* target) noexcept {
  if (bits < 8) unpack_bits<std::uint8_t>(row, count, bits, target);
  else if (bits > 8 && bits < 16) unpack_bits<std::uint16_t>(row, count, bits, target);
  else std::memcpy(target, row, count * (bits / 8));
}

template <class T>
void look_up(const std::vector<std::uint16_t>& palette, const std::byte* indices, std::uint64_t count, bool wide,
             std::byte* target) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint16_t index = std::to_integer<std::uint8_t>(indices[i]);
    if (wide) std::memcpy(&index, indices + 2 * i, 2);
    for (std::uint64_t c = 0; c < 3; ++c)
      store(target + (3 * i + c) * sizeof(T), static_cast<T>(palette[std::uint64_t{3} * index + c]));
  }
}

template <std::size_t bytes>
void scatter(const std::byte* from, std::uint64_t count, std::uint64_t step, std::byte* target) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(target + i * step, from + i * bytes, bytes);
}

}  // namespace

void unpack_tiff_row(const TiffLayout& layout, const std::byte* row, std::uint64_t pixels, unsigned plane,
                     std::byte* target, std::vector<std::byte>& scratch) {
  const std::uint64_t count = pixels * layout.cell_samples();
  if (!layout.palette.empty()) {
    const bool wide = layout.bits > 8;
    scratch.resize(count * (wide ? 2 : 1));
    unpack_samples(row, count, layout.bits, scratch.data());
    if (layout.dtype == Dtype::u8) look_up<std::uint8_t>(layout.palette, scratch.data(), count, wide, target);
    else look_up<std::uint16_t>(layout.palette, scratch.data(), count, wide, target);
    return;
  }
  if (layout.planes == 1) {
    unpack_samples(row, count, layout.bits, target);
    return;
  }
  const std::size_t element = size_of(layout.dtype);
  scratch.resize(count * element);
  unpack_samples(row, count, layout.bits, scratch.data());
  target += plane * element;
  const std::uint64_t step = layout.samples * element;
  switch (element) {
    case 1: scatter<1>(scratch.data(), count, step, target); break;
    case 2: scatter<2>(scratch.data(), count, step, target); break;
    case 4: scatter<4>(scratch.data(), count, step, target); break;
    default: scatter<8>(scratch.data(), count, step, target); break;
  }
}

}  // namespace masu::io
