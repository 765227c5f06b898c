// SPDX-License-Identifier: Apache-2.0
// How the samples of a TIFF image are stored, checked against what masu can read.
#pragma once

#include <masu/dtype.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/tiff_file.h"

namespace masu::io {

// The image is cut into cells, tiles or strips (cells as wide as the image), in rows and columns. Where the samples of
// a pixel are stored apart, each plane has cells of its own, one plane after the other.
struct TiffLayout {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  unsigned samples = 1;  // of a pixel, as stored
  unsigned bits = 8;     // of a sample
  unsigned planes = 1;   // 1: the samples of a pixel lie together
  unsigned compression = 1;
  unsigned most_bytes = 0;  // that a stored byte can stand for; 0: any number
  bool tiled = false;
  bool reversed_bits = false;
  std::uint64_t cell_width = 0;
  std::uint64_t cell_height = 0;
  Dtype dtype = Dtype::u8;             // of an element of the result
  std::vector<std::string> channels;   // of the result
  std::vector<std::uint16_t> palette;  // red, green, blue of each index; or empty
  [[nodiscard]] unsigned cell_samples() const noexcept { return samples / planes; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return (width + cell_width - 1) / cell_width; }
  [[nodiscard]] std::uint64_t bands() const noexcept { return (height + cell_height - 1) / cell_height; }
  // Of one row of a cell, as decoded.
  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return (cell_width * cell_samples() * bits + 7) / 8; }
  [[nodiscard]] std::uint64_t cell(unsigned plane, std::uint64_t band, std::uint64_t column) const noexcept {
    return (plane * bands() + band) * columns() + column;
  }
  [[nodiscard]] std::string_view cell_name() const noexcept { return tiled ? "tile" : "strip"; }
};

// Throws io, naming the reader, for what is malformed or not read.
TiffLayout tiff_layout(TiffFile& file, Reader& reader);

// `pixels` pixels of one row of a cell as elements of the result. `target` is the first pixel's first channel;
// `scratch` is memory that is used again.
void unpack_tiff_row(const TiffLayout& layout, const std::byte* row, std::uint64_t pixels, unsigned plane,
                     std::byte* target, std::vector<std::byte>& scratch);

}  // namespace masu::io
